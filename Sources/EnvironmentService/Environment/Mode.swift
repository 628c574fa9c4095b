/// What an environment does with a request.
///
/// Recording and reaching the network are separate decisions: ask ``mayRecord`` or ``mayReachNetwork``.
package enum Mode: String, CaseIterable, Sendable, Codable {
  /// Forward and log.
  case proxy
  /// Forward and replace the cassette.
  case record
  /// Replay recorded interactions and record missing ones.
  case extend
  /// Replay; never reach the network.
  case replay
  /// Replay if the cassette exists, else record. If `CI` is set, never record.
  case once
  /// Stubs only.
  case mock

  /// Whether responses may be written to the cassette.
  package var mayRecord: Bool { self == .record || self == .extend }

  /// Whether an upstream may be reached.
  package var mayReachNetwork: Bool { self == .proxy || mayRecord }

  /// Whether recorded interactions are replayed.
  package var replays: Bool { self == .replay || self == .extend }

  /// Whether the mode needs a cassette.
  package var needsCassette: Bool { self != .proxy && self != .mock }
}
