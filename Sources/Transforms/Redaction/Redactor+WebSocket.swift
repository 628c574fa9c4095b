package import Cassettes
package import HTTPMessages

extension Redactor {
  /// Redacts a WebSocket message for recording and matching: JSON by paths, and all messages by patterns and
  /// credentials.
  package func redact(_ message: WebSocketMessage) -> WebSocketMessage {
    switch message.kind {
    case .ping, .pong: return message
    case .close:
      guard let code = message.closeCode, !message.closeReason.isEmpty else { return message }
      return .close(code, redact(message.closeReason))
    case .binary:
      return WebSocketMessage(
        .binary, redact(decoded: message.payload, of: ["Content-Type": "application/octet-stream"]))
    case .text:
      let isJSON = message.payload.first == UInt8(ascii: "{") || message.payload.first == UInt8(ascii: "[")
      return WebSocketMessage(
        .text, redact(decoded: message.payload, of: ["Content-Type": isJSON ? "application/json" : "text/plain"]))
    }
  }

  /// Redacts a recorded message.
  package func redact(_ frame: WebSocketFrame) -> WebSocketFrame {
    var frame = frame
    frame.message = redact(frame.message)
    return frame
  }
}
