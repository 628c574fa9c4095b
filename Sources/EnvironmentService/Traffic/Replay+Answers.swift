import Basics
import Transforms
import Cassettes
import HTTPMessages
import HTTPServer

// Makes responses for the app from recorded ones.
extension Replay {
  /// Whether a response's body is in memory and sent at once: it is not in a file, and not a stream.
  func isInline(_ index: Int) -> Bool {
    if interactions[index].response.isStreamed || interactions[index].webSocket != nil { return false }
    return if case .bytes = interactions[index].response.body { true } else { false }
  }

  /// The complete response, with its body in memory or streamed from its file.
  func response(
    _ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool, echo: EchoTable? = nil
  ) throws -> Response {
    let interaction = interactions[index]
    guard isInline(index) || mustHold(index, addresses: addresses, form: form, isCoded: isCoded, echo: echo) else {
      return try stream(index, addresses: addresses, form: form, isCoded: isCoded, echo: echo)
    }
    let body = try bytes(of: index, addresses: addresses, form: form, isCoded: isCoded, echo: echo)
    return Response(
      status: interaction.response.status, reason: interaction.response.reason,
      headers: headers(of: index, addresses: addresses, form: form, isCoded: isCoded, echo: echo),
      body: interaction.response.isChunked ? .stream(BytePipe(holding: body), length: nil) : .bytes(body),
      trailers: trailers(of: index, addresses: addresses, form: form))
  }

  /// The trailers as sent to the app; nil if there are none.
  func trailers(of index: Int, addresses: AddressMap, form: AddressMap.Form) -> Trailers? {
    let recorded = interactions[index].response.trailers
    guard !recorded.fields.isEmpty else { return nil }
    return Trailers(addresses.responseHeaders(recorded, upstream: upstream(of: index), form: form))
  }

  /// Whether a body in a file must be read completely, to declare its length as the recorded response did.
  private func mustHold(
    _ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool, echo: EchoTable?
  ) -> Bool {
    let response = interactions[index].response
    guard !response.isChunked, response.status != 206 else { return false }
    let isSized = bodyShifter(of: index)?.keepsLength ?? true && echoStream(of: index, echo) == nil
    guard rewriter(of: index, addresses: addresses, form: form) != nil || !isSized else {
      return isCoded && response.body.length <= Pipeline.matchLimit
    }
    // When the response was recorded, its length on the wire was decisive.
    let told = response.headers["Content-Length"].flatMap { Int($0) } ?? response.body.length
    return told <= Pipeline.rewriteLimit && response.body.length <= Pipeline.matchLimit
  }

  /// The content codings of a response on the wire; nil if there were none, or if they are not supported.
  func codings(of index: Int) -> ContentCodings? {
    guard isCodedAnywhere else { return nil }
    let response = interactions[index].response
    let values = response.headers.all("Content-Encoding")
    // A partial body with a content coding was recorded unchanged.
    guard !values.isEmpty, ![204, 206, 304].contains(response.status), !response.isBodyAsSent,
      interactions[index].request.method != "HEAD"
    else { return nil }
    return ContentCodings(header: values.joined(separator: ", "))
  }

  /// Whether to encode a response as recorded, for an app that sends this `Accept-Encoding`.
  func isCoded(_ index: Int, accepted: String?) -> Bool {
    guard let codings = codings(of: index) else { return false }
    // A request with the recorded `Accept-Encoding` gets the recorded coding, whatever it is.
    if accepted == interactions[index].request.headers["Accept-Encoding"] { return true }
    return ContentCodings.isAccepted(codings, by: accepted)
  }

  /// The head of a recorded response as the app gets it, without `Content-Encoding` if the body is not coded.
  func headers(
    of index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool, echo: EchoTable? = nil
  ) -> Headers {
    let recorded = interactions[index].response.headers
    var found = EchoFindings()
    let fields = addresses.responseHeaders(
      echo?.headers(recorded, &found) ?? recorded, upstream: upstream(of: index), form: form)
    return headers(fields, of: index, isCoded: isCoded, echo: echo)
  }

  private func headers(_ fields: Headers, of index: Int, isCoded: Bool, echo: EchoTable? = nil) -> Headers {
    var headers = fields
    if codings(of: index) != nil, !isCoded { headers.remove("Content-Encoding") }
    // Digests of the recorded body do not match the changed one.
    if bodyShifter(of: index) != nil || echoStream(of: index, echo) != nil {
      headers.fields.removeAll { HeaderRedaction.digests.contains($0.name.lowercased()) }
    }
    return shifter?.headers(headers) ?? headers
  }

  /// The response on an upstream's own port or with its own URL. Built once, and shared by all environments if it is the
  /// same for all.
  func prepared(
    _ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool
  ) throws -> PreparedResponse {
    if let response = common.withLock({ $0[index, isCoded] }) { return response }
    let interaction = interactions[index]
    let recorded = interaction.response
    let bytes = try CassetteReader.bytes(of: recorded.body, in: location)
    let body = rewritten(bytes, of: index, addresses: addresses, form: form)
    let fields = addresses.responseHeaders(recorded.headers, upstream: upstream(of: index), form: form)
    let trailers = trailers(of: index, addresses: addresses, form: form)
    let response = try PreparedResponse(
      status: recorded.status, headers: headers(fields, of: index, isCoded: isCoded),
      body: try coded(body, of: index, isCoded: isCoded), framing: framing(of: interaction),
      trailers: trailers?.headers ?? [:])
    if form == .ownPort, body == bytes, fields == recorded.headers, trailers?.headers ?? [:] == recorded.trailers,
      !addresses.hasUpstreamAtEndpoint, addresses.kept.isEmpty
    {
      common.withLock { $0.keep(response, index, of: interactions.count, isCoded: isCoded) }
    }
    return response
  }

  /// Rewrites upstream URLs in a body to endpoint URLs. Nil for a partial response, whose range refers to the
  /// upstream's bytes, and for a body that could not be decoded when it was recorded.
  func rewriter(of index: Int, addresses: AddressMap, form: AddressMap.Form) -> BodyRewriter? {
    let response = interactions[index].response
    guard response.status != 206, !response.isBodyAsSent else { return nil }
    return addresses.responseBodyRewriter(
      contentType: response.headers["Content-Type"], target: RecordedURL(interactions[index].request.url).target,
      upstream: upstream(of: index), form: form)
  }

  /// Puts values of a request into a body; nil if it must not be changed, as for ``rewriter(of:addresses:form:)``.
  func echoStream(of index: Int, _ echo: EchoTable?) -> EchoStream? {
    let response = interactions[index].response
    guard let echo, response.status != 206, !response.isBodyAsSent else { return nil }
    return EchoStream(echo, contentType: response.headers["Content-Type"])
  }

  /// Moves dates in a body; nil if it must not be changed, as for ``rewriter(of:addresses:form:)``.
  func bodyShifter(of index: Int) -> BodyShifter? {
    let response = interactions[index].response
    guard let shifter, response.status != 206, !response.isBodyAsSent else { return nil }
    let path = RecordedURL(interactions[index].request.url).target
    if let messages = shifter.messages(response.headers, path: path, isRequest: false) { return messages }
    guard let form = DateShifter.form(response.headers["Content-Type"])
    else { return nil }
    return shifter.body(form)
  }

  /// A whole body as sent to the app.
  private func bytes(
    of index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool, echo: EchoTable?
  ) throws -> [UInt8] {
    let bytes = try CassetteReader.bytes(of: interactions[index].response.body, in: location)
    return try coded(
      rewritten(bytes, of: index, addresses: addresses, form: form, echo: echo), of: index, isCoded: isCoded)
  }

  private func rewritten(
    _ bytes: [UInt8], of index: Int, addresses: AddressMap, form: AddressMap.Form, echo: EchoTable? = nil
  ) -> [UInt8] {
    var body = bytes
    if var stream = echoStream(of: index, echo) { body = stream.push(body, isLast: true) }
    if var rewriter = rewriter(of: index, addresses: addresses, form: form) {
      body = rewriter.push(body) + rewriter.finish()
    }
    if var shifter = bodyShifter(of: index) { body = shifter.push(body) + shifter.finish() }
    return body
  }

  private func coded(_ body: [UInt8], of index: Int, isCoded: Bool) throws -> [UInt8] {
    guard isCoded, let codings = codings(of: index) else { return body }
    return try codings.encode(body)
  }

  /// Chunked if recorded chunked; for a response without a body, the recorded length.
  private func framing(of interaction: Interaction) -> PreparedResponse.Framing {
    let response = interaction.response
    if interaction.request.method == "HEAD" || response.status == 304 {
      return .headOnly(contentLength: response.headers["Content-Length"].flatMap(Int.init))
    }
    return response.isChunked ? .chunked : .length
  }

  /// The transform of a body on its way to the app.
  func transform(
    of index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool, echo: EchoTable? = nil
  ) throws -> BodyTransform {
    BodyTransform(
      decoder: nil, echo: echoStream(of: index, echo), rewriter: rewriter(of: index, addresses: addresses, form: form),
      shifter: bodyShifter(of: index),
      encoder: isCoded ? try codings(of: index)?.encoder() : nil)
  }

  /// A response whose body is streamed from its file.
  func stream(
    _ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool, echo: EchoTable? = nil
  ) throws -> Response {
    let interaction = interactions[index]
    guard case .file(let name, let length) = interaction.response.body else {
      return Response(status: interaction.response.status)
    }
    let headers = headers(of: index, addresses: addresses, form: form, isCoded: isCoded, echo: echo)
    let file = try CassetteReader.file(name, length: length, in: location)
    var transform = try transform(of: index, addresses: addresses, form: form, isCoded: isCoded, echo: echo)
    let isChunked = interaction.response.isChunked
    var response = Response(status: interaction.response.status, reason: interaction.response.reason, headers: headers)
    guard !transform.isIdentity || isChunked else {
      response.body = .file(file)
      return response
    }
    let hasLength = transform.keepsLength && !isChunked
    let pipe = BytePipe(capacity: FileBody.pieceSize)
    Task {
      do {
        var offset = 0
        while offset < length {
          let piece = try file.read(at: offset, upTo: FileBody.pieceSize)
          offset += piece.count
          try await pipe.write(try transform.push(piece))
        }
        try await pipe.write(try transform.finish())
        pipe.finish()
      } catch {
        pipe.fail(error)
      }
    }
    response.body = .stream(pipe, length: hasLength ? length : nil)
    response.trailers = trailers(of: index, addresses: addresses, form: form)
    return response
  }
}

extension RecordedResponse {
  /// Whether the body was sent in chunks, or, by HTTP/2, with trailers, which need chunks in HTTP/1.1.
  var isChunked: Bool {
    !trailers.fields.isEmpty || headers["Transfer-Encoding"]?.lowercased().contains("chunked") ?? false
  }
}
