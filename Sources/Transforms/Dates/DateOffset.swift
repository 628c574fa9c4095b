import Basics
import Cassettes
package import Foundation
import LaunchContract

/// The distance by which dates are moved. It is the same for all dates, so intervals between them stay as recorded.
package struct DateOffset: Sendable, Equatable {
  /// The distance for instants. Whole seconds, so that moving a date back restores it exactly.
  package let seconds: Int
  /// The distance for dates without a time, so that the recorded day becomes the current day.
  package let days: Int

  package init(seconds: Int, days: Int) {
    self.seconds = seconds
    self.days = days
  }

  /// - Parameters:
  ///   - recorded: the time of the recording.
  ///   - now: the time that replaces it.
  ///   - timeZone: the time zone that determines days.
  package init(from recorded: Date, to now: Date, timeZone: TimeZone) {
    func day(_ date: Date) -> Int {
      Int(((date.timeIntervalSince1970 + Double(timeZone.secondsFromGMT(for: date))) / 86_400).rounded(.down))
    }
    self.init(seconds: Int(now.timeIntervalSince(recorded).rounded()), days: day(now) - day(recorded))
  }

  /// The offset in the opposite direction.
  package var reversed: DateOffset { DateOffset(seconds: -seconds, days: -days) }

  /// Whether dates stay unchanged.
  package var isZero: Bool { seconds == 0 && days == 0 }
}

/// A date and a time of day, without a time zone.
struct CalendarTime: Equatable {
  var year: Int
  var month: Int
  var day: Int
  var hour = 0
  var minute = 0
  var second = 0

  private var isOne: Bool {
    1...12 ~= month && 1...RFC3339.daysIn(month: month, year: year) ~= day && 0..<24 ~= hour && 0..<60 ~= minute
      && 0..<60 ~= second
  }

  /// The number of days since 1970-01-01.
  var dayNumber: Int { RFC3339.daysSince1970(year: year, month: month, day: day) }

  /// The day of the week; 0 is Sunday.
  var weekday: Int { ((dayNumber + 4) % 7 + 7) % 7 }

  /// Moves the time by a number of seconds.
  ///
  /// - Returns: nil if the time is not valid; for the year 1, the day 1970-01-01 and the year 9999, which programs use
  ///   for "not set", "expired" and "never"; and if the resulting year is outside 2 to 9998.
  func moved(by seconds: Int) -> CalendarTime? {
    guard isOne, 2...9998 ~= year, dayNumber != 0 else { return nil }
    let all = dayNumber * 86_400 + hour * 3_600 + minute * 60 + second + seconds
    let time = ((all % 86_400) + 86_400) % 86_400
    let (year, month, day) = RFC3339.civil(daysSince1970: (all - time) / 86_400)
    guard 2...9998 ~= year else { return nil }
    return CalendarTime(
      year: year, month: month, day: day, hour: time / 3_600, minute: time / 60 % 60, second: time % 60)
  }
}
