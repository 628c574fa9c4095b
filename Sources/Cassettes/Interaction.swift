package import HTTPMessages

/// One recorded request with its response, as the upstream saw and sent them: no endpoint's address occurs in it,
/// and bodies are without transfer and content coding.
package struct Interaction: Sendable {
  /// The name of the upstream; nil in a HAR of another tool, where the origin of the URL tells.
  package var upstream: String?
  /// When the request was made: the text of HAR's `startedDateTime`.
  package var startedAt: String
  /// From the request to the last byte of the response, in milliseconds.
  package var milliseconds: Double
  /// What was asked.
  package var request: RecordedRequest
  /// What was answered.
  package var response: RecordedResponse
  /// The messages of the WebSocket that it began; nil for any other exchange, and where it was refused.
  package var webSocket: [WebSocketFrame]?

  /// Whether it asked for a WebSocket; one without messages was refused.
  package var asksForWebSocket: Bool { request.method == RecordedRequest.webSocketMethod }

  package init(
    upstream: String?, startedAt: String, milliseconds: Double, request: RecordedRequest, response: RecordedResponse,
    webSocket: [WebSocketFrame]? = nil
  ) {
    self.upstream = upstream
    self.startedAt = startedAt
    self.milliseconds = milliseconds
    self.request = request
    self.response = response
    self.webSocket = webSocket
  }
}

/// The request of an interaction.
package struct RecordedRequest: Sendable {
  /// As sent.
  package var method: String
  /// Absolute; path and query as sent.
  package var url: String
  /// Without those that belong to the connection.
  package var headers: Headers
  /// As sent, without transfer coding.
  package var body: RecordedBody

  package init(method: String, url: String, headers: Headers, body: RecordedBody) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// The response of an interaction.
package struct RecordedResponse: Sendable {
  /// 200 to 599.
  package var status: Int
  /// The reason phrase; may be empty.
  package var reason: String
  /// As sent, in order. `Content-Encoding` tells how the body was coded on the wire, `Transfer-Encoding: chunked`
  /// that it was chunked.
  package var headers: Headers
  /// Decoded, unless ``isBodyAsSent``.
  package var body: RecordedBody
  /// Whether the body is kept as it came on the wire, since it could not be decoded as `Content-Encoding` says.
  package var isBodyAsSent: Bool
  /// When the body's parts came, for one that came as a stream or with pauses; empty for any other.
  package var parts: [BodyPart]
  /// How the body came to its end.
  package var end: BodyEnd
  /// The fields that followed a chunked body.
  package var trailers: Headers

  package init(
    status: Int, reason: String, headers: Headers, body: RecordedBody, isBodyAsSent: Bool = false,
    parts: [BodyPart] = [], end: BodyEnd = .whole, trailers: Headers = [:]
  ) {
    self.status = status
    self.reason = reason
    self.headers = headers
    self.body = body
    self.isBodyAsSent = isBodyAsSent
    self.parts = parts
    self.end = end
    self.trailers = trailers
  }
}

/// The body of a recorded message.
package enum RecordedBody: Sendable, Equatable {
  /// The bytes, which stand in the HAR itself.
  case bytes([UInt8])
  /// A file of its own, and its length in bytes. The name is the path from the HAR's folder, as `content._file` has
  /// it: `NAME.bodies/<file>` in ours. In a HAR of another tool the length is what that tool says, and the file may be
  /// missing.
  case file(name: String, length: Int)

  /// No body, or an empty one.
  package static let empty = RecordedBody.bytes([])

  /// The length in bytes.
  package var length: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .file(_, let length): length
    }
  }
}
