public import Foundation
import LaunchContract

/// What a clock on the wall shows, without a zone: `2018-10-28 01:30:00`.
///
/// When summer time ends, a wall clock shows some times twice; when it begins, it skips some. So a local time is not an
/// instant: ``resolved(in:)`` says which ones it may be, and who needs one chooses.
///
/// ```swift
/// let local = try LocalTime(year: 2018, month: 10, day: 28, hour: 1, minute: 30)
/// try clock.set(to: local, choosing: .later)      // 01:30 GMT, the second one that night
/// ```
///
/// Days are those of the Gregorian calendar.
public struct LocalTime: Sendable, Hashable {
  /// From 1583 to 9999.
  public let year: Int
  /// From 1 to 12.
  public let month: Int
  /// From 1 to the month's last.
  public let day: Int
  /// From 0 to 23.
  public let hour: Int
  /// From 0 to 59.
  public let minute: Int
  /// From 0 to 59.
  public let second: Int

  /// As it was to be read in UTC.
  let inUTC: Date

  /// A local time of the Gregorian calendar.
  ///
  /// - Parameters:
  ///   - year: from 1583, the first whole year of the Gregorian calendar, to 9999.
  ///   - month: from 1 to 12.
  ///   - day: from 1 to the month's last.
  ///   - hour: from 0 to 23.
  ///   - minute: from 0 to 59.
  ///   - second: from 0 to 59.
  /// - Throws: ``DioramaError`` of kind `clock` for what no calendar shows, such as a 30 February.
  public init(
    year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0
  ) throws(DioramaError) {
    let text = Self.text([year, month, day, hour, minute, second])
    guard 1_583...9_999 ~= year, second < 60, let inUTC = RFC3339.parse("\(text)Z") else {
      throw DioramaError(
        .clock, "\(text) is no local time: no such day or hour, or not of the years 1583 to 9999")
    }
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, second)
    self.inUTC = inUTC
  }

  /// A local time out of what a calendar gives.
  ///
  /// - Parameter components: with `year`, `month` and `day`; `hour`, `minute` and `second` are 0 where there are none.
  ///   All else is left out of account, a zone too.
  /// - Throws: ``DioramaError`` of kind `clock` where one is missing, or for what no calendar shows.
  public init(_ components: DateComponents) throws(DioramaError) {
    guard let year = components.year, let month = components.month, let day = components.day else {
      throw DioramaError(.clock, "\(components) is no local time: it needs year, month and day")
    }
    try self.init(
      year: year, month: month, day: day, hour: components.hour ?? 0, minute: components.minute ?? 0,
      second: components.second ?? 0)
  }

  /// What a wall clock in a zone shows at an instant, without the fraction of the second.
  ///
  /// - Parameters:
  ///   - date: the instant.
  ///   - timeZone: where the wall is.
  /// - Throws: ``DioramaError`` of kind `clock` outside the years 1583 to 9999.
  public init(_ date: Date, in timeZone: TimeZone) throws(DioramaError) {
    let second = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down))
    let local = second + TimeInterval(timeZone.secondsFromGMT(for: second))
    // From 1583 to 9999, as they are here; a date beyond would be written as the nearest that four digits can say.
    guard -12_212_553_600..<253_402_300_800 ~= local.timeIntervalSince1970 else {
      let seconds = date.timeIntervalSince1970
      throw DioramaError(.clock, "\(seconds) seconds after 1970 have no local time, which has the years 1583 to 9999")
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
  /// As ISO 8601 has it: `2018-10-28T01:30:00`.
  public var description: String {
    Self.text([year, month, day, hour, minute, second])
  }
}
