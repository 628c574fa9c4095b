package import Foundation

/// Instants in RFC 3339: `2018-10-08T09:00:00Z`, `2018-10-08T10:00:00.25+01:00`.
package enum RFC3339 {
  /// Parses an instant.
  ///
  /// Accepts any number of fractional digits, and uses the first nine (a `Date` holds about seven in this century). The second
  /// may be 60, for a leap second, and then means the first second of the next minute, since `Date` has no leap seconds.
  /// `t`, `z` and a space in place of `T` are allowed by RFC 3339, 5.6.
  ///
  /// - Returns: nil for anything else, such as a missing offset, 30 February or surrounding spaces.
  package static func parse(_ text: String) -> Date? {
    guard let instant = Instant(text), instant.isStrict else { return nil }
    // Relative to the reference date, as in `Date` itself, which keeps a bit or two more of the fraction.
    let whole = Double(instant.seconds) - Date.timeIntervalBetween1970AndReferenceDate
    return Date(timeIntervalSinceReferenceDate: whole + Double(instant.nanoseconds) / 1_000_000_000)
  }

  /// Formats an instant in UTC, rounded to microseconds, with as few digits as needed: none, three or six.
  ///
  /// Instants outside of the years 0000 to 9999 are clamped to them.
  ///
  /// - Parameters:
  ///   - date: the instant.
  ///   - exactly: whether to use nine digits where ``parse(_:)`` does not give the same `Date` otherwise. A `Date` of this
  ///     century is then restored exactly, except near 2001, where it is restored to the nanosecond.
  /// - Returns: the text.
  package static func format(_ date: Date, exactly: Bool = false) -> String {
    let since1970 = Date.timeIntervalBetween1970AndReferenceDate
    let given = date.timeIntervalSinceReferenceDate
    let interval = given.isNaN ? -since1970 : min(max(given, -63_145_526_400), 252_423_993_599.999)
    let whole = interval.rounded(.down)
    var text = ""
    for unit in [1_000, 1_000_000, 1_000_000_000].prefix(exactly ? 3 : 2) {
      let all = Int(((interval - whole) * Double(unit)).rounded())
      text = format(seconds: Int(whole + since1970) + all / unit, nanoseconds: all % unit * (1_000_000_000 / unit))
      // In distant years, a Double has fewer digits.
      if parse(text)?.timeIntervalSinceReferenceDate == interval { break }
    }
    return text
  }

  /// Formats an instant in UTC.
  ///
  /// - Parameters:
  ///   - seconds: since 1970, ignoring leap seconds; clamped to the years 0000 to 9999.
  ///   - nanoseconds: 0 to 999,999,999.
  ///   - digits: the number of digits of the fraction, 1 to 9; nil for as few as needed: none, three, six or nine.
  /// - Returns: the text.
  package static func format(seconds: Int, nanoseconds: Int = 0, digits: Int? = nil) -> String {
    let (days, second) = min(max(seconds, -62_167_219_200), 253_402_300_799).flooredDivision(by: 86_400)
    let (year, month, day) = civil(daysSince1970: days)
    var count = 0
    if nanoseconds != 0 || digits != nil {
      count = digits ?? (nanoseconds % 1_000_000 == 0 ? 3 : nanoseconds % 1_000 == 0 ? 6 : 9)
    }
    return String(unsafeUninitializedCapacity: 40) { buffer in
      var end = 0
      func append(_ number: Int, _ width: Int, then separator: Unicode.Scalar?) {
        var rest = number
        for index in (end..<end + width).reversed() {
          buffer[index] = UInt8(0x30 + rest % 10)
          rest /= 10
        }
        end += width
        guard let separator else { return }
        buffer[end] = UInt8(ascii: separator)
        end += 1
      }
      append(year, 4, then: "-")
      append(month, 2, then: "-")
      append(day, 2, then: "T")
      append(second / 3_600, 2, then: ":")
      append(second / 60 % 60, 2, then: ":")
      append(second % 60, 2, then: count > 0 ? "." : "Z")
      if count > 0 {
        append(nanoseconds, 9, then: nil)
        end += count - 9
        buffer[end] = UInt8(ascii: "Z")
        end += 1
      }
      return end
    }
  }

  // MARK: The Gregorian calendar, with years starting in March, so the leap day is the last day of a year

  /// The number of days in a month.
  package static func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The number of days from 1970-01-01 to a valid date.
  package static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month <= 2 ? year - 1 : year
    let (cycle, yearOfCycle) = marchYear.flooredDivision(by: 400)
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfCycle = yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear
    return cycle * 146_097 + dayOfCycle - 719_468
  }

  /// The date for a number of days.
  package static func civil(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
    let (cycle, dayOfCycle) = (days + 719_468).flooredDivision(by: 146_097)
    let leapDays = dayOfCycle / 1_460 - dayOfCycle / 36_524 + dayOfCycle / 146_096
    let yearOfCycle = (dayOfCycle - leapDays) / 365
    let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }
}

/// An instant in ISO 8601, in more variants than RFC 3339 allows.
package struct Instant: Comparable, Sendable {
  /// Since 1970-01-01T00:00:00Z, ignoring leap seconds.
  package let seconds: Int
  /// 0 to 999,999,999.
  package let nanoseconds: Int
  /// The text as read if it is RFC 3339 with a `T`, otherwise the same instant in UTC.
  package let rfc3339: String
  /// Whether the text is RFC 3339.
  fileprivate let isStrict: Bool

  /// Reads `2018-10-08T09:00:00.123+01:00`.
  ///
  /// Seconds are optional, and a comma may begin their fraction. The time zone may be missing (UTC is assumed) or lack its
  /// colon or minutes.
  package init?(_ text: String) {
    var scanner = Scanner(rest: text.utf8[...])
    guard let year = scanner.number(digits: 4), scanner.take("-"),
      let month = scanner.number(digits: 2), scanner.take("-"),
      let day = scanner.number(digits: 2), scanner.take("T", "t", " "),
      let hour = scanner.number(digits: 2), scanner.take(":"),
      let minute = scanner.number(digits: 2)
    else { return nil }
    let hasSeconds = scanner.take(":")
    guard let second = hasSeconds ? scanner.number(digits: 2) : 0,
      let fraction = hasSeconds ? scanner.fraction() : 0, let offset = scanner.offset(), scanner.rest.isEmpty,
      1...12 ~= month, 1...RFC3339.daysIn(month: month, year: year) ~= day, hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = RFC3339.daysSince1970(year: year, month: month, day: day)
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    nanoseconds = fraction
    isStrict = hasSeconds && scanner.isStrict
    rfc3339 =
      isStrict && !text.utf8.contains(UInt8(ascii: " "))
      ? text : RFC3339.format(seconds: seconds, nanoseconds: nanoseconds)
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}

/// Scans an instant's text from the left; methods return nil for unexpected text.
private struct Scanner {
  var rest: Substring.UTF8View
  /// Whether all is as in RFC 3339 so far.
  var isStrict = true

  mutating func take(_ allowed: Unicode.Scalar...) -> Bool {
    guard let first = rest.first, allowed.contains(Unicode.Scalar(first)) else { return false }
    rest = rest.dropFirst()
    return true
  }

  mutating func number(digits: Int) -> Int? {
    let taken = rest.prefix(digits)
    guard taken.count == digits, taken.allSatisfy(isDigit) else { return nil }
    rest = rest.dropFirst(digits)
    return taken.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// Nanoseconds; 0 without a fraction.
  mutating func fraction() -> Int? {
    if rest.first == UInt8(ascii: ",") { isStrict = false }
    guard take(".", ",") else { return 0 }
    let digits = rest.prefix(while: isDigit)
    guard !digits.isEmpty else { return nil }
    rest = rest.dropFirst(digits.count)
    let nine = digits.prefix(9).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    return (digits.count..<max(9, digits.count)).reduce(nine) { value, _ in value * 10 }
  }

  /// Seconds east of Greenwich.
  mutating func offset() -> Int? {
    if take("Z", "z") { return 0 }
    let isWest = rest.first == UInt8(ascii: "-")
    guard take("+", "-") else {
      isStrict = false
      return 0
    }
    guard let hours = number(digits: 2), hours < 24 else { return nil }
    let hasColon = take(":")
    let minutes = number(digits: 2)
    if !hasColon || minutes == nil { isStrict = false }
    guard minutes ?? 0 < 60 else { return nil }
    return (isWest ? -1 : 1) * (hours * 3_600 + (minutes ?? 0) * 60)
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
}

extension Int {
  /// Quotient and remainder of a division whose remainder is never negative.
  fileprivate func flooredDivision(by divisor: Int) -> (Int, Int) {
    let remainder = (self % divisor + divisor) % divisor
    return ((self - remainder) / divisor, remainder)
  }
}
