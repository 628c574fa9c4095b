import Basics
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
    "are one instant unless they are repeated or skipped",
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
      error?.description.contains("\(local) \(instants[0] == "-" ? "is skipped" : "occurs twice") in \(name)") == true)
  }

  @Test(
    "agree with Calendar for years, in each hour around clock changes",
    arguments: ["Europe/London", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo"])
  func calendar(_ name: String) throws {
    let zone = try zone(name)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let begin = try instant("2017-06-01T00:10:00Z")
    let end = begin + 2 * 365 * 86_400
    // Otherwise every 25 hours, which covers all hours of the day.
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

  @Test("are rejected if they are invalid")
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
    "do not exist for dates outside the years 1583 to 9999",
    arguments: [.nan, .infinity, -.infinity, 1e300, -1e300, 9e15, 253_402_300_800, -12_212_553_601])
  func beyond(_ seconds: Double) throws {
    let date = Date(timeIntervalSince1970: seconds)
    let error = #expect(throws: DioramaError.self) { try LocalTime(date, in: .gmt) }
    #expect(error?.kind == .clock)
    #expect(try LocalTime(Date(timeIntervalSince1970: 253_402_300_799), in: .gmt).description == "9999-12-31T23:59:59")
    #expect(try LocalTime(Date(timeIntervalSince1970: -12_212_553_600), in: .gmt).description == "1583-01-01T00:00:00")
  }

  @Test("drop the fraction of a second, also before 2001")
  func fraction() throws {
    #expect(try LocalTime(instant("1999-12-31T23:59:59.999Z"), in: .gmt).description == "1999-12-31T23:59:59")
    #expect(try LocalTime(instant("2018-10-08T09:00:00.9996Z"), in: .gmt).description == "2018-10-08T09:00:00")
  }
}

@Suite("Moves across daylight saving changes")
struct TravelTests {
  private func clock(_ zone: String, _ start: String) throws -> DioramaClock {
    .manual(
      start: try #require(RFC3339.parse(start)), timeZone: try #require(TimeZone(identifier: zone)))
  }

  @Test(
    "show the correct local time",
    arguments: [
      ("Europe/London", "2018-03-25T00:30:00Z", ["00:30", "01:00"], ["02:00", "02:30"]),
      ("Europe/London", "2018-10-28T00:30:00Z", ["01:30"], ["01:00", "01:30", "02:00"]),
      ("America/New_York", "2021-11-07T05:30:00Z", ["01:30"], ["01:00", "01:30", "02:00"]),
      ("Australia/Lord_Howe", "2019-04-06T14:30:00Z", ["01:30"], ["01:30", "02:00", "02:30"]),
      ("Australia/Lord_Howe", "2019-10-05T15:00:00Z", ["01:30"], ["02:30", "03:00", "03:30"]),
    ])
  func halfHours(_ zone: String, _ start: String, _ first: [String], _ then: [String]) throws {
    let clock = try clock(zone, start)
    let instant = clock.instant
    #expect(time(clock) == first[0])
    for (index, shown) in then.enumerated() {
      try clock.advance(by: .seconds(1_800))
      #expect(time(clock) == shown)
      #expect(instant.duration(to: clock.instant) == .seconds(1_800 * (index + 1)))
    }
  }

  private func time(_ clock: DioramaClock) -> String? {
    let parts = clock.calendar.dateComponents([.hour, .minute], from: clock.now)
    let ours = clock.localTime?.description.dropFirst(11).prefix(5)
    let theirs = [parts.hour, parts.minute].map { ($0 ?? 0) < 10 ? "0\($0 ?? 0)" : "\($0 ?? 0)" }.joined(separator: ":")
    #expect(ours.map(String.init) == theirs)
    return theirs
  }

  @Test("skip the day that Samoa skipped")
  func samoa() throws {
    let clock = try clock("Pacific/Apia", "2011-12-30T09:59:00Z")
    #expect(clock.localTime?.description == "2011-12-29T23:59:00")
    try clock.advance(by: .seconds(60))
    #expect(clock.localTime?.description == "2011-12-31T00:00:00")
  }

  @Test("reach a local time, by choice if it is repeated or skipped")
  func moves() throws {
    let clock = try clock("Europe/London", "2018-10-27T12:00:00Z")
    let half = try LocalTime(year: 2018, month: 10, day: 28, hour: 1, minute: 30)
    #expect(throws: DioramaError.self) { try clock.advance(to: half) }
    #expect(clock.now == RFC3339.parse("2018-10-27T12:00:00Z"))
    try clock.advance(to: half, choosing: .earlier)
    #expect(clock.now == RFC3339.parse("2018-10-28T00:30:00Z"))
    #expect(clock.uptime == .seconds(12.5 * 3_600))
    try clock.advance(to: half, choosing: .later)
    #expect(clock.now == RFC3339.parse("2018-10-28T01:30:00Z"))
    #expect(throws: DioramaError.self) { try clock.advance(to: half, choosing: .earlier) }
    try clock.set(to: half, choosing: .earlier)
    #expect(clock.now == RFC3339.parse("2018-10-28T00:30:00Z"))
    #expect(clock.uptime == .seconds(13.5 * 3_600))
    try clock.set(to: LocalTime(year: 2019, month: 3, day: 31, hour: 1, minute: 30), choosing: .later)
    #expect(clock.localTime?.description == "2019-03-31T02:30:00")
  }
}
