public import Foundation

extension DioramaClock {
  /// Moves the clock on, in one jump, wall time and monotonic time alike.
  ///
  /// ```swift
  /// try clock.advance(by: .seconds(900))
  /// ```
  ///
  /// What it wakes has been woken when it returns, in the order of (deadline, beginning of the sleep); the tasks run
  /// when their turn comes. In an app under a launch contract this moves the app's clock alone: a test moves its
  /// environment's.
  ///
  /// - Parameter duration: of the app's time.
  /// - Returns: how many sleeps, ticks and deadlines it brought to their end.
  /// - Throws: ``DioramaError`` of kind `clock` for a negative duration, beyond the year 9999, and from a system clock.
  @discardableResult
  public func advance(by duration: Duration) throws(DioramaError) -> Int {
    try movable("advance").advance(by: duration)
  }

  /// Moves the clock on to an instant.
  ///
  /// - Parameter date: not before ``now``.
  /// - Returns: how many sleeps, ticks and deadlines it brought to their end.
  /// - Throws: ``DioramaError`` of kind `clock` for an instant before ``now``, beyond the year 9999, and from a system
  ///   clock.
  @discardableResult
  public func advance(to date: Date) throws(DioramaError) -> Int {
    try movable("advance").advance(to: date)
  }

  /// Sets wall time, forward or back, as a user may set a phone's clock.
  ///
  /// Forward it is an advance. Back it leaves monotonic time where it is, and with it all sleeps for a duration.
  ///
  /// - Parameter date: what ``now`` is to be.
  /// - Returns: how many sleeps, ticks and deadlines it brought to their end.
  /// - Throws: ``DioramaError`` of kind `clock` outside the years 0 to 9999, and from a system clock.
  @discardableResult
  public func set(to date: Date) throws(DioramaError) -> Int {
    try movable("set").set(to: date)
  }

  func movable(_ what: String) throws(DioramaError) -> Timeline {
    guard let timeline else { throw .unmovable(what) }
    return timeline
  }

  // MARK: Those who wait

  /// How many sleeps, ticks and deadlines wait for the clock; a live clock does not count them.
  public var sleeperCount: Int { timeline?.sleeperCount ?? 0 }

  /// Waits until so many sleeps, ticks and deadlines wait for the clock.
  ///
  /// With it no move is lost: a sleep is counted in the same step in which it begins to wait.
  ///
  /// ```swift
  /// try await clock.waitForSleepers(1)
  /// try clock.advance(by: .seconds(900))
  /// ```
  ///
  /// - Parameter count: how many at least.
  /// - Throws: `CancellationError` when the task is cancelled; ``DioramaError`` when the environment is lost, and from
  ///   a live clock, which does not count them.
  public func waitForSleepers(_ count: Int) async throws {
    try await movable("count those who sleep by").waitForSleepers(count)
  }
}
