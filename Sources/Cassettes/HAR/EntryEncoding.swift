import HTTPMessages
package import LaunchContract

extension HAR {
  /// An element of `log.entries`.
  ///
  /// Members are always in the same order, so that recordings can be compared by line.
  package static func encode(_ interaction: Interaction) -> JSON {
    let time = number(interaction.milliseconds)
    var members: [JSON.Member] = []
    if let upstream = interaction.upstream {
      members.append(.init("_diorama", .object([.init("upstream", .string(upstream))])))
    }
    members += [
      .init("startedDateTime", .string(interaction.startedAt)),
      .init("time", time),
      .init(
        "request", encode(interaction.asksForWebSocket ? webSocketRequest(interaction.request) : interaction.request)),
      .init("response", encode(interaction.response)),
      .init("cache", .object([])),
      // The sum has to be `time`; where it went is not known.
      .init("timings", .object([.init("send", .number("0")), .init("wait", time), .init("receive", .number("0"))])),
    ]
    if interaction.asksForWebSocket { members += webSocketMembers(interaction.webSocket) }
    return .object(members)
  }

  private static func encode(_ request: RecordedRequest) -> JSON {
    let query = FormText.query(ofURL: request.url).map(FormText.pairs) ?? []
    var members: [JSON.Member] = [
      .init("method", .string(request.method)),
      .init("url", .string(request.url)),
      .init("httpVersion", .string("HTTP/1.1")),
      .init("cookies", requestCookies(request.headers)),
      .init("headers", encode(request.headers)),
      .init("queryString", .array(query.map { pair(name: $0.name, value: $0.value) })),
    ]
    if let postData = postData(request.body, mimeType: request.headers["Content-Type"]) {
      members.append(.init("postData", postData))
    }
    members += [.init("headersSize", .number("-1")), .init("bodySize", .number("\(request.body.length)"))]
    return .object(members)
  }

  private static func encode(_ response: RecordedResponse) -> JSON {
    var members: [JSON.Member] = [
      .init("status", .number("\(response.status)")),
      .init("statusText", .string(response.reason)),
      .init("httpVersion", .string("HTTP/1.1")),
      .init("cookies", responseCookies(response.headers)),
      .init("headers", encode(response.headers)),
      .init(
        "content", content(response.body, mimeType: response.headers["Content-Type"], notes: contentNotes(response))),
      .init("redirectURL", .string(response.headers["Location"] ?? "")),
      .init("headersSize", .number("-1")),
      .init("bodySize", .number("-1")),
    ]
    if !response.trailers.fields.isEmpty {
      members.append(.init("_diorama", .object([.init("trailers", encode(response.trailers))])))
    }
    return .object(members)
  }

  private static func encode(_ headers: Headers) -> JSON {
    .array(headers.fields.map { pair(name: $0.name, value: $0.value) })
  }

  private static func pair(name: String, value: String) -> JSON {
    .object([.init("name", .string(name)), .init("value", .string(value))])
  }

  /// Milliseconds, as short as they can be; what is no time at all is 0.
  private static func number(_ milliseconds: Double) -> JSON {
    guard milliseconds.isFinite, milliseconds > 0 else { return .number("0") }
    if let whole = Int(exactly: milliseconds) { return .number("\(whole)") }
    return .number("\(milliseconds)")
  }
}
