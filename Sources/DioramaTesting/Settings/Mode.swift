extension TestEnvironment {
  /// What an environment does with the app's requests.
  ///
  /// Use ``once`` for everyday work: the first run records, later runs replay. Use ``replay`` if the cassette must
  /// exist. The variable `DIORAMA_MODE` overrides the mode in code: `DIORAMA_MODE=record swift test` re-records.
  ///
  /// ```swift
  /// @Test(.environment(.replay)) func booksASlot() async throws { … }
  /// ```
  public enum Mode: String, CaseIterable, Sendable {
    /// Forwards to the upstreams and logs; no cassette.
    case proxy
    /// Forwards to the upstreams and rewrites the cassette.
    case record
    /// Replays recorded interactions and records missing ones.
    case extend
    /// Replays without network access. A request that is not recorded fails the test.
    case replay
    /// Replays if the cassette exists, otherwise records. If the variable `CI` is set, it never records.
    case once
    /// Answers with stubs only, without cassette or network access.
    case mock

    var needsCassette: Bool { self != .proxy && self != .mock }
  }
}
