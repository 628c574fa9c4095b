public import Foundation

extension LocalTime {
  /// Which instants a local time may be, in some zone.
  public enum Resolution: Sendable, Equatable {
    /// As nearly always: this one.
    case unique(Date)
    /// A clock that was put back shows it twice.
    case ambiguous(earlier: Date, later: Date)
    /// A clock that was put forward never shows it: it is as far before the change, or after it.
    ///
    /// `before` is read with what is in force after the change, `after` with what was before it: half past one, where
    /// the clocks went from one to two, is half past twelve or half past two.
    case skipped(before: Date, after: Date)
  }

  /// What to do with a local time that is not just one instant.
  public enum Choice: Sendable {
    /// Refuse it.
    case refuse
    /// Take the earlier of two, and for a skipped one the instant before the change.
    case earlier
    /// Take the later of two, and for a skipped one the instant after the change.
    case later
  }

  /// Which instants it may be.
  ///
  /// - Parameter timeZone: where the wall clock is.
  /// - Returns: one instant, or the two that there are to choose from.
  public func resolved(in timeZone: TimeZone) -> Resolution {
    // No zone was ever sixteen hours from UTC, and none changed twice within these hours. Hours are fine enough: of
    // a change in between, both its sides are seen.
    let offsets = Set((-16...16).map { timeZone.secondsFromGMT(for: inUTC + Double($0) * 3_600) })
    let instants = offsets.sorted(by: >).map { (date: inUTC - Double($0), offset: $0) }
    let shown = instants.filter { timeZone.secondsFromGMT(for: $0.date) == $0.offset }.map(\.date)
    if let first = shown.first, let last = shown.last {
      return shown.count == 1 ? .unique(first) : .ambiguous(earlier: first, later: last)
    }
    return .skipped(before: instants[0].date, after: instants[instants.count - 1].date)
  }

  /// The instant that it is.
  ///
  /// - Parameters:
  ///   - timeZone: where the wall clock is.
  ///   - choice: what to do where it is not just one.
  /// - Returns: the one, or the one chosen.
  /// - Throws: ``DioramaError`` of kind `clock` where there is a choice to be made, and none was.
  public func date(in timeZone: TimeZone, choosing choice: Choice = .refuse) throws(DioramaError) -> Date {
    let (earlier, later, problem): (Date, Date, String)
    switch resolved(in: timeZone) {
    case .unique(let date): return date
    case .ambiguous(let first, let second): (earlier, later, problem) = (first, second, "is shown twice")
    case .skipped(let before, let after): (earlier, later, problem) = (before, after, "is skipped")
    }
    switch choice {
    case .earlier: return earlier
    case .later: return later
    case .refuse:
      throw DioramaError(
        .clock, "the local time \(self) \(problem) in \(timeZone.identifier): choose the earlier or the later instant")
    }
  }
}

extension DioramaClock {
  /// What a wall clock in the app's zone shows now; nil outside the years 1583 to 9999.
  public var localTime: LocalTime? {
    try? LocalTime(now, in: timeZone)
  }

  /// Moves the clock on until the wall clock in the app's zone shows this.
  ///
  /// ```swift
  /// try clock.advance(to: LocalTime(year: 2018, month: 10, day: 28, hour: 1, minute: 30), choosing: .later)
  /// ```
  ///
  /// - Parameters:
  ///   - local: what it is to show.
  ///   - choice: what to do where it is shown twice, or skipped.
  /// - Returns: how many sleeps, ticks and deadlines it brought to their end.
  /// - Throws: ``DioramaError`` of kind `clock` where there is a choice to be made and none was, for an instant before
  ///   ``now``, and from a system clock.
  @discardableResult
  public func advance(to local: LocalTime, choosing choice: LocalTime.Choice = .refuse) throws(DioramaError) -> Int {
    try advance(to: try local.date(in: timeZone, choosing: choice))
  }

  /// Sets the clock so that the wall clock in the app's zone shows this: ``set(to:)``.
  ///
  /// - Parameters:
  ///   - local: what it is to show.
  ///   - choice: what to do where it is shown twice, or skipped.
  /// - Returns: how many sleeps, ticks and deadlines it brought to their end.
  /// - Throws: ``DioramaError`` of kind `clock` where there is a choice to be made and none was, and from a system
  ///   clock.
  @discardableResult
  public func set(to local: LocalTime, choosing choice: LocalTime.Choice = .refuse) throws(DioramaError) -> Int {
    try set(to: try local.date(in: timeZone, choosing: choice))
  }
}
