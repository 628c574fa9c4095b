extension HAR {
  /// An instant as written in HARs: ISO 8601, in more variants than RFC 3339 allows.
  package struct Timestamp: Comparable {
    /// Since 1970-01-01T00:00:00Z, ignoring leap seconds.
    let seconds: Int
    /// 0 to 999,999,999.
    let nanoseconds: Int
    /// The text as read if it is valid RFC 3339, otherwise the same instant in UTC.
    package let rfc3339: String

    /// Reads `2018-10-08T09:00:00.123+01:00`.
    ///
    /// Seconds are optional. The time zone may be missing (UTC is assumed) or lack its colon. A space may replace the
    /// `T`.
    package init?(_ text: String) {
      var scanner = Scanner(rest: text.utf8[...])
      guard let year = scanner.digits(4), scanner.skip("-"), let month = scanner.digits(2), scanner.skip("-"),
        let day = scanner.digits(2), 1...12 ~= month, 1...31 ~= day,
        scanner.skip("T") || scanner.skip("t") || scanner.skip(" "),
        let hour = scanner.digits(2), hour < 24, scanner.skip(":"), let minute = scanner.digits(2), minute < 60
      else { return nil }
      var isStrict = true
      var second = 0
      var nanoseconds = 0
      if scanner.skip(":") {
        guard let value = scanner.digits(2), value <= 60 else { return nil }
        second = value
        if scanner.skip(".") || scanner.skip(",") {
          guard let fraction = scanner.fraction() else { return nil }
          nanoseconds = fraction
        }
      } else {
        isStrict = false
      }
      var offset = 0
      if !(scanner.skip("Z") || scanner.skip("z")) {
        let isWest = scanner.skip("-")
        if isWest || scanner.skip("+") {
          guard let hours = scanner.digits(2), hours < 24 else { return nil }
          let hasColon = scanner.skip(":")
          let minutes = scanner.digits(2)
          isStrict = isStrict && hasColon && minutes != nil
          offset = (hours * 3600 + (minutes ?? 0) * 60) * (isWest ? -1 : 1)
        } else {
          isStrict = false
        }
      }
      guard scanner.rest.isEmpty else { return nil }
      let days = Self.days(year: year, month: month, day: day)
      let nextMonth =
        month == 12 ? Self.days(year: year + 1, month: 1, day: 1) : Self.days(year: year, month: month + 1, day: 1)
      guard days < nextMonth else { return nil }
      seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
      self.nanoseconds = nanoseconds
      isStrict = isStrict && !text.utf8.contains(UInt8(ascii: " ")) && !text.utf8.contains(UInt8(ascii: ","))
      rfc3339 = isStrict ? text : Self.text(seconds: seconds, nanoseconds: nanoseconds)
    }

    package static func < (left: Self, right: Self) -> Bool {
      (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Counting years from March makes the leap day the last day of
    /// its year.
    static func days(year: Int, month: Int, day: Int) -> Int {
      let shifted = month > 2 ? year : year - 1
      let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
      // From 0000-03-01 to 1970-01-01: 719,468 days.
      return shifted * 365 + floor(shifted, 4) - floor(shifted, 100) + floor(shifted, 400) + dayOfYear - 719_468
    }

    /// Formats an instant in UTC, with milliseconds if it has a fraction.
    package static func text(seconds: Int, nanoseconds: Int = 0) -> String {
      let day = floor(seconds, 86_400)
      var year = 1970 + floor(day * 400, 146_097)
      while days(year: year, month: 1, day: 1) > day { year -= 1 }
      while days(year: year + 1, month: 1, day: 1) <= day { year += 1 }
      let month = (1...12).last { days(year: year, month: $0, day: 1) <= day } ?? 1
      let dayOfMonth = day - days(year: year, month: month, day: 1) + 1
      let second = seconds - day * 86_400
      let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
      let time = "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
      return "\(date)T\(time)\(nanoseconds == 0 ? "" : ".\(padded(nanoseconds / 1_000_000, 3))")Z"
    }

    private static func floor(_ value: Int, _ divisor: Int) -> Int {
      value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
  }

  private struct Scanner {
    var rest: Substring.UTF8View

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func digits(_ count: Int) -> Int? {
      let head = rest.prefix(count)
      guard head.count == count, head.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
      rest.removeFirst(count)
      return head.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// The digits after the decimal point as nanoseconds; digits after the ninth are ignored.
    mutating func fraction() -> Int? {
      let head = rest.prefix { 0x30...0x39 ~= $0 }
      guard !head.isEmpty else { return nil }
      rest.removeFirst(head.count)
      let nine = head.prefix(9).reduce(0) { $0 * 10 + Int($1 - 0x30) }
      return (head.count..<max(9, head.count)).reduce(nine) { value, _ in value * 10 }
    }
  }
}
