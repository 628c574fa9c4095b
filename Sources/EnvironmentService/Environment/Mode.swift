/// What an environment does with a request.
///
/// Whether it may record and whether it may reach the network are two questions, asked apart everywhere:
/// ``mayRecord`` and ``mayReachNetwork``.
package enum Mode: String, CaseIterable, Sendable, Codable {
  /// Forward and log.
  case proxy
  /// Forward and rewrite the cassette.
  case record
  /// Replay what is recorded, record what is missing.
  case extend
  /// Replay; never reach the network.
  case replay
  /// Replay if the cassette exists, else record. Where `CI` is set it never records.
  case once
  /// Stubs only.
  case mock

  /// Whether responses may be written to the cassette.
  package var mayRecord: Bool { self == .record || self == .extend }

  /// Whether an upstream may be reached.
  package var mayReachNetwork: Bool { self == .proxy || mayRecord }

  /// Whether the cassette is asked first.
  package var replays: Bool { self == .replay || self == .extend }

  /// Whether the mode needs a cassette to be named.
  package var needsCassette: Bool { self != .proxy && self != .mock }
}
