import Basics
import HTTPMessages
import LaunchContract

extension HAR {
  /// Converts one element of `log.entries` into an interaction, or explains why it cannot be replayed.
  package struct EntryDecoder {
    /// The tool that wrote a HAR. It decides how the text of a body maps back to bytes.
    enum Author {
      /// Diorama: text is UTF-8.
      case diorama
      /// mitmproxy: a body without a charset is decoded as ISO 8859-1, one byte per character.
      case mitmproxy
      /// Polly.JS: a body with a content coding is stored as sent, in chunks.
      case polly
      /// A browser or another tool: bodies are decoded by their charset.
      case other
    }

    /// The result of decoding an entry.
    enum Outcome {
      /// `isIncomplete` is true if the response had a body that was not saved.
      case interaction(Interaction, isIncomplete: Bool)
      /// The entry cannot be replayed, for this reason.
      case skipped(String)
    }

    /// The file's name, for errors.
    var name: String
    /// The entry's number, from 1, for errors.
    var number: Int?
    var author: Author

    func decode(_ entry: JSONIndex.Value) throws(CodedError) -> Outcome {
      guard entry.isObject else { throw failure("it is not an object") }
      let request = try member("request", of: entry, "")
      let url = withoutFragment(try text("url", of: request, "request."))
      let frames: [WebSocketFrame]?
      do {
        frames = try webSocket(entry)
      } catch {
        guard author != .diorama else { throw failure(error.problem) }
        return .skipped("a WebSocket that cannot be read: \(error.problem)")
      }
      let isWebSocket = asksForWebSocket(entry, url: url)
      if !isWebSocket, let reason = reasonToSkip(url: url) { return .skipped(reason) }
      let response = try member("response", of: entry, "")
      let status = try status(of: response)
      if status <= 0 { return .skipped("status \(status): the request failed or was blocked") }
      if status == 101, frames == nil {
        return .skipped(
          isWebSocket ? "a WebSocket whose messages were not saved" : "status 101: the connection left HTTP")
      }
      guard 200...999 ~= status || frames != nil else { return .skipped("status \(status) is not a final response") }
      let method = try text("method", of: request, "request.")
      let content = response["content"]
      let headers = self.headers(of: response, typedBy: content)
      let (body, isBodyAsSent) = try responseBody(content, codings: headers)
      let asked = RecordedRequest(
        method: method, url: url, headers: self.headers(of: request, typedBy: request["postData"]),
        body: try requestBody(request["postData"], bodySize: request["bodySize"]?.int))
      var interaction = Interaction(
        upstream: entry["_diorama"]?["upstream"]?.string,
        startedAt: entry["startedDateTime"]?.string ?? "",
        milliseconds: max(0, entry["time"]?.double ?? 0),
        request: isWebSocket ? webSocketRequest(asked) : asked,
        response: RecordedResponse(
          // The handshake over HTTP/2 is a CONNECT with status 200 (RFC 8441).
          status: frames == nil ? status : 101, reason: response["statusText"]?.string ?? "",
          headers: headers, body: body, isBodyAsSent: isBodyAsSent, parts: try parts(content), end: end(content),
          trailers: fields(response["_diorama"]?["trailers"]?.array)),
        webSocket: frames)
      interaction.isSetup = entry["_diorama"]?["setup"]?.bool ?? false
      interaction.interleaving = try interleaving(entry["_diorama"])
      interaction.request.messages = messages(request["postData"])
      interaction.response.messages = messages(content)
      let hasNoBodyByRule = method == "HEAD" || status == 204 || status == 304
      let wasLost = body.length == 0 && content?["text"]?.length == nil && content?["size"]?.int ?? 0 > 0
      return .interaction(interaction, isIncomplete: wasLost && !hasNoBodyByRule)
    }

    func failure(_ problem: String) -> CodedError {
      CodedError(
        name: name, entry: number, problem: problem, advice: "fix or remove that entry, or re-record the cassette")
    }

    private func member(
      _ key: StaticString, of value: JSONIndex.Value, _ path: String
    ) throws(CodedError) -> JSONIndex.Value {
      guard let member = value[key], !member.isNull else { throw failure("\(path)\(key) is missing") }
      guard member.isObject else { throw failure("\(path)\(key) is not an object") }
      return member
    }

    private func text(
      _ key: StaticString, of value: JSONIndex.Value, _ path: String
    ) throws(CodedError) -> String {
      guard let member = value[key], !member.isNull else { throw failure("\(path)\(key) is missing") }
      guard let text = member.string else { throw failure("\(path)\(key) is not a string") }
      guard !text.isEmpty else { throw failure("\(path)\(key) is empty") }
      return text
    }

    private func status(of response: JSONIndex.Value) throws(CodedError) -> Int {
      guard let member = response["status"], !member.isNull else { throw failure("response.status is missing") }
      guard let status = member.int else { throw failure("response.status is not a whole number") }
      return status
    }

    /// The reason to skip an entry that is not a plain HTTP interaction; nil if it is one.
    private func reasonToSkip(url: String) -> String? {
      // Compares bytes if possible: finding characters would dominate the cost of reading a URL.
      let isPlain = url.utf8.starts(with: "http://".utf8) || url.utf8.starts(with: "https://".utf8)
      let scheme = isPlain ? "http" : url.prefix { $0 != ":" }.lowercased()
      guard scheme == "http" || scheme == "https" else { return "its URL begins with \(scheme.prefix(30)):" }
      return nil
    }

    private func withoutFragment(_ url: String) -> String {
      guard let hash = url.utf8.firstIndex(of: UInt8(ascii: "#")) else { return url }
      return String(url[..<hash])
    }

    /// The fields in order, without HTTP/2 pseudo headers. If the tool omitted all fields, `Content-Type` comes from
    /// the body's MIME type.
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
        // Polly.JS writes repeated fields as an array.
        if let values = element["value"]?.array {
          for value in values { append(name, value, to: &fields) }
        } else {
          append(name, element["value"], to: &fields)
        }
      }
      return Headers(fields)
    }

    private func append(_ name: String, _ value: JSONIndex.Value?, to fields: inout [Headers.Field]) {
      let value = value?.scalar ?? ""
      guard value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
        return fields.append(Headers.Field(name, value))
      }
      // Chromium joins repeated fields with a line feed, which would end the field on the wire.
      for line in value.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) {
        fields.append(Headers.Field(name, String(Substring(line))))
      }
    }

    /// Adds `Content-Type` from the body's MIME type if the fields lack it.
    private func typed(_ headers: Headers, by body: JSONIndex.Value?) -> Headers {
      guard headers["Content-Type"] == nil, let type = body?["mimeType"]?.string, !type.isEmpty, type != unknownType
      else { return headers }
      return Headers(headers.fields + [Headers.Field("Content-Type", type)])
    }

    /// Whether this is a valid field name. Pseudo headers such as `:status` are not (RFC 9113, 8.3).
    private func isFieldName(_ name: String) -> Bool {
      !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: ":") && $0 != 0x7F }
    }
  }
}

extension HAR.EntryDecoder {
  /// Decodes the body in `response.content`.
  ///
  /// - Parameters:
  ///   - content: the member.
  ///   - headers: the response's, with the body's content coding.
  /// - Returns: the body, and whether its content coding could not be removed.
  /// - Throws: ``CodedError`` if it cannot be decoded.
  func responseBody(
    _ content: JSONIndex.Value?, codings headers: Headers
  ) throws(CodedError) -> (RecordedBody, isAsSent: Bool) {
    guard let content else { return (.empty, false) }
    let member = "response.content"
    let isAsSent = content["_diorama"]?["asSent"]?.bool ?? false
    if let file = try file(content, member) {
      return (.file(name: file, length: max(0, content["size"]?.int ?? 0)), isAsSent)
    }
    guard let text = content["text"], text.length ?? 0 > 0 else { return (.empty, isAsSent) }
    let encoding = content["encoding"]?.string ?? ""
    let isBinary = content["_isBinary"]?.bool == true
    if author == .polly, let value = headers["Content-Encoding"], isBinary || text.string?.first == "[" {
      let chunks = text.string ?? ""
      let bytes =
        encoding.isEmpty
        ? try hexadecimal(chunks, member) : try bytes(text, encoding: encoding, type: nil, length: nil, member)
      return withoutCodings(bytes, value)
    }
    if isBinary, encoding.isEmpty { return (.bytes(try hexadecimal(text.string ?? "", member)), false) }
    // HAR's `size` is the decoded length. mitmproxy writes the length on the wire, and the difference as
    // `compression`.
    let length = (content["size"]?.int).map { $0 &+ (content["compression"]?.int ?? 0) }
    let bytes = try bytes(text, encoding: encoding, type: content["mimeType"]?.string, length: length, member)
    return (.bytes(bytes), isAsSent)
  }

  /// Decodes a body that Polly.JS stored as sent, which HAR does not allow.
  private func withoutCodings(_ bytes: [UInt8], _ header: String) -> (RecordedBody, isAsSent: Bool) {
    // The limit keeps a hostile file from filling the memory.
    let limit = ContentDecoder.ratioLimit * bytes.count
    guard let decoded = try? ContentCodings(header: header)?.decode(bytes, limit: limit) else {
      return (.bytes(bytes), true)
    }
    return (.bytes(decoded), false)
  }

  /// Decodes when the parts of a body arrived: pairs of milliseconds and bytes.
  func parts(_ content: JSONIndex.Value?) throws(CodedError) -> [BodyPart] {
    guard let value = content?["_diorama"]?["parts"], !value.isNull else { return [] }
    guard let pairs = value.array else { throw failure("response.content._diorama.parts is not an array") }
    var parts: [BodyPart] = []
    parts.reserveCapacity(pairs.count)
    for pair in pairs {
      guard var numbers = pair.array, numbers.count == 2, let time = numbers.next()?.int,
        let count = numbers.next()?.int,
        count > 0, time >= parts.last?.milliseconds ?? 0, time < 1 << 40
      else {
        throw failure(
          "response.content._diorama.parts[\(parts.count)] is not a pair of ascending milliseconds and a byte count")
      }
      parts.append(BodyPart(milliseconds: time, count: count))
    }
    return parts
  }

  /// Decodes the messages of a gRPC body.
  func messages(_ body: JSONIndex.Value?) -> [JSON] { body?["_diorama"]?["messages"]?.json.array ?? [] }

  /// Decodes ``Interaction/interleaving``.
  func interleaving(_ notes: JSONIndex.Value?) throws(CodedError) -> [Int] {
    guard let value = notes?["interleaving"], !value.isNull else { return [] }
    guard let array = value.array else { throw failure("_diorama.interleaving is not an array") }
    var counts: [Int] = []
    for element in array {
      guard let count = element.int, count >= counts.last ?? 0 else {
        throw failure("_diorama.interleaving[\(counts.count)] is not a number of messages, or less than the one before")
      }
      counts.append(count)
    }
    return counts
  }

  /// Decodes how a body ended.
  func end(_ content: JSONIndex.Value?) -> BodyEnd {
    guard let notes = content?["_diorama"], notes["cut"]?.bool == true else { return .whole }
    return notes["open"]?.bool == true ? .open : .cut
  }

  /// Decodes the body in `request.postData`.
  func requestBody(_ postData: JSONIndex.Value?, bodySize: Int?) throws(CodedError) -> RecordedBody {
    guard let postData else { return .empty }
    let member = "request.postData"
    if let file = try file(postData, member) {
      return .file(name: file, length: max(0, postData["_diorama"]?["length"]?.int ?? bodySize ?? 0))
    }
    let type = postData["mimeType"]?.string
    guard let text = postData["text"], text.length ?? 0 > 0 else {
      return .bytes(rebuiltForm(postData["params"]?.array.map(Array.init) ?? [], type: type ?? ""))
    }
    // Some tools write `encoding` here too, although HAR 1.2 does not define it.
    let encoding = postData["_diorama"]?["encoding"]?.string ?? postData["encoding"]?.string ?? ""
    return .bytes(try bytes(text, encoding: encoding, type: type, length: bodySize, member))
  }

  private func bytes(
    _ text: JSONIndex.Value, encoding: String, type: String?, length: Int?, _ member: String
  ) throws(CodedError) -> [UInt8] {
    switch encoding.lowercased() {
    case "base64":
      guard let bytes = decodedChunks(text.string ?? "", Base64.decode) else {
        throw failure("\(member).text is not Base64")
      }
      return bytes
    case "", "utf-8", "utf8":
      let isDecoded =
        switch author {
        case .diorama, .polly: false
        case .mitmproxy: length != text.length && length == text.string?.unicodeScalars.count
        case .other: Self.namesLatin1(type ?? "")
        }
      return (isDecoded ? text.string.map(latin1) : text.utf8) ?? []
    default:
      throw failure("\(member).encoding is '\(encoding)'; only base64 is supported")
    }
  }

  /// Polly.JS stores binary bodies as hexadecimal digits.
  private func hexadecimal(_ text: String, _ member: String) throws(CodedError) -> [UInt8] {
    let bytes = decodedChunks(text) { digits -> [UInt8]? in
      let values = digits.utf8.compactMap(\.hexValue)
      guard values.count == digits.utf8.count, values.count.isMultiple(of: 2) else { return nil }
      return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
    guard let bytes else { throw failure("\(member).text is not hexadecimal, though _isBinary is true") }
    return bytes
  }

  /// Decodes a body that Polly.JS may have stored as a JSON array of encoded chunks.
  private func decodedChunks(_ text: String, _ decode: (String) -> [UInt8]?) -> [UInt8]? {
    guard text.utf8.first == UInt8(ascii: "["), let chunks = try? JSON.parse(Array(text.utf8)).array else {
      return decode(text)
    }
    var all: [UInt8] = []
    for chunk in chunks {
      guard let text = chunk.string, let bytes = decode(text) else { return nil }
      all += bytes
    }
    return all
  }

  /// Whether a MIME type names ISO 8859-1 or its superset windows-1252 as its charset.
  package static func namesLatin1(_ type: String) -> Bool {
    let type = type.lowercased()
    // Not `firstRange(of:)`, which takes a tenth of the time to open a cassette.
    let name = "charset="
    guard let mark = type.utf8.indices.first(where: { type.utf8[$0...].starts(with: name.utf8) }) else { return false }
    let charset = type[mark...].dropFirst(name.count).prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " }
    return ["iso-8859-1", "latin1", "windows-1252"].contains(charset)
  }

  /// The bytes of a text that a tool decoded one byte per character; UTF-8 if that is impossible.
  private func latin1(_ text: String) -> [UInt8] {
    guard text.unicodeScalars.allSatisfy({ $0.value <= 0xFF }) else { return Array(text.utf8) }
    return text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  /// The name of a body's file, which must be inside the HAR's folder.
  private func file(_ body: JSONIndex.Value, _ member: String) throws(CodedError) -> String? {
    guard let value = body["_file"], !value.isNull else { return nil }
    guard let name = value.string, !name.isEmpty else { throw failure("\(member)._file is not a file name") }
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isInside = parts.allSatisfy { part in
      !part.isEmpty && !part.elementsEqual("..".utf8) && !part.elementsEqual(".".utf8)
        && part.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\\") }
    }
    guard isInside else { throw failure("\(member)._file leaves the cassette's folder: '\(name)'") }
    return name
  }

  /// Rebuilds the body of a form from its saved fields.
  private func rebuiltForm(_ params: [JSONIndex.Value], type: String) -> [UInt8] {
    guard !params.isEmpty else { return [] }
    let boundary = type.utf8.firstRange(of: "boundary=".utf8).map { type[$0.upperBound...].prefix { $0 != ";" } }
    guard type.lowercased().hasPrefix("multipart/"), let boundary else {
      return HAR.FormText.encode(params.map { ($0["name"]?.string ?? "", $0["value"]?.string ?? "") })
    }
    let delimiter = "--" + boundary.filter { $0 != "\"" }
    var text = ""
    for param in params {
      text += "\(delimiter)\r\nContent-Disposition: form-data; name=\"\(param["name"]?.string ?? "")\""
      if let fileName = param["fileName"]?.string { text += "; filename=\"\(fileName)\"" }
      if let type = param["contentType"]?.string { text += "\r\nContent-Type: \(type)" }
      text += "\r\n\r\n\(param["value"]?.string ?? "")\r\n"
    }
    return Array((text + delimiter + "--\r\n").utf8)
  }
}
