public import Foundation

extension DioramaClock {
  /// Sleeps for a duration of the app's monotonic time.
  ///
  /// A scaled clock makes the sleep shorter or longer in real time. The sleep also ends when the clock is moved past its
  /// end.
  ///
  /// ```swift
  /// try await controls.clock.sleep(for: .seconds(900))
  /// lock()
  /// ```
  ///
  /// - Parameter duration: the duration; zero or a negative duration returns at once. A duration without an end, such as
  ///   `.seconds(Int64.max)`, ends only by cancellation.
  /// - Throws: `CancellationError` if the task is cancelled; ``DioramaError`` if only the environment can move the clock
  ///   and the connection to it is lost.
  public func sleep(for duration: Duration) async throws {
    guard let timeline else { return try await sleep(until: instant.advanced(by: duration)) }
    // Reads the clock and registers in one step, so that no move falls between.
    try await timeline.sleep(.after(duration))
  }

  /// Sleeps until an instant of the app's monotonic time.
  ///
  /// - Parameters:
  ///   - deadline: the instant; a past instant returns at once.
  ///   - tolerance: the delay that is acceptable; used only without a contract.
  /// - Throws: as ``sleep(for:)``.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    if let timeline { return try await timeline.sleep(.uptime(deadline.uptime)) }
    // A year at a time, because system timers overflow before `Duration` does.
    let year = Duration.seconds(31_536_000)
    while deadline.uptime > uptime + year {
      try await Task.sleep(until: .now + year, clock: .continuous)
    }
    guard deadline.uptime > uptime else { return try Task.checkCancellation() }
    try await Task.sleep(until: origin + deadline.uptime, tolerance: tolerance, clock: .continuous)
  }

  /// Sleeps until a date of the app's wall time: afterwards `now >= date`.
  ///
  /// If wall time stands still, the sleep ends only when the clock is moved. Setting the clock back makes it longer.
  ///
  /// ```swift
  /// try await clock.sleep(until: appointment.startsAt)
  /// ```
  ///
  /// - Parameter date: the date; a past date returns at once.
  /// - Throws: as ``sleep(for:)``.
  public func sleep(until date: Date) async throws {
    if let timeline { return try await timeline.sleep(.wall(date)) }
    // Checks again afterwards, because the machine's clock may have been changed.
    repeat {
      try await sleep(for: Duration(from: Date(), to: date))
    } while Date() < date
  }
}

extension DioramaClock {
  /// Performs work with a time limit, measured in the app's time.
  ///
  /// When the work ends or the deadline passes, the other is cancelled. The deadline is registered with the clock before
  /// the work begins.
  ///
  /// ```swift
  /// let slots = try await controls.clock.withDeadline(in: .seconds(30)) { try await api.slots() }
  /// ```
  ///
  /// Work that ignores its cancellation is awaited, and its result is discarded.
  ///
  /// - Parameters:
  ///   - duration: the limit in the app's monotonic time; at zero and below, the work does not begin.
  ///   - work: the work to perform.
  /// - Returns: the result of the work.
  /// - Throws: ``DioramaError`` of kind `deadline` if the deadline passes first; otherwise the error of the work.
  public func withDeadline<Output: Sendable>(
    in duration: Duration, _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    try await withDeadline(at: instant.advanced(by: duration), lateness: "within \(duration)", work)
  }

  /// Performs work with a deadline, measured in the app's time.
  ///
  /// Like ``withDeadline(in:_:)``, for several pieces of work with a common deadline.
  ///
  /// - Parameters:
  ///   - deadline: an instant of the app's monotonic time; if it is past, the work does not begin.
  ///   - work: the work to perform.
  /// - Returns: the result of the work.
  /// - Throws: ``DioramaError`` of kind `deadline` if the deadline passes first; otherwise the error of the work.
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
    let late = DioramaError(.deadline, "the work did not end \(lateness)")
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
        // The surrounding task was cancelled, and so was the work, which may still return a result.
        case .stopped(is CancellationError): continue
        case .stopped(let error): throw error
        }
      }
      throw CancellationError()
    }
  }

  /// Registers a deadline, and returns a function that waits for it.
  private func registered(_ deadline: Instant) -> @Sendable () async throws -> Void {
    guard let timeline else { return { try await sleep(until: deadline) } }
    let sleeper = Sleeper(.uptime(deadline.uptime))
    timeline.register(sleeper)
    return { try await timeline.wait(for: sleeper) }
  }
}

extension DioramaClock {
  /// Returns a timer that ticks at regular intervals of the app's monotonic time, first after one interval.
  ///
  /// The nth tick is due n intervals after this call; the timer does not drift. If several ticks are due, because the loop
  /// is late or the clock was moved, one ``Tick`` stands for all of them.
  /// ```swift
  /// for try await tick in try controls.clock.ticks(every: .seconds(1)) {
  ///   show(remaining: session.end.duration(to: tick.deadline))
  /// }
  /// ```
  ///
  /// - Parameter interval: a positive duration.
  /// - Returns: an endless sequence; cancel the task or leave the loop to stop it. Each iteration has the same deadlines.
  /// - Throws: ``DioramaError`` of kind `clock` if the interval is not positive.
  public func ticks(every interval: Duration) throws(DioramaError) -> Ticks {
    guard interval > .zero else {
      throw DioramaError(.clock, "cannot tick every \(interval): the interval must be positive")
    }
    return Ticks(clock: self, start: instant, interval: interval.bounded)
  }

  /// One tick of a timer.
  public struct Tick: Sendable, Equatable {
    /// The latest deadline that has passed.
    public let deadline: Instant
    /// The number of deadlines: 1 unless ticks were missed.
    public let count: Int
  }

  /// The ticks of a timer made by ``DioramaClock/ticks(every:)``.
  public struct Ticks: AsyncSequence, Sendable {
    let clock: DioramaClock
    let start: Instant
    let interval: Duration

    /// Starts with the first tick of the sequence.
    public func makeAsyncIterator() -> Iterator {
      Iterator(ticks: self)
    }

    /// Waits for the ticks in order.
    public struct Iterator: AsyncIteratorProtocol {
      let ticks: Ticks
      /// The number of deadlines so far.
      private var ticked: Int128 = 0

      init(ticks: Ticks) {
        self.ticks = ticks
      }

      /// Waits for the next tick.
      ///
      /// - Returns: a tick, never nil.
      /// - Throws: `CancellationError` if the task is cancelled; ``DioramaError`` if the environment is lost.
      public mutating func next() async throws -> Tick? {
        try await ticks.clock.sleep(until: ticks.deadline(ticked + 1))
        let due = ticks.start.duration(to: ticks.clock.instant).attoseconds / ticks.interval.attoseconds
        let count = Swift.max(1, due - ticked)
        ticked += count
        return Tick(deadline: ticks.deadline(ticked), count: Int(clamping: count))
      }
    }

    /// Computed from the start, so that rounding errors do not add up.
    private func deadline(_ number: Int128) -> Instant {
      let (attoseconds, overflows) = interval.attoseconds.multipliedReportingOverflow(by: number)
      return start.advanced(by: overflows ? .forever : Duration(attoseconds: attoseconds))
    }
  }
}
