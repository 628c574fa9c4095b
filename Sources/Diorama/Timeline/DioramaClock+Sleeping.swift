public import Foundation

extension DioramaClock {
  /// Waits for so much monotonic time of the app.
  ///
  /// A scaled clock makes it shorter or longer; a move by hand that reaches the end of it ends it.
  ///
  /// ```swift
  /// try await controls.clock.sleep(for: .seconds(900))
  /// lock()
  /// ```
  ///
  /// - Parameter duration: how long; nothing is waited for at zero and below. What is beyond all time, such as
  ///   `.seconds(Int64.max)`, ends by cancellation alone.
  /// - Throws: `CancellationError` when the task is cancelled; ``DioramaError`` when the clock can only be moved by an
  ///   environment that the app has lost.
  public func sleep(for duration: Duration) async throws {
    guard let timeline else { return try await sleep(until: instant.advanced(by: duration)) }
    // Reads the clock and registers in one step, so that no move falls in between.
    try await timeline.sleep(.after(duration))
  }

  /// Waits until the app's monotonic time is there.
  ///
  /// - Parameters:
  ///   - deadline: returns at once when it is past.
  ///   - tolerance: how much later will do; of use to a live clock only.
  /// - Throws: as ``sleep(for:)``.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    if let timeline { return try await timeline.sleep(.uptime(deadline.uptime)) }
    // In pieces of a year, since the system's timers overflow at less than what a `Duration` holds.
    let year = Duration.seconds(31_536_000)
    while deadline.uptime > uptime + year {
      try await Task.sleep(until: .now + year, clock: .continuous)
    }
    guard deadline.uptime > uptime else { return try Task.checkCancellation() }
    try await Task.sleep(until: origin + deadline.uptime, tolerance: tolerance, clock: .continuous)
  }

  /// Waits until the app's wall time is there: `now >= date` when it returns.
  ///
  /// Where wall time stands, only a move by hand ends it. Setting the clock back makes it longer.
  ///
  /// ```swift
  /// try await clock.sleep(until: appointment.startsAt)
  /// ```
  ///
  /// - Parameter date: returns at once when it is past.
  /// - Throws: as ``sleep(for:)``.
  public func sleep(until date: Date) async throws {
    if let timeline { return try await timeline.sleep(.wall(date)) }
    // Looked at again when it is over: the machine may have been set meanwhile.
    repeat {
      try await sleep(for: Duration(from: Date(), to: date))
    } while Date() < date
  }
}
