import Foundation
import LaunchContract
import Testing

@testable import Diorama

@Suite("Changing a clock while it runs")
struct ChangingTests {
  private let time = ScriptedTime()
  private let names = Collected<String>()
  private let noon = "2020-02-29T12:00:00Z"
  private var noonDate: Date { RFC3339.parse(noon) ?? .distantPast }

  @Test("puts wall time at the new start; monotonic time goes on")
  func start() throws {
    let timeline = Timeline.scripted(.ticking, time)
    time.pass(.seconds(30))
    try timeline.change(to: .init(kind: .scaled, start: noon, rate: 60))
    #expect(timeline.now == noonDate)
    #expect(timeline.uptime == .seconds(30))
    time.pass(.seconds(1))
    #expect(timeline.now == noonDate + 60)
    #expect(timeline.uptime == .seconds(90))
    try timeline.change(to: .init(kind: .manual, start: noon))
    time.pass(.seconds(1))
    #expect(timeline.now == noonDate)
    #expect(timeline.uptime == .seconds(90))
    try timeline.change(to: .init(kind: .system))
    #expect(timeline.now == time.date)
    #expect(timeline.uptime == .seconds(90))
  }

  @Test("goes on from the wall time shown where it names no start")
  func noStart() throws {
    let timeline = Timeline.scripted(.ticking, time)
    time.pass(.seconds(30))
    try timeline.change(to: .init(kind: .frozen))
    time.pass(.seconds(30))
    #expect(timeline.now == autumnMorning + 30)
  }

  @Test("agrees with an environment that changed it a while ago")
  func provisioned() throws {
    let timeline = Timeline.scripted(.frozen, time)
    let then = RFC3339.format(time.date - 10)
    try timeline.change(to: .init(kind: .scaled, start: noon, rate: 2, provisioned: then))
    #expect(timeline.now == noonDate + 20)
    #expect(timeline.uptime == .zero)
  }

  @Test("lets sleepers wait on, at the new pace")
  func sleepers() throws {
    let timeline = Timeline.scripted(.manual, time)
    timeline.note("a", .after(.seconds(60)), in: names)
    timeline.note("b", .after(.seconds(120)), in: names)
    timeline.note("date", .wall(noonDate + 150), in: names)
    time.pass(.seconds(3_600))
    #expect(names.values == [])
    try timeline.change(to: .init(kind: .scaled, start: noon, rate: 60))
    #expect(names.values == [])
    time.pass(.seconds(1))
    #expect(names.values == ["a"])
    try timeline.change(to: .init(kind: .ticking))
    time.pass(.seconds(59))
    #expect(names.values == ["a"])
    time.pass(.seconds(1))
    #expect(names.values == ["a", "b"])
    try timeline.change(to: .init(kind: .manual, start: "2021-01-01T00:00:00Z"))
    #expect(names.values == ["a", "b", "date"])
  }

  @Test("keeps those who slept under a system clock for a hand to wake")
  func fromSystem() throws {
    let timeline = Timeline.scripted(.system, time)
    timeline.note("a", .after(.seconds(60)), in: names)
    #expect(timeline.sleeperCount == 1)
    try timeline.change(to: .init(kind: .frozen, start: noon))
    #expect(try timeline.advance(by: .seconds(60)) == 1)
    #expect(names.values == ["a"])
  }

  @Test("replaces zone, locale and calendar")
  func zone() throws {
    let timeline = Timeline.scripted(.frozen, time)
    let clock = DioramaClock(timeline)
    try timeline.change(to: .init(kind: .frozen, start: noon, timeZone: "Asia/Kathmandu", locale: "ne_NP"))
    #expect(clock.timeZone.identifier == "Asia/Kathmandu")
    #expect(clock.locale.identifier == "ne_NP")
    #expect(clock.calendar.timeZone == clock.timeZone)
    #expect(clock.localTime?.description == "2020-02-29T17:45:00")
    try timeline.change(to: .init(kind: .frozen, start: noon))
    #expect(clock.timeZone == .current)
    #expect(clock.locale == .current)
  }

  @Test(
    "is refused whole where a part of it cannot be had",
    arguments: [
      ("clock.start: 'noon'", .init(kind: .ticking, start: "noon", timeZone: "Asia/Kathmandu")),
      ("clock.timeZone: 'Europe/Atlantis'", .init(kind: .ticking, timeZone: "Europe/Atlantis")),
      ("clock.rate: 0.0", .init(kind: .scaled, rate: 0)),
      ("clock.rate: nan", .init(kind: .scaled, rate: .nan)),
      ("clock.provisioned: 'then'", .init(kind: .ticking, provisioned: "then")),
    ] as [(String, LaunchContract.Clock)])
  func refused(_ words: String, _ clock: LaunchContract.Clock) {
    let timeline = Timeline.scripted(.manual, time)
    let error = #expect(throws: DioramaError.self) { try timeline.change(to: clock) }
    #expect(error?.kind == .contract)
    #expect(error?.description.hasPrefix(words) == true)
    time.pass(.seconds(1))
    #expect(timeline.now == autumnMorning)
    #expect(timeline.timeZone == .gmt)
  }
}
