package import Basics
package import Foundation

/// Compares date-times as `before`, `after` and `equalToDateTime` do.
///
/// ```swift
/// let pattern = try DateTimePattern(.before, "now +3 days", truncateExpected: "first hour of day")
/// pattern.matches("2026-11-20T10:00:00Z", now: clock.now, timeZone: .gmt)
/// ```
package struct DateTimePattern: Sendable {
  package enum Comparison: Sendable {
    case before, after, equal
  }

  fileprivate enum Unit: String, CaseIterable {
    case seconds, minutes, hours, days, months, years
  }

  fileprivate enum Truncation: String, CaseIterable {
    case secondOfMinute = "first second of minute"
    case minuteOfHour = "first minute of hour"
    case hourOfDay = "first hour of day"
    case firstDayOfMonth = "first day of month"
    case firstDayOfNextMonth = "first day of next month"
    case lastDayOfMonth = "last day of month"
    case firstDayOfYear = "first day of year"
    case firstDayOfNextYear = "first day of next year"
    case lastDayOfYear = "last day of year"
  }

  private enum Expected {
    case fixed(DateTimeValue)
    case now(Int, Unit)
  }

  private let comparison: Comparison
  private let expected: Expected
  private let actualFormat: DateTimeFormat?
  private let truncateExpected: Truncation?
  private let truncateActual: Truncation?
  private let appliesTruncationLast: Bool

  /// - Parameters:
  ///   - comparison: what the actual value has to be.
  ///   - text: a date-time in ISO 8601 with or without a zone, a date, a month, a year, an HTTP date, `now`, `now +3 days`, or
  ///     `-1 months` for short.
  ///   - actualFormat: the format of the actual value: letters of Java's `DateTimeFormatter`, `unix` (seconds) or `epoch`
  ///     (milliseconds); nil for the formats of `text`.
  ///   - truncateExpected: what `now` is rounded down to, such as `first day of month`. Has no effect on a fixed date-time.
  ///   - truncateActual: what an actual value with a zone is rounded down to.
  ///   - applyTruncationLast: whether to round `now` after adding the offset.
  ///   - expectedOffset: what to add to `now`; in place of the offset in `text`.
  ///   - expectedOffsetUnit: its unit, such as `days`.
  /// - Throws: ``CodedError`` for a value that is not valid.
  package init(
    _ comparison: Comparison, _ text: String, actualFormat: String? = nil, truncateExpected: String? = nil,
    truncateActual: String? = nil, applyTruncationLast: Bool = false, expectedOffset: Int? = nil,
    expectedOffsetUnit: String? = nil
  ) throws(CodedError) {
    self.comparison = comparison
    self.actualFormat = try actualFormat.map { (text) throws(CodedError) in try DateTimeFormat(text) }
    self.truncateExpected = try truncateExpected.map(Self.truncation)
    self.truncateActual = try truncateActual.map(Self.truncation)
    appliesTruncationLast = applyTruncationLast
    guard (expectedOffset == nil) == (expectedOffsetUnit == nil) else {
      throw CodedError(.broken, "expectedOffset and expectedOffsetUnit must be given together")
    }
    let offset = try Self.offset(text)
    if let expectedOffset, let expectedOffsetUnit, offset != nil {
      expected = .now(try Self.amount("\(expectedOffset)", text), try Self.unit(expectedOffsetUnit))
    } else if let offset {
      expected = .now(offset.0, offset.1)
    } else if let value = DateTimeFormat.usual(text) {
      expected = .fixed(value)
    } else {
      throw CodedError(
        .broken, "'\(text.prefix(80))' is not a date-time; write 2026-11-20T10:00:00Z, 2026-11-20 or 'now +3 days'")
    }
  }

  /// The offset of `now`, `now +3 days` or `+3 days`; nil for anything else.
  private static func offset(_ text: String) throws(CodedError) -> (Int, Unit)? {
    var parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    if parts[0].lowercased() == "now" {
      if parts.count == 1 { return (0, .seconds) }
      parts.removeFirst()
    }
    guard parts.count == 2, parts[0].wholeMatch(of: /[-+]?[0-9]+/) != nil, parts[1].wholeMatch(of: /[a-zA-Z]+/) != nil
    else { return nil }
    return (try amount(parts[0], text), try unit(parts[1]))
  }

  private static func amount(_ digits: String, _ text: String) throws(CodedError) -> Int {
    // Beyond this, a date would not be in a year of four digits anyway.
    guard let amount = Int(digits), abs(amount) <= Int(Int32.max) else {
      throw CodedError(.broken, "the offset in '\(text.prefix(80))' is too large")
    }
    return amount
  }

  private static func unit(_ text: String) throws(CodedError) -> Unit {
    guard let unit = Unit(rawValue: text.lowercased()) else {
      throw CodedError(
        .broken,
        "'\(text.prefix(40))' is not a unit; use \(Unit.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return unit
  }

  private static func truncation(_ text: String) throws(CodedError) -> Truncation {
    guard let truncation = Truncation(rawValue: text.lowercased().replacing("_", with: " ")) else {
      throw CodedError(
        .broken,
        "'\(text.prefix(40))' is not a truncation; use \(Truncation.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return truncation
  }

  /// Compares a text with the expected date-time.
  ///
  /// - Parameters:
  ///   - actual: the text.
  ///   - now: the current time.
  ///   - timeZone: the zone of date-times without one.
  /// - Returns: whether the text is a date-time, and the comparison holds.
  package func matches(_ actual: String, now: Date, timeZone: TimeZone) -> Bool {
    guard let (expected, actual, _) = values(actual, now, timeZone) else { return false }
    switch comparison {
    case .before: return actual < expected
    case .after: return actual > expected
    case .equal: return actual == expected
    }
  }

  /// How far a text is from the expected date-time: the years between them divided by 100; 1 if it is no date-time.
  ///
  /// As in WireMock, it is also 1 if only the expected one has a zone.
  package func distance(to actual: String, now: Date, timeZone: TimeZone) -> Double {
    guard let (expected, actual, isComparable) = values(actual, now, timeZone), isComparable else { return 1 }
    let (first, last) = expected < actual ? (expected, actual) : (actual, expected)
    let (start, end) = (DateTimeValue(local: first, nil), DateTimeValue(local: last, nil))
    var years = end.day.year - start.day.year
    var anniversary = start
    anniversary.add(years, .years)
    if end.local < anniversary.local { years -= 1 }
    return min(1, Double(years) / 100)
  }

  /// The values to compare: instants, or local date-times if the expected value has no zone; and whether the actual value has
  /// a zone if the expected one has.
  private func values(
    _ text: String, _ now: Date, _ timeZone: TimeZone
  ) -> (DateTimeValue.Point, DateTimeValue.Point, Bool)? {
    guard var actual = actualFormat.map({ $0.value(text) }) ?? DateTimeFormat.usual(text) else { return nil }
    guard let expected = expected(now, timeZone) else { return nil }
    // WireMock does not truncate local date-times, and reads them from any text in a given format.
    let isLocal = actual.zone == nil || expected.zone == nil && actualFormat != nil
    if let truncateActual, !isLocal { actual.truncate(truncateActual) }
    if expected.zone == nil { return (expected.local, actual.local, true) }
    let isZoned = actual.zone != nil
    if !isZoned { actual.zone = .region(timeZone) }
    return (expected.instant, actual.instant, isZoned)
  }

  private func expected(_ now: Date, _ timeZone: TimeZone) -> DateTimeValue? {
    switch expected {
    case .fixed(let value): return value
    case .now(let amount, let unit):
      let seconds = now.timeIntervalSince1970.rounded(.down)
      guard abs(seconds) < 1e12 else { return nil }
      var value = DateTimeValue(
        instant: .init(seconds: Int(seconds), nanoseconds: Int((now.timeIntervalSince1970 - seconds) * 1e9)),
        .region(timeZone))
      if let truncateExpected, !appliesTruncationLast { value.truncate(truncateExpected) }
      value.add(amount, unit)
      if let truncateExpected, appliesTruncationLast { value.truncate(truncateExpected) }
      return value
    }
  }
}

/// A date and time, with or without a zone.
struct DateTimeValue: Sendable {
  enum Zone: Sendable {
    /// Seconds east of Greenwich.
    case offset(Int)
    case region(TimeZone)
  }

  struct Point: Comparable, Sendable {
    /// Since 1970-01-01T00:00:00, in UTC or local time.
    var seconds: Int
    var nanoseconds: Int

    static func < (left: Self, right: Self) -> Bool {
      (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
  }

  /// In local time.
  var local: Point
  var zone: Zone?

  init(local: Point, _ zone: Zone?) {
    self.local = local
    self.zone = zone
  }

  init(instant: Point, _ zone: Zone) {
    local = instant
    self.zone = zone
    local.seconds += Self.offset(zone, at: instant.seconds)
  }

  /// In UTC; the local time if there is no zone.
  var instant: Point {
    guard let zone else { return local }
    // Java's rule for local times that exist twice or not at all: the offset before the change.
    let before = Self.offset(zone, at: local.seconds - 86_400)
    let after = Self.offset(zone, at: local.seconds + 86_400)
    let isBefore = before == after || Self.offset(zone, at: local.seconds - before) == before
    let isAfter = Self.offset(zone, at: local.seconds - after) == after
    return Point(seconds: local.seconds - (isBefore || !isAfter ? before : after), nanoseconds: local.nanoseconds)
  }

  private static func offset(_ zone: Zone, at seconds: Int) -> Int {
    switch zone {
    case .offset(let offset): offset
    case .region(let zone): zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }
  }

  fileprivate var day: (year: Int, month: Int, day: Int) {
    RFC3339.civil(daysSince1970: (local.seconds - (local.seconds % 86_400 + 86_400) % 86_400) / 86_400)
  }

  private mutating func move(toYear year: Int, month: Int, day: Int, keepsTime: Bool) {
    let index = year * 12 + month - 1
    let month = (index % 12 + 12) % 12 + 1
    let year = (index - month + 1) / 12
    let time = ((local.seconds % 86_400) + 86_400) % 86_400
    let day = min(day, RFC3339.daysIn(month: month, year: year))
    local.seconds = RFC3339.daysSince1970(year: year, month: month, day: day) * 86_400 + (keepsTime ? time : 0)
    if !keepsTime { local.nanoseconds = 0 }
  }

  /// Adds days, months and years to the local time, and other units to the instant.
  fileprivate mutating func add(_ amount: Int, _ unit: DateTimePattern.Unit) {
    let (year, month, day) = day
    switch unit {
    case .days: local.seconds += amount * 86_400
    case .months: move(toYear: year, month: month + amount, day: day, keepsTime: true)
    case .years: move(toYear: year + amount, month: month, day: day, keepsTime: true)
    case .seconds, .minutes, .hours:
      var instant = instant
      instant.seconds += amount * (unit == .seconds ? 1 : unit == .minutes ? 60 : 3_600)
      self = zone.map { DateTimeValue(instant: instant, $0) } ?? DateTimeValue(local: instant, nil)
    }
  }

  fileprivate mutating func truncate(_ truncation: DateTimePattern.Truncation) {
    let (year, month, day) = day
    switch truncation {
    case .secondOfMinute: local = Point(seconds: local.seconds - (local.seconds % 60 + 60) % 60, nanoseconds: 0)
    case .minuteOfHour: local = Point(seconds: local.seconds - (local.seconds % 3_600 + 3_600) % 3_600, nanoseconds: 0)
    case .hourOfDay: move(toYear: year, month: month, day: day, keepsTime: false)
    case .firstDayOfMonth: move(toYear: year, month: month, day: 1, keepsTime: false)
    case .firstDayOfNextMonth: move(toYear: year, month: month + 1, day: 1, keepsTime: false)
    case .lastDayOfMonth: move(toYear: year, month: month, day: 31, keepsTime: false)
    case .firstDayOfYear: move(toYear: year, month: 1, day: 1, keepsTime: false)
    case .firstDayOfNextYear: move(toYear: year + 1, month: 1, day: 1, keepsTime: false)
    case .lastDayOfYear: move(toYear: year, month: 12, day: 31, keepsTime: false)
    }
  }
}
