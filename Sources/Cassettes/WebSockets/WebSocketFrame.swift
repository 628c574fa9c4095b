package import HTTPMessages

/// A message of a recorded WebSocket: who sent it, and when.
package struct WebSocketFrame: Sendable, Equatable {
  /// Whether the app sent it.
  package var isFromApp: Bool
  /// In seconds since 1970, as HAR has it.
  package var time: Double
  package var message: WebSocketMessage

  package init(isFromApp: Bool, time: Double, message: WebSocketMessage) {
    self.isFromApp = isFromApp
    self.time = time
    self.message = message
  }
}

extension RecordedRequest {
  /// What stands for the method of a request that begins a WebSocket: nobody sends it, so that such a request is never
  /// taken for a plain `GET` of the same address. In a HAR it is a `GET`.
  package static let webSocketMethod = "WEBSOCKET"
}
