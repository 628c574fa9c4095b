extension TestEnvironment {
  /// When the parts of recorded streams leave in replay: server-sent events, lines of JSON, bodies that came with pauses.
  ///
  /// They always leave one by one and in order. Left out, none waits for anything: a test is fast, and the same each time.
  /// ``timeline`` makes time a matter of the test:
  ///
  /// ```swift
  /// @Test(.environment(.replay, streams: .timeline))
  /// func showsTheDelay() async throws {
  ///   try await app.wait(for: "on time")
  ///   try await TestEnvironment.current.clock.advance(by: .seconds(30))   // the next event comes
  ///   try await app.wait(for: "delayed")
  /// }
  /// ```
  public enum StreamPace: Sendable, Equatable {
    /// One after the other, without waiting.
    case instant
    /// With the recorded pauses.
    case recorded
    /// Faster than recorded by this factor, from 0.001 to 1,000,000.
    case scaled(by: Double)
    /// When the environment's clock has gone on, or was moved, as far as it took when they came; while it stands, nothing
    /// comes.
    case timeline
  }
}

extension TestEnvironment.StreamPace {
  var text: String {
    switch self {
    case .instant: "instant"
    case .recorded: "recorded"
    case .timeline: "timeline"
    case .scaled(let factor): "scaled:\(factor)"
    }
  }
}
