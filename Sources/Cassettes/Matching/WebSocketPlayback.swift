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

  /// How many differences and rules a description lists.
  private static let listed = 3

  private let frames: [WebSocketFrame]
  private let start: Double
  private let rules: MessageRules
  private var next = 0
  /// The number of messages received from the app.
  private var count = 0
  /// The index of the recorded message that was last found equal to one of the app's.
  package private(set) var matched: Int?

  /// - Parameters:
  ///   - frames: in recorded order.
  ///   - start: when the WebSocket opened, in seconds since 1970.
  ///   - rules: what counts in a message.
  package init(_ frames: [WebSocketFrame], start: Double, rules: MessageRules = MessageRules()) {
    self.frames = frames
    self.start = start
    self.rules = rules
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
    let differences: [Difference]
    do {
      differences = try rules.differences(recorded.message, message, at: "message \(count)")
    } catch {
      return .miss("message \(count) cannot be compared: \(error)")
    }
    guard differences.isEmpty else {
      let more = differences.count > Self.listed ? " and \(differences.count - Self.listed) more" : ""
      let compared =
        rules.titles.isEmpty ? "" : ", compared by " + rules.titles.prefix(Self.listed).joined(separator: ", ")
      return .miss(differences.prefix(Self.listed).map(\.description).joined(separator: "; ") + more + compared)
    }
    matched = next
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

  private static func describe(_ message: WebSocketMessage) -> String {
    guard message.kind == .text else { return "\(message.payload.count) bytes" }
    let text = String(decoding: message.payload, as: UTF8.self)
    return "'\(Preview.shortened(text, to: Preview.usual).escapedForTerminal)'"
  }
}
