extension DioramaClock {
  /// Moves from deadline to deadline until no sleeper is left.
  ///
  /// It asks nobody back: a task that is woken and sleeps again is taken along only if it does so in time. Use it to
  /// empty a clock at the end of a test; to see work through, use ``run(_:)``. Sleeps that are beyond all time (a
  /// duration such as `.seconds(Int64.max)`, `Date.distantFuture`, whatever comes after the year 9999) stay.
  ///
  /// - Returns: how many sleeps, ticks and deadlines it brought to their end.
  /// - Throws: ``DioramaError`` of kind `clock` from a system clock.
  @discardableResult
  public func run() throws(DioramaError) -> Int {
    let timeline = try movable("run")
    var woken = 0
    while case .woke(let count) = try timeline.step() { woken += count }
    return woken
  }

  /// Runs work to its end, moving to the next deadline whenever all of it waits.
  ///
  /// Hours of the app's time pass in milliseconds, each deadline by itself and in order: whoever is woken finds the
  /// clock at just that deadline, and may sleep again.
  ///
  /// ```swift
  /// let log = try await clock.run {
  ///   async let reminder: Void = remind(after: .seconds(600))
  ///   try await lock(after: .seconds(900))
  ///   …
  /// }
  /// ```
  ///
  /// The work and its child tasks run one after the other, on a thread of this call, so that it is known when all of
  /// them wait. What they start outside (a `Task { }`, the main actor) is not seen: it runs as always, its sleeps are
  /// ended as those of the work, and while it computes the clock may move.
  ///
  /// - Parameter work: what to run.
  /// - Returns: what the work returns.
  /// - Throws: what the work throws; ``DioramaError`` of kind `clock` from a system clock.
  public func run<Output: Sendable>(
    _ work: @escaping @Sendable @concurrent () async throws -> Output
  ) async throws -> Output {
    let timeline = try movable("run")
    guard !timeline.isSystem else { throw DioramaError.unmovable("run") }
    let executor = RunExecutor(timeline)
    defer { executor.end() }
    return try await withTaskExecutorPreference(executor) { try await work() }
  }
}
