package import Foundation
import LaunchContract

extension Timeline {
  /// Moves both times on, in one jump.
  ///
  /// - Parameter duration: of the timeline; nothing at all is allowed.
  /// - Returns: how many sleepers were woken.
  /// - Throws: ``DioramaError`` when the clock is a system clock, or for a negative duration.
  @discardableResult
  package func advance(by duration: Duration) throws(DioramaError) -> Int {
    try update { (inside, moment) throws(DioramaError) in
      try inside.time.advance(by: duration, at: moment)
      publish(inside)
    }.woken
  }

  /// Sets wall time; monotonic time moves on as far, but never back.
  ///
  /// - Returns: how many sleepers were woken.
  /// - Throws: ``DioramaError`` when the clock is a system clock, or for no date of the years 0 to 9999.
  @discardableResult
  package func set(to date: Date) throws(DioramaError) -> Int {
    try update { (inside, moment) throws(DioramaError) in
      try inside.time.set(to: date, at: moment)
      publish(inside)
    }.woken
  }

  /// Moves to an instant that is not past.
  ///
  /// - Throws: as ``set(to:)``, and for an instant before the one shown.
  func advance(to date: Date) throws(DioramaError) -> Int {
    try update { (inside, moment) throws(DioramaError) in
      let now = inside.time.now(at: moment)
      guard inside.time.pace == .system || date >= now else {
        throw DioramaError(
          .clock,
          "cannot advance the clock to \(RFC3339.format(date)): it shows \(RFC3339.format(now)); to go back, set it")
      }
      try inside.time.set(to: date, at: moment)
      publish(inside)
    }.woken
  }

  /// What a step to the next deadline came to.
  enum Step {
    /// So many were woken.
    case woke(Int)
    /// Nobody waits, or only for what never comes; there have been so many registrations.
    case nothing(registrations: UInt64)
  }

  /// Moves to the next deadline and wakes all whose deadline it is.
  ///
  /// - Parameter completion: called after they were resumed; not where nobody waits.
  /// - Returns: how many were woken, or that nobody waits.
  /// - Throws: ``DioramaError`` when the clock is a system clock.
  func step(then completion: (@Sendable () -> Void)? = nil) throws(DioramaError) -> Step {
    let (standstill, woken) = try update { (inside, moment) throws(DioramaError) -> UInt64? in
      if inside.time.pace == .system { throw .unmovable("run") }
      guard let (sleeper, remaining) = inside.sleepers.next(inside.time, at: moment), !sleeper.isForever else {
        return inside.registrations
      }
      do {
        if case .wall(let date) = sleeper.alarm {
          // To the date itself: what is left until then is rounded. One that is overdue is not gone back to.
          if date > inside.time.now(at: moment) { try inside.time.set(to: date, at: moment) }
        } else {
          try inside.time.advance(by: max(.zero, remaining), at: moment)
        }
      } catch {
        // Beyond the year 9999.
        return inside.registrations
      }
      publish(inside)
      inside.afterWakes = completion
      return nil
    }
    if let standstill { return .nothing(registrations: standstill) }
    return .woke(woken)
  }
}

extension Sleeper {
  /// Whether it waits for what nobody means to reach.
  var isForever: Bool {
    switch scale {
    case .uptime: deadline >= .forever
    case .wall: deadline >= Duration(sinceReferenceDate: .distantFuture)
    }
  }
}
