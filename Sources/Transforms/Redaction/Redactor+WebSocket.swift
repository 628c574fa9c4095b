package import Cassettes
package import HTTPMessages

extension Redactor {
  /// A message of a WebSocket as it is kept, and as it is matched: JSON by its paths, all by patterns and credentials.
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

  /// A recorded message.
  package func redact(_ frame: WebSocketFrame) -> WebSocketFrame {
    var frame = frame
    frame.message = redact(frame.message)
    return frame
  }
}
