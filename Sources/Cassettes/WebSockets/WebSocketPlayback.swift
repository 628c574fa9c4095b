package import HTTPMessages
import LaunchContract

/// Plays the server's side of a recorded WebSocket: what it sent after the app's k-th message it sends again after the
/// k-th message, and no earlier.
package struct WebSocketPlayback: Sendable {
  /// A message of the server's that is due.
  package struct Due: Sendable, Equatable {
    /// How long after the app's message, or after the beginning, it came.
    package var milliseconds: Int
    package var message: WebSocketMessage
  }

  /// What follows from a message of the app's.
  package enum Outcome: Sendable, Equatable {
    /// It is as recorded, and this is due.
    case plays([Due])
    /// It is not as recorded: how it differs, for a person.
    case miss(String)
  }

  private let frames: [WebSocketFrame]
  private let start: Double
  private var next = 0
  /// How many messages of the app's have come.
  private var count = 0

  /// - Parameters:
  ///   - frames: in recorded order.
  ///   - start: when it began, in seconds since 1970.
  package init(_ frames: [WebSocketFrame], start: Double) {
    self.frames = frames
    self.start = start
  }

  /// Whether all has come to its turn.
  package var isOver: Bool { next == frames.count }

  /// What is due before the app has said anything.
  package mutating func begin() -> [Due] { due(since: start) }

  /// The app has sent a text or bytes.
  package mutating func take(_ message: WebSocketMessage) -> Outcome {
    count += 1
    guard next < frames.count, frames[next].message.kind != .close else {
      return .miss("message \(count), \(Self.describe(message)), is not recorded: there are \(count - 1)")
    }
    let recorded = frames[next]
    guard Self.areSame(recorded.message, message) else {
      return .miss(
        "message \(count) is \(Self.describe(message)) and not, as recorded, \(Self.describe(recorded.message))")
    }
    next += 1
    return .plays(due(since: recorded.time))
  }

  /// The app closes.
  ///
  /// - Parameter message: its close.
  /// - Returns: what the server still sent after the recorded one, its own close last; nil where the app did not close
  ///   then.
  package mutating func close(_ message: WebSocketMessage) -> [Due]? {
    guard next < frames.count, frames[next].message.kind == .close else { return nil }
    let recorded = frames[next]
    next += 1
    var due = due(since: recorded.time)
    // A server that repeated the app's close (RFC 6455, 5.5.1) repeats this one, whose code may be another.
    if let last = due.indices.last, due[last].message == recorded.message { due[last].message = message }
    return due
  }

  /// The server's messages up to the app's next one.
  private mutating func due(since time: Double) -> [Due] {
    var due: [Due] = []
    while next < frames.count, !frames[next].isFromApp {
      let passed = ((frames[next].time - time) * 1000).rounded()
      due.append(Due(milliseconds: Int(min(max(passed, 0), 1e12)), message: frames[next].message))
      next += 1
    }
    return due
  }

  /// The same bytes; of texts that are JSON the same value.
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
