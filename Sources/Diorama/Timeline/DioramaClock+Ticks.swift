extension DioramaClock {
  /// A timer: ticks at fixed deadlines of the app's monotonic time, the first after one interval.
  ///
  /// The n-th tick is due n intervals after this call, however long the ticks before took to be dealt with: it does not
  /// drift. Who comes late, or is taken past several deadlines by one move, gets one tick for all of them, which says
  /// how many it stands for.
  ///
  /// ```swift
  /// for try await tick in try controls.clock.ticks(every: .seconds(1)) {
  ///   show(remaining: session.end.duration(to: tick.deadline))
  /// }
  /// ```
  ///
  /// - Parameter interval: more than nothing.
  /// - Returns: a sequence without an end; cancel the task, or leave the loop. Each iteration has its own ticks, of the
  ///   same deadlines.
  /// - Throws: ``DioramaError`` of kind `clock` when the interval is not positive.
  public func ticks(every interval: Duration) throws(DioramaError) -> Ticks {
    guard interval > .zero else {
      throw DioramaError(.clock, "cannot tick every \(interval): the interval has to be more than nothing")
    }
    return Ticks(clock: self, start: instant, interval: interval.bounded)
  }

  /// One tick of a timer.
  public struct Tick: Sendable, Equatable {
    /// The latest deadline that has come; the tick may be dealt with later.
    public let deadline: Instant
    /// How many deadlines it stands for: 1, but for ticks that were missed.
    public let count: Int
  }

  /// A timer's ticks: ``DioramaClock/ticks(every:)``.
  public struct Ticks: AsyncSequence, Sendable {
    let clock: DioramaClock
    let start: Instant
    let interval: Duration

    /// Begins with the first tick that has not been due yet, or that of the sequence's beginning.
    public func makeAsyncIterator() -> Iterator {
      Iterator(ticks: self)
    }

    /// Waits for one tick after the other.
    public struct Iterator: AsyncIteratorProtocol {
      let ticks: Ticks
      /// How many deadlines have been ticked.
      private var ticked: Int128 = 0

      init(ticks: Ticks) {
        self.ticks = ticks
      }

      /// Waits for the next tick.
      ///
      /// - Returns: never nil.
      /// - Throws: `CancellationError` when the task is cancelled; ``DioramaError`` when the environment is lost.
      public mutating func next() async throws -> Tick? {
        try await ticks.clock.sleep(until: ticks.deadline(ticked + 1))
        let due = ticks.start.duration(to: ticks.clock.instant).attoseconds / ticks.interval.attoseconds
        let count = Swift.max(1, due - ticked)
        ticked += count
        return Tick(deadline: ticks.deadline(ticked), count: Int(clamping: count))
      }
    }

    /// Computed from the start each time: no rounding adds up.
    private func deadline(_ number: Int128) -> Instant {
      let (attoseconds, overflows) = interval.attoseconds.multipliedReportingOverflow(by: number)
      return start.advanced(by: overflows ? .forever : Duration(attoseconds: attoseconds))
    }
  }
}
