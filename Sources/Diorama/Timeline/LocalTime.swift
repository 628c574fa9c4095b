import Basics
public import Foundation
import LaunchContract

/// The time on a wall clock, without a time zone: `2018-10-28 01:30:00`.
///
/// A wall clock repeats an hour when daylight saving ends, and skips an hour when it begins. So a local time is not an
/// instant: ``resolved(in:)`` returns the possible instants, and the caller chooses.
///
/// ```swift
/// let local = try LocalTime(year: 2018, month: 10, day: 28, hour: 1, minute: 30)
/// try clock.set(to: local, choosing: .later)      // 01:30 GMT, the second time that night
/// ```
///
/// Dates are in the Gregorian calendar.
public struct LocalTime: Sendable, Hashable {
  /// From 1583 to 9999.
  public let year: Int
  /// From 1 to 12.
  public let month: Int
  /// From 1 to the last day of the month.
  public let day: Int
  /// From 0 to 23.
  public let hour: Int
  /// From 0 to 59.
  public let minute: Int
  /// From 0 to 59.
  public let second: Int

  /// The same local time in UTC.
  let inUTC: Date

  /// A local time of the Gregorian calendar.
  ///
  /// - Parameters:
  ///   - year: from 1583, the first full year of the Gregorian calendar, to 9999.
  ///   - month: from 1 to 12.
  ///   - day: from 1 to the last day of the month.
  ///   - hour: from 0 to 23.
  ///   - minute: from 0 to 59.
  ///   - second: from 0 to 59.
  /// - Throws: ``DioramaError`` of kind `clock` for an invalid date or time, such as 30 February.
  public init(
    year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0
  ) throws(DioramaError) {
    let text = Self.text([year, month, day, hour, minute, second])
    guard 1_583...9_999 ~= year, second < 60, let inUTC = RFC3339.parse("\(text)Z") else {
      throw DioramaError(
        .clock, "\(text) is not a valid local time in the years 1583 to 9999")
    }
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, second)
    self.inUTC = inUTC
  }

  /// A local time from a calendar's date components.
  ///
  /// - Parameter components: `year`, `month` and `day` are required; `hour`, `minute` and `second` default to 0. Other
  ///   components are ignored, including the time zone.
  /// - Throws: ``DioramaError`` of kind `clock` if a component is missing or invalid.
  public init(_ components: DateComponents) throws(DioramaError) {
    guard let year = components.year, let month = components.month, let day = components.day else {
      throw DioramaError(.clock, "\(components) is not a local time: year, month and day are required")
    }
    try self.init(
      year: year, month: month, day: day, hour: components.hour ?? 0, minute: components.minute ?? 0,
      second: components.second ?? 0)
  }

  /// The local time at an instant in a time zone, in full seconds.
  ///
  /// - Parameters:
  ///   - date: the instant.
  ///   - timeZone: the time zone.
  /// - Throws: ``DioramaError`` of kind `clock` outside the years 1583 to 9999.
  public init(_ date: Date, in timeZone: TimeZone) throws(DioramaError) {
    let second = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down))
    let local = second + TimeInterval(timeZone.secondsFromGMT(for: second))
    // The years 1583 to 9999. The formatter would clamp dates beyond four-digit years.
    guard -12_212_553_600..<253_402_300_800 ~= local.timeIntervalSince1970 else {
      let seconds = date.timeIntervalSince1970
      throw DioramaError(
        .clock, "\(seconds) seconds after 1970 is outside the range of local times, the years 1583 to 9999")
    }
    let numbers = RFC3339.format(local).split(whereSeparator: { !$0.isNumber }).prefix(6).compactMap { Int($0) }
    try self.init(
      year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4], second: numbers[5])
  }

  private static func text(_ numbers: [Int]) -> String {
    let parts = zip(numbers, [4, 2, 2, 2, 2, 2]).map { number, width in
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return parts[0...2].joined(separator: "-") + "T" + parts[3...5].joined(separator: ":")
  }
}

extension LocalTime: CustomStringConvertible {
  /// The local time in ISO 8601: `2018-10-28T01:30:00`.
  public var description: String {
    Self.text([year, month, day, hour, minute, second])
  }
}

extension LocalTime {
  /// The instants that a local time stands for in a time zone.
  public enum Resolution: Sendable, Equatable {
    /// One instant, the usual case.
    case unique(Date)
    /// Two instants, because the clocks were set back.
    case ambiguous(earlier: Date, later: Date)
    /// No instant, because the clocks were set forward: the instants as far before and after the change.
    ///
    /// `before` uses the offset after the change, `after` the offset before it. If the clocks went from one to two,
    /// half past one is half past twelve or half past two.
    case skipped(before: Date, after: Date)
  }

  /// How to resolve a local time that is repeated or skipped.
  public enum Choice: Sendable {
    /// Throw an error.
    case refuse
    /// Use the earlier of two instants; for a skipped time, the instant before the change.
    case earlier
    /// Use the later of two instants; for a skipped time, the instant after the change.
    case later
  }

  /// Finds the instants for the local time.
  ///
  /// - Parameter timeZone: the time zone.
  /// - Returns: one instant, or two to choose from.
  public func resolved(in timeZone: TimeZone) -> Resolution {
    // No time zone has been 16 hours from UTC, and none has changed its offset twice within this range. Steps of an hour
    // are enough to see the offsets on both sides of a change.
    let offsets = Set((-16...16).map { timeZone.secondsFromGMT(for: inUTC + Double($0) * 3_600) })
    let instants = offsets.sorted(by: >).map { (date: inUTC - Double($0), offset: $0) }
    let shown = instants.filter { timeZone.secondsFromGMT(for: $0.date) == $0.offset }.map(\.date)
    if let first = shown.first, let last = shown.last {
      return shown.count == 1 ? .unique(first) : .ambiguous(earlier: first, later: last)
    }
    return .skipped(before: instants[0].date, after: instants[instants.count - 1].date)
  }

  /// The instant for the local time.
  ///
  /// - Parameters:
  ///   - timeZone: the time zone.
  ///   - choice: how to resolve a repeated or skipped time.
  /// - Returns: the instant.
  /// - Throws: ``DioramaError`` of kind `clock` if the time is repeated or skipped and `choice` is `refuse`.
  public func date(in timeZone: TimeZone, choosing choice: Choice = .refuse) throws(DioramaError) -> Date {
    let (earlier, later, problem): (Date, Date, String)
    switch resolved(in: timeZone) {
    case .unique(let date): return date
    case .ambiguous(let first, let second): (earlier, later, problem) = (first, second, "occurs twice")
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
  /// The current local time in the app's time zone; nil outside the years 1583 to 9999.
  public var localTime: LocalTime? {
    try? LocalTime(now, in: timeZone)
  }

  /// Advances the clock to a local time in the app's time zone.
  ///
  /// ```swift
  /// try clock.advance(to: LocalTime(year: 2018, month: 10, day: 28, hour: 1, minute: 30), choosing: .later)
  /// ```
  ///
  /// - Parameters:
  ///   - local: the local time.
  ///   - choice: how to resolve a repeated or skipped time.
  /// - Returns: the number of sleeps, ticks and deadlines that ended.
  /// - Throws: ``DioramaError`` of kind `clock` if the time is repeated or skipped and `choice` is `refuse`, for a time
  ///   before ``now``, and for a system clock.
  @discardableResult
  public func advance(to local: LocalTime, choosing choice: LocalTime.Choice = .refuse) throws(DioramaError) -> Int {
    try advance(to: try local.date(in: timeZone, choosing: choice))
  }

  /// Sets the clock to a local time in the app's time zone, like ``set(to:)``.
  ///
  /// - Parameters:
  ///   - local: the local time.
  ///   - choice: how to resolve a repeated or skipped time.
  /// - Returns: the number of sleeps, ticks and deadlines that ended.
  /// - Throws: ``DioramaError`` of kind `clock` if the time is repeated or skipped and `choice` is `refuse`, and for a
  ///   system clock.
  @discardableResult
  public func set(to local: LocalTime, choosing choice: LocalTime.Choice = .refuse) throws(DioramaError) -> Int {
    try set(to: try local.date(in: timeZone, choosing: choice))
  }
}
