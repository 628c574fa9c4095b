import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Travel over daylight-saving changes")
struct TravelTests {
  private func clock(_ zone: String, _ start: String) throws -> DioramaClock {
    .manual(
      start: try #require(RFC3339.parse(start)), timeZone: try #require(TimeZone(identifier: zone)))
  }

  @Test(
    "keeps the wall clock right",
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

  @Test("skips the day that Samoa never had")
  func samoa() throws {
    let clock = try clock("Pacific/Apia", "2011-12-30T09:59:00Z")
    #expect(clock.localTime?.description == "2011-12-29T23:59:00")
    try clock.advance(by: .seconds(60))
    #expect(clock.localTime?.description == "2011-12-31T00:00:00")
  }

  @Test("goes to a local time, by choice where it is shown twice or skipped")
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
