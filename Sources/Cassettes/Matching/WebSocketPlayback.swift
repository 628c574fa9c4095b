import Basics
package import HTTPMessages

/// Plays the server's side of a recorded WebSocket: the messages recorded after the app's k-th message are sent after
/// its k-th message.
package struct WebSocketPlayback: Sendable {
  /// A server message that is due.
  package struct Due: Sendable, Equatable {
    /// The delay after the app's message, or after the start.
    package var milliseconds: Int
    package var message: WebSocketMessage
  }

  /// The result of a message from the app.
  package enum Outcome: Sendable, Equatable {
    /// The message is as recorded, and these server messages are due.
    case plays([Due])
    /// The message differs from the recording, with a description.
    case miss(String)
  }

  private let frames: [WebSocketFrame]
  private let start: Double
  private var next = 0
  /// The number of messages received from the app.
  private var count = 0

  /// - Parameters:
  ///   - frames: in recorded order.
  ///   - start: when the WebSocket opened, in seconds since 1970.
  package init(_ frames: [WebSocketFrame], start: Double) {
    self.frames = frames
    self.start = start
  }

  /// Whether all messages have been played.
  package var isOver: Bool { next == frames.count }

  /// The messages due before the app sends anything.
  package mutating func begin() -> [Due] { due(since: start) }

  /// Handles a text or binary message from the app.
  package mutating func take(_ message: WebSocketMessage) -> Outcome {
    count += 1
    guard next < frames.count, frames[next].message.kind != .close else {
      return .miss("message \(count), \(Self.describe(message)), is not recorded: the recording has \(count - 1)")
    }
    let recorded = frames[next]
    guard Self.areSame(recorded.message, message) else {
      return .miss(
        "message \(count) is \(Self.describe(message)), but the recorded one is \(Self.describe(recorded.message))")
    }
    next += 1
    return .plays(due(since: recorded.time))
  }

  /// Handles a close from the app.
  ///
  /// - Parameter message: the app's close.
  /// - Returns: the messages that the server sent after the recorded close, its own close last; nil if no close was
  ///   recorded here.
  package mutating func close(_ message: WebSocketMessage) -> [Due]? {
    guard next < frames.count, frames[next].message.kind == .close else { return nil }
    let recorded = frames[next]
    next += 1
    var due = due(since: recorded.time)
    // A server that echoed the recorded close (RFC 6455, 5.5.1) echoes this one, whose code may differ.
    if let last = due.indices.last, due[last].message == recorded.message { due[last].message = message }
    return due
  }

  /// The server messages before the app's next one.
  private mutating func due(since time: Double) -> [Due] {
    var due: [Due] = []
    while next < frames.count, !frames[next].isFromApp {
      let passed = ((frames[next].time - time) * 1000).rounded()
      due.append(Due(milliseconds: Int(min(max(passed, 0), 1e12)), message: frames[next].message))
      next += 1
    }
    return due
  }

  /// Whether two messages have the same bytes, or are JSON texts of the same value.
  private static func areSame(_ left: WebSocketMessage, _ right: WebSocketMessage) -> Bool {
    guard left != right else { return true }
    guard left.kind == .text, right.kind == .text else { return false }
    let values = [left, right].map { message in
      message.payload.withUnsafeBytes { bytes -> JSON? in
        guard let first = bytes.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
        return try? JSON.parse(bytes)
      }
    }
    guard let one = values[0], let other = values[1] else { return false }
    return CanonicalJSON.areSame(one, other)
  }

  private static func describe(_ message: WebSocketMessage) -> String {
    guard message.kind == .text else { return "\(message.payload.count) bytes" }
    let text = String(decoding: message.payload, as: UTF8.self)
    return text.count > 80 ? "'\(text.prefix(80))…'" : "'\(text)'"
  }
}
