extension DioramaClock {
  /// A point in the app's monotonic time.
  ///
  /// For measuring and for deadlines: nobody sets it back, no zone and no summer time changes it.
  ///
  /// ```swift
  /// let begun = clock.instant
  /// // …
  /// if begun.duration(to: clock.instant) > .seconds(900) { lock() }
  /// ```
  ///
  /// Instants of different clocks cannot be compared. Some 36,000,000,000 years from the beginning, instants end:
  /// what lies beyond is the last one, so that no duration is too long to be added.
  public struct Instant: InstantProtocol {
    /// Monotonic time since the clock's counting began.
    public let uptime: Duration

    init(_ uptime: Duration) {
      self.uptime = uptime.bounded
    }

    /// The instant so much later, or earlier for a negative duration.
    public func advanced(by duration: Duration) -> Instant {
      Instant(uptime + duration.bounded)
    }

    /// How long it is from here to another instant; negative to an earlier one.
    public func duration(to other: Instant) -> Duration {
      other.uptime - uptime
    }

    /// Whether one instant is before another.
    public static func < (one: Instant, other: Instant) -> Bool {
      one.uptime < other.uptime
    }
  }
}

extension DioramaClock.Instant: CustomStringConvertible {
  /// Such as `900.0 seconds`.
  public var description: String { uptime.description }
}
