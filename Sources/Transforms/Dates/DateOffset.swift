import Cassettes
package import Foundation
import LaunchContract

/// How far dates are moved: one distance for all, so that what lies between them stays as it was recorded.
package struct DateOffset: Sendable, Equatable {
  /// For instants. Whole seconds, so that what is moved can be moved back to the digit.
  package let seconds: Int
  /// For dates without a time: what was today is today.
  package let days: Int

  package init(seconds: Int, days: Int) {
    self.seconds = seconds
    self.days = days
  }

  /// - Parameters:
  ///   - recorded: when the recording was made.
  ///   - now: the instant that stands for it.
  ///   - timeZone: in which a day is counted.
  package init(from recorded: Date, to now: Date, timeZone: TimeZone) {
    func day(_ date: Date) -> Int {
      Int(((date.timeIntervalSince1970 + Double(timeZone.secondsFromGMT(for: date))) / 86_400).rounded(.down))
    }
    self.init(seconds: Int(now.timeIntervalSince(recorded).rounded()), days: day(now) - day(recorded))
  }

  /// The way back.
  package var reversed: DateOffset { DateOffset(seconds: -seconds, days: -days) }

  /// Whether nothing moves.
  package var isZero: Bool { seconds == 0 && days == 0 }
}

/// A day and a time of day, as they are written.
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

  /// Its day's number, from 1970-01-01.
  var dayNumber: Int { RFC3339.daysSince1970(year: year, month: month, day: day) }

  /// From 0, a Sunday.
  var weekday: Int { ((dayNumber + 4) % 7 + 7) % 7 }

  /// Moved by so many seconds.
  ///
  /// - Returns: nil for what is no time, and for what means none: the year 1, the day 1970-01-01 and the year 9999, by
  ///   which programs say "not set", "expired" and "never"; also where four digits would not hold the year.
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
