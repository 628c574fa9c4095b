extension TestEnvironment {
  /// When to send the parts of recorded streams in replay: server-sent events, lines of JSON, and bodies that were
  /// received with pauses.
  ///
  /// Parts are always sent one by one and in order. The default is ``instant``, which is fast and deterministic. With
  /// ``timeline`` the test controls when parts are sent:
  ///
  /// ```swift
  /// @Test(.environment(.replay, streams: .timeline))
  /// func showsTheDelay() async throws {
  ///   try await app.wait(for: "on time")
  ///   try await TestEnvironment.current.clock.advance(by: .seconds(30))   // sends the next event
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
    /// When the environment's clock has advanced, by itself or by a move, as far as in the recording. While the clock
    /// stands still, no part is sent.
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
