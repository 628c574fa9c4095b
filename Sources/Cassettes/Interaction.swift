package import Basics
package import HTTPMessages

/// One recorded request with its response, as the upstream received and sent them: without endpoint URLs, and with
/// bodies free of transfer and content coding.
package struct Interaction: Sendable {
  /// The name of the upstream; nil in another tool's HAR, where the origin of the URL identifies it.
  package var upstream: String?
  /// The time of the request: the text of HAR's `startedDateTime`.
  package var startedAt: String
  /// From the request to the last byte of the response, in milliseconds.
  package var milliseconds: Double
  package var request: RecordedRequest
  package var response: RecordedResponse
  /// The messages of the WebSocket that this request opened; nil for any other interaction, and if it was refused.
  package var webSocket: [WebSocketFrame]?
  /// How the messages of a gRPC call in both directions followed each other: for each message of the request, and at last for
  /// its end, how many messages of the response had arrived before, where the end of the response counts as one. The end of
  /// the request is missing if it did not come. Empty if the whole request preceded the response.
  package var interleaving: [Int] = []
  /// Whether the test itself sent the request, to prepare something for the app.
  package var isSetup = false

  /// Whether the request asked for a WebSocket. If ``webSocket`` is nil, it was refused.
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
  package var method: String
  /// The absolute URL, with path and query as sent.
  package var url: String
  /// The fields as sent, without connection-specific ones.
  package var headers: Headers
  /// The bytes as sent, without transfer coding.
  package var body: RecordedBody
  /// The messages of a gRPC body as JSON, for people; `null` for those that cannot be decoded. Replay uses the bytes.
  package var messages: [JSON] = []

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
  /// The fields as sent, in order. `Content-Encoding` and `Transfer-Encoding: chunked` describe how the body was sent,
  /// not how it is stored.
  package var headers: Headers
  /// The decoded body, unless ``isBodyAsSent`` is true.
  package var body: RecordedBody
  /// Whether the body is stored as received because it could not be decoded by its `Content-Encoding`.
  package var isBodyAsSent: Bool
  /// When the parts of the body arrived, if it was a stream or had pauses; otherwise empty.
  package var parts: [BodyPart]
  package var end: BodyEnd
  /// The trailer fields of a chunked body.
  package var trailers: Headers
  /// As in ``RecordedRequest/messages``.
  package var messages: [JSON] = []

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
  /// The bytes, stored in the HAR itself.
  case bytes([UInt8])
  /// A separate file and its length in bytes. The name is a path relative to the HAR's folder, as in `content._file`;
  /// Diorama writes `NAME.bodies/<file>`. In another tool's HAR the length is the declared one, and the file may be
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

/// A message of a recorded WebSocket, with its sender and time.
package struct WebSocketFrame: Sendable, Equatable {
  /// Whether the app sent it.
  package var isFromApp: Bool
  /// In seconds since 1970, as in HAR.
  package var time: Double
  package var message: WebSocketMessage

  package init(isFromApp: Bool, time: Double, message: WebSocketMessage) {
    self.isFromApp = isFromApp
    self.time = time
    self.message = message
  }
}

extension RecordedRequest {
  /// The stored method of a WebSocket request. No client sends it, so a WebSocket request never matches a plain `GET`
  /// of the same URL. In a HAR it is written as `GET`.
  package static let webSocketMethod = "WEBSOCKET"

  /// The method by which calls of gRPC are matched whose messages go in both directions at once: by their first message
  /// only, since the others depend on the response. It is not stored.
  package static let streamMethod = "GRPC-STREAM"
}
