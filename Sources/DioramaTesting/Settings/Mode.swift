import EnvironmentService

extension TestEnvironment {
  /// What an environment does with the app's requests.
  ///
  /// ``once`` is the everyday mode: the first run records, every later one replays. ``replay`` says in the code that a
  /// cassette is there. `DIORAMA_MODE=record swift test` records again whatever the code says, and any other mode's
  /// name works there too.
  ///
  /// ```swift
  /// @Test(.environment(.replay)) func booksASlot() async throws { … }
  /// ```
  public enum Mode: String, CaseIterable, Sendable {
    /// Forwards to the upstreams and logs; no cassette.
    case proxy
    /// Forwards to the upstreams and rewrites the cassette.
    case record
    /// Replays what is recorded, and records what is missing.
    case extend
    /// Replays, and never reaches the network: what is not recorded fails the test.
    case replay
    /// Replays if the cassette exists, else records; where the variable `CI` is set it never records.
    case once
    /// Answers by stubs only; no cassette and no network.
    case mock
  }
}

// In a place of its own: inside of `TestEnvironment` the name means the type above.
extension Mode {
  init(_ mode: TestEnvironment.Mode) {
    self =
      switch mode {
      case .proxy: .proxy
      case .record: .record
      case .extend: .extend
      case .replay: .replay
      case .once: .once
      case .mock: .mock
      }
  }
}

typealias ServiceMode = Mode
