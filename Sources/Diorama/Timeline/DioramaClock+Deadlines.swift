extension DioramaClock {
  /// Does work, but only within so much of the app's time.
  ///
  /// Whichever is later, the work or the deadline, is cancelled. The deadline takes its place among the clock's
  /// sleepers before the work begins.
  ///
  /// ```swift
  /// let slots = try await controls.clock.withDeadline(in: .seconds(30)) { try await api.slots() }
  /// ```
  ///
  /// Work that does not heed its cancellation is waited for; what it returns then is too late.
  ///
  /// - Parameters:
  ///   - duration: monotonic time of the app; at zero and below, the work is not begun.
  ///   - work: what to do.
  /// - Returns: what the work returns.
  /// - Throws: ``DioramaError`` of kind `deadline` when the time was over first; else what the work throws.
  public func withDeadline<Output: Sendable>(
    in duration: Duration, _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    try await withDeadline(at: instant.advanced(by: duration), lateness: "within \(duration)", work)
  }

  /// Does work, but only until some instant of the app's time.
  ///
  /// As ``withDeadline(in:_:)``; several pieces of work can share one deadline so.
  ///
  /// - Parameters:
  ///   - deadline: monotonic time of the app; when it is past, the work is not begun.
  ///   - work: what to do.
  /// - Returns: what the work returns.
  /// - Throws: ``DioramaError`` of kind `deadline` when the time was over first; else what the work throws.
  public func withDeadline<Output: Sendable>(
    at deadline: Instant, _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    try await withDeadline(at: deadline, lateness: "by \(deadline) of the app's time", work)
  }

  private enum Event<Output: Sendable>: Sendable {
    case done(Result<Output, any Error>)
    case passed
    case stopped(any Error)
  }

  private func withDeadline<Output: Sendable>(
    at deadline: Instant, lateness: String, _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    let late = DioramaError(.deadline, "the work was not done \(lateness)")
    if deadline <= instant { throw late }
    let wait = registered(deadline)
    return try await withThrowingTaskGroup(of: Event<Output>.self) { group in
      group.addTask {
        do {
          try await wait()
          return .passed
        } catch {
          return .stopped(error)
        }
      }
      group.addTask {
        do { return .done(.success(try await work())) } catch { return .done(.failure(error)) }
      }
      defer { group.cancelAll() }
      while let event = try await group.next() {
        switch event {
        case .done(let result): return try result.get()
        case .passed: throw late
        // Cancelled from outside, as the work is too, which may still have something to say.
        case .stopped(is CancellationError): continue
        case .stopped(let error): throw error
        }
      }
      throw CancellationError()
    }
  }

  /// Registers a deadline now, to be waited for soon.
  private func registered(_ deadline: Instant) -> @Sendable () async throws -> Void {
    guard let timeline else { return { try await sleep(until: deadline) } }
    let sleeper = Sleeper(.uptime(deadline.uptime))
    timeline.register(sleeper)
    return { try await timeline.wait(for: sleeper) }
  }
}
