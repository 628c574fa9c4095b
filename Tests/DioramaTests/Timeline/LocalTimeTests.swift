import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Local times")
struct LocalTimeTests {
  private func zone(_ name: String) throws -> TimeZone { try #require(TimeZone(identifier: name)) }
  private func instant(_ text: String) throws -> Date { try #require(RFC3339.parse(text)) }

  private func local(_ text: String) throws -> LocalTime {
    let numbers = text.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
    return try LocalTime(
      year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4])
  }

  @Test(
    "are one instant, but for those that a clock shows twice or skips",
    arguments: [
      ("Europe/London", "2018-10-08 10:00", ["2018-10-08T09:00:00Z"]),
      ("Europe/London", "2018-03-25 00:59", ["2018-03-25T00:59:00Z"]),
      ("Europe/London", "2018-03-25 01:00", ["-", "2018-03-25T00:00:00Z", "2018-03-25T01:00:00Z"]),
      ("Europe/London", "2018-03-25 01:30", ["-", "2018-03-25T00:30:00Z", "2018-03-25T01:30:00Z"]),
      ("Europe/London", "2018-03-25 02:00", ["2018-03-25T01:00:00Z"]),
      ("Europe/London", "2018-10-28 00:59", ["2018-10-27T23:59:00Z"]),
      ("Europe/London", "2018-10-28 01:00", ["2018-10-28T00:00:00Z", "2018-10-28T01:00:00Z"]),
      ("Europe/London", "2018-10-28 01:59", ["2018-10-28T00:59:00Z", "2018-10-28T01:59:00Z"]),
      ("Europe/London", "2018-10-28 02:00", ["2018-10-28T02:00:00Z"]),
      ("America/New_York", "2021-11-07 01:30", ["2021-11-07T05:30:00Z", "2021-11-07T06:30:00Z"]),
      ("America/New_York", "2021-03-14 02:30", ["-", "2021-03-14T06:30:00Z", "2021-03-14T07:30:00Z"]),
      ("Australia/Lord_Howe", "2019-04-07 01:45", ["2019-04-06T14:45:00Z", "2019-04-06T15:15:00Z"]),
      ("Australia/Lord_Howe", "2019-04-07 01:29", ["2019-04-06T14:29:00Z"]),
      ("Australia/Lord_Howe", "2019-10-06 02:15", ["-", "2019-10-05T15:15:00Z", "2019-10-05T15:45:00Z"]),
      ("Australia/Lord_Howe", "2019-10-06 02:30", ["2019-10-05T15:30:00Z"]),
      ("Pacific/Apia", "2011-12-29 23:59", ["2011-12-30T09:59:00Z"]),
      ("Pacific/Apia", "2011-12-30 00:00", ["-", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"]),
      ("Pacific/Apia", "2011-12-30 12:00", ["-", "2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"]),
      ("Pacific/Apia", "2011-12-31 00:00", ["2011-12-30T10:00:00Z"]),
      ("Asia/Kathmandu", "2018-10-08 14:45", ["2018-10-08T09:00:00Z"]),
      ("UTC", "9999-12-31 23:59", ["9999-12-31T23:59:00Z"]),
    ])
  func resolved(_ name: String, _ text: String, _ instants: [String]) throws {
    let zone = try zone(name)
    let local = try local(text)
    let dates = try instants.filter { $0 != "-" }.map(instant)
    let expected: LocalTime.Resolution =
      switch (instants[0], dates.count) {
      case ("-", _): .skipped(before: dates[0], after: dates[1])
      case (_, 1): .unique(dates[0])
      default: .ambiguous(earlier: dates[0], later: dates[1])
      }
    #expect(local.resolved(in: zone) == expected)
    #expect(try local.date(in: zone, choosing: .earlier) == dates.first)
    #expect(try local.date(in: zone, choosing: .later) == dates.last)
    guard dates.count == 2 else {
      #expect(try local.date(in: zone) == dates[0])
      #expect(try LocalTime(dates[0], in: zone) == local)
      return
    }
    let error = #expect(throws: DioramaError.self) { try local.date(in: zone) }
    #expect(
      error?.description.contains("\(local) is \(instants[0] == "-" ? "skipped" : "shown twice") in \(name)") == true)
  }

  @Test(
    "agree with the calendar for years, hour by hour where the clocks change",
    arguments: ["Europe/London", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo"])
  func calendar(_ name: String) throws {
    let zone = try zone(name)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let begin = try instant("2017-06-01T00:10:00Z")
    let end = begin + 2 * 365 * 86_400
    // Elsewhere every 25 hours, which goes through all hours of the day.
    var dates = Array(stride(from: begin, to: end, by: 25 * 3_600))
    var change = begin
    while let next = zone.nextDaylightSavingTimeTransition(after: change), next < end {
      change = next
      dates += stride(from: change - 36.25 * 3_600, to: change + 36 * 3_600, by: 3_600)
    }
    #expect(change > begin)
    for date in dates {
      let local = try LocalTime(calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date))
      let isRight =
        switch local.resolved(in: zone) {
        case .unique(let found): found == date
        case .ambiguous(let earlier, let later): earlier == date || later == date
        case .skipped: false
        }
      guard isRight, try LocalTime(date, in: zone) == local else {
        Issue.record("\(local) is shown at \(date)")
        return
      }
    }
  }

  @Test("that no clock shows are refused")
  func refused() throws {
    for (year, month, day, hour, minute, second) in [
      (2019, 2, 29, 0, 0, 0), (2018, 13, 1, 0, 0, 0), (2018, 0, 1, 0, 0, 0), (2018, 4, 31, 0, 0, 0),
      (2018, 1, 1, 24, 0, 0), (2018, 1, 1, 0, 60, 0), (2018, 1, 1, 0, 0, 60), (2018, 1, 1, -1, 0, 0),
      (1582, 12, 31, 0, 0, 0), (10_000, 1, 1, 0, 0, 0), (2018, 1, 1, 100, 0, 0),
    ] {
      #expect(throws: DioramaError.self) {
        try LocalTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
      }
    }
    #expect(throws: DioramaError.self) { try LocalTime(DateComponents(year: 2018, month: 1)) }
    #expect(throws: DioramaError.self) { try LocalTime(.distantPast, in: .gmt) }
  }

  @Test(
    "are none of a date beyond the years 1583 to 9999",
    arguments: [.nan, .infinity, -.infinity, 1e300, -1e300, 9e15, 253_402_300_800, -12_212_553_601])
  func beyond(_ seconds: Double) throws {
    let date = Date(timeIntervalSince1970: seconds)
    let error = #expect(throws: DioramaError.self) { try LocalTime(date, in: .gmt) }
    #expect(error?.kind == .clock)
    #expect(try LocalTime(Date(timeIntervalSince1970: 253_402_300_799), in: .gmt).description == "9999-12-31T23:59:59")
    #expect(try LocalTime(Date(timeIntervalSince1970: -12_212_553_600), in: .gmt).description == "1583-01-01T00:00:00")
  }

  @Test("leave out the fraction of the second, before 2001 too")
  func fraction() throws {
    #expect(try LocalTime(instant("1999-12-31T23:59:59.999Z"), in: .gmt).description == "1999-12-31T23:59:59")
    #expect(try LocalTime(instant("2018-10-08T09:00:00.9996Z"), in: .gmt).description == "2018-10-08T09:00:00")
  }
}
