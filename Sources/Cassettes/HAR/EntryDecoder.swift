import HTTPMessages
import LaunchContract

extension HAR {
  /// Makes an interaction of one element of `log.entries`, or says why it cannot be one.
  package struct EntryDecoder {
    /// Who wrote a HAR: what a text's bytes were depends on it.
    enum Author {
      /// We did: a text is its UTF-8.
      case diorama
      /// It decodes what has no charset as ISO 8859-1, a byte a character.
      case mitmproxy
      /// A browser or another tool, which decodes by the charset.
      case other
    }

    /// What became of an entry.
    enum Outcome {
      /// The interaction; `isIncomplete` when its response had a body that was not saved.
      case interaction(Interaction, isIncomplete: Bool)
      /// What cannot be replayed by its nature, and the reason.
      case skipped(String)
    }

    /// The file, for errors.
    var name: String
    /// The entry's number, from 1, for errors.
    var number: Int?
    /// Who wrote the file.
    var author: Author

    func decode(_ entry: JSONIndex.Value) throws(CassetteError) -> Outcome {
      guard entry.isObject else { throw failure("it is not an object") }
      let request = try member("request", of: entry, "")
      let url = withoutFragment(try text("url", of: request, "request."))
      let frames = try webSocket(entry)
      let isWebSocket = asksForWebSocket(entry)
      if !isWebSocket, let reason = reasonToSkip(url: url, entry: entry) { return .skipped(reason) }
      let response = try member("response", of: entry, "")
      let status = try status(of: response)
      if status <= 0 { return .skipped("status \(status): the request failed or was blocked") }
      if status == 101, frames == nil { return .skipped("status 101: the connection left HTTP") }
      guard 200...999 ~= status || frames != nil else { return .skipped("status \(status) is not a final response's") }
      let method = try text("method", of: request, "request.")
      let content = response["content"]
      let body = try responseBody(content)
      let asked = RecordedRequest(
        method: method, url: url, headers: headers(of: request, typedBy: request["postData"]),
        body: try requestBody(request["postData"], bodySize: request["bodySize"]?.int))
      let interaction = Interaction(
        upstream: entry["_diorama"]?["upstream"]?.string,
        startedAt: entry["startedDateTime"]?.string ?? "",
        milliseconds: max(0, entry["time"]?.double ?? 0),
        request: isWebSocket ? webSocketRequest(asked) : asked,
        response: RecordedResponse(
          status: status, reason: response["statusText"]?.string ?? "",
          headers: headers(of: response, typedBy: content), body: body,
          isBodyAsSent: content?["_diorama"]?["asSent"]?.bool ?? false, parts: try parts(content), end: end(content),
          trailers: fields(response["_diorama"]?["trailers"]?.array)),
        webSocket: frames)
      let hasNoBodyByRule = method == "HEAD" || status == 204 || status == 304
      let wasLost = body.length == 0 && content?["text"]?.length == nil && content?["size"]?.int ?? 0 > 0
      return .interaction(interaction, isIncomplete: wasLost && !hasNoBodyByRule)
    }

    /// An error in this entry.
    func failure(_ problem: String) -> CassetteError {
      CassetteError(
        name: name, entry: number, problem: problem, advice: "mend or remove that entry, or record the cassette anew")
    }

    private func member(
      _ key: StaticString, of value: JSONIndex.Value, _ path: String
    ) throws(CassetteError) -> JSONIndex.Value {
      guard let member = value[key], !member.isNull else { throw failure("\(path)\(key) is missing") }
      guard member.isObject else { throw failure("\(path)\(key) is not an object") }
      return member
    }

    private func text(
      _ key: StaticString, of value: JSONIndex.Value, _ path: String
    ) throws(CassetteError) -> String {
      guard let member = value[key], !member.isNull else { throw failure("\(path)\(key) is missing") }
      guard let text = member.string else { throw failure("\(path)\(key) is not a string") }
      guard !text.isEmpty else { throw failure("\(path)\(key) is empty") }
      return text
    }

    private func status(of response: JSONIndex.Value) throws(CassetteError) -> Int {
      guard let member = response["status"], !member.isNull else { throw failure("response.status is missing") }
      guard let status = member.int else { throw failure("response.status is not a whole number") }
      return status
    }

    /// Entries that were no exchange of HTTP messages with a server.
    private func reasonToSkip(url: String, entry: JSONIndex.Value) -> String? {
      // By bytes, where that will do: to find characters takes longer than all else that is done with a URL.
      let isPlain = url.utf8.starts(with: "http://".utf8) || url.utf8.starts(with: "https://".utf8)
      let scheme = isPlain ? "http" : url.prefix { $0 != ":" }.lowercased()
      if scheme == "ws" || scheme == "wss" || entry["_webSocketMessages"] != nil
        || entry["_resourceType"]?.string == "websocket"
      {
        return "a WebSocket"
      }
      guard scheme == "http" || scheme == "https" else { return "its URL begins with \(scheme.prefix(30)):" }
      return nil
    }

    private func withoutFragment(_ url: String) -> String {
      guard let hash = url.utf8.firstIndex(of: UInt8(ascii: "#")) else { return url }
      return String(url[..<hash])
    }

    /// The fields in order, without those that HTTP/2 invents.
    ///
    /// Where a tool has left them out altogether, the type
    /// of the body stands in for them.
    private func headers(of message: JSONIndex.Value, typedBy body: JSONIndex.Value?) -> Headers {
      guard let elements = message["headers"]?.array else { return typed(Headers(), by: body) }
      let headers = fields(elements)
      return author == .diorama ? headers : typed(headers, by: body)
    }

    private func fields(_ elements: JSONIndex.Value.Elements?) -> Headers {
      guard let elements else { return Headers() }
      var fields: [Headers.Field] = []
      fields.reserveCapacity(elements.count)
      for element in elements {
        guard let name = element["name"]?.string, isFieldName(name) else { continue }
        let value = element["value"]?.string ?? ""
        guard value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
          fields.append(Headers.Field(name, value))
          continue
        }
        // Chromium joins repeated fields by a line feed; on the wire it would end the field.
        for line in value.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) {
          fields.append(Headers.Field(name, String(Substring(line))))
        }
      }
      return Headers(fields)
    }

    /// A type that a tool knows but does not list among the fields.
    private func typed(_ headers: Headers, by body: JSONIndex.Value?) -> Headers {
      guard headers["Content-Type"] == nil, let type = body?["mimeType"]?.string, !type.isEmpty, type != unknownType
      else { return headers }
      return Headers(headers.fields + [Headers.Field("Content-Type", type)])
    }

    /// Whether it can stand before a field's colon.
    ///
    /// It rules out pseudo headers such as `:status` (RFC 9113, 8.3).
    private func isFieldName(_ name: String) -> Bool {
      !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: ":") && $0 != 0x7F }
    }
  }
}
