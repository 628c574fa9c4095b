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
    var scanner = Scanner(rest: text.utf8[...])
    guard let year = scanner.number(digits: 4), scanner.take("-"),
      let month = scanner.number(digits: 2), scanner.take("-"),
      let day = scanner.number(digits: 2), scanner.take("T", "t", " "),
      let hour = scanner.number(digits: 2), scanner.take(":"),
      let minute = scanner.number(digits: 2), scanner.take(":"),
      let second = scanner.number(digits: 2),
      let nanoseconds = scanner.fraction(), let offset = scanner.offset(), scanner.rest.isEmpty
    else { return nil }
    guard 1...12 ~= month, 1...daysIn(month: month, year: year) ~= day, hour < 24, minute < 60, second <= 60 else {
      return nil
    }
    let seconds = daysSince1970(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    // Relative to the reference date, as in `Date` itself, which keeps a bit or two more of the fraction.
    let whole = Double(seconds - offset) - Date.timeIntervalBetween1970AndReferenceDate
    return Date(timeIntervalSinceReferenceDate: whole + Double(nanoseconds) / 1_000_000_000)
  }

  /// Formats an instant in UTC, with milliseconds (rounded) if not zero.
  ///
  /// Instants outside of the years 0000 to 9999 are clamped to them.
  package static func format(_ date: Date) -> String {
    let limits = -62_167_219_200_000.0...253_402_300_799_999.0
    let rounded = ((date.timeIntervalSince1970) * 1_000).rounded()
    let all = Int(rounded.isNaN ? 0 : min(max(rounded, limits.lowerBound), limits.upperBound))
    let (seconds, milliseconds) = all.flooredDivision(by: 1_000)
    return text(seconds, milliseconds == 0 ? "" : ".\(padded(milliseconds, 3))")
  }

  /// Formats an instant in UTC with the digits needed to parse back the same value: none, three, six or nine.
  ///
  /// A `Date` of this century is restored exactly, except near 2001, where it is restored to the nanosecond. Instants outside
  /// of the years 0000 to 9999 are formatted by ``format(_:)``.
  package static func formatExactly(_ date: Date) -> String {
    let rough = format(date)
    if parse(rough) == date { return rough }
    let interval = date.timeIntervalSinceReferenceDate
    let whole = interval.rounded(.down)
    // The years 0000 to 9999, except the last second.
    guard -63_145_526_400.0..<252_423_993_599.0 ~= whole else { return rough }
    for digits in [6, 9] {
      let unit = digits == 6 ? 1_000_000 : 1_000_000_000
      let all = Int(((interval - whole) * Double(unit)).rounded())
      let seconds = Int(whole + Date.timeIntervalBetween1970AndReferenceDate) + all / unit
      let exact = text(seconds, ".\(padded(all % unit, digits))")
      if digits == 9 || parse(exact) == date { return exact }
    }
    return rough
  }

  private static func text(_ secondsSince1970: Int, _ fraction: String) -> String {
    let (days, second) = secondsSince1970.flooredDivision(by: 86_400)
    let (year, month, day) = civil(daysSince1970: days)
    let time = [second / 3_600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(time)\(fraction)Z"
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
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

/// Scans an instant's text from the left; methods return nil for unexpected text.
private struct Scanner {
  var rest: Substring.UTF8View

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
    guard take(".") else { return 0 }
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
    guard take("+", "-"), let hours = number(digits: 2), take(":"), let minutes = number(digits: 2),
      hours < 24, minutes < 60
    else { return nil }
    return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
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
