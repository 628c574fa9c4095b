import Basics
import Diorama
@testable import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Clock under a contract", .timeLimit(.minutes(5)))
struct ContractClockTests {
  private func clock(_ clock: LaunchContract.Clock) throws -> DioramaClock {
    let contract = LaunchContract(environment: .init(id: "", name: ""), mode: "mock", clock: clock, seed: "")
    return try AppControls(contract) { Issue.record("warned: \($0)") }.clock
  }

  @Test("stands still at the start if frozen, while sleeps take real time")
  func frozen() async throws {
    let clock = try clock(.init(kind: .frozen, start: "2018-10-08T09:00:00.250Z"))
    let before = clock.instant
    try await clock.sleep(for: .nanoseconds(1))
    #expect(clock.instant > before)
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200.25))
  }

  @Test("runs from the start if ticking")
  func ticking() throws {
    let clock = try clock(.init(kind: .ticking, start: "2018-10-08T09:00:00Z"))
    let (first, begun) = (clock.now, clock.instant)
    while begun.duration(to: clock.instant) < .microseconds(1) {}
    #expect(clock.now > first)
    #expect(0..<60 ~= first.timeIntervalSince1970 - 1_538_989_200)
  }

  // A real hour would exceed the time limit.
  @Test("makes sleeps shorter if it runs faster")
  func scaled() async throws {
    let clock = try clock(.init(kind: .scaled, start: "2018-10-08T09:00:00Z", rate: 1_000_000))
    let first = clock.now
    try await clock.sleep(for: .seconds(3_600))
    #expect(clock.now.timeIntervalSince(first) >= 3_600)
    try await clock.sleep(until: clock.now + 3_600)
    #expect(clock.now.timeIntervalSince(first) >= 7_200)
  }

  @Test("stands still until it is moved if manual")
  func manual() async throws {
    let clock = try clock(.init(kind: .manual, start: "2018-10-08T09:00:00Z"))
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200))
    let task = Task { try await clock.sleep(for: .seconds(900)) }
    try await clock.waitForSleepers(1)
    #expect(try clock.advance(by: .seconds(900)) == 1)
    try await task.value
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_990_100))
  }

  @Test("shows the machine's time if system, and counts sleepers")
  func system() async throws {
    let clock = try clock(.init(kind: .system))
    let before = Date()
    let now = clock.now
    #expect((before...Date()).contains(now))
    let task = Task { try await clock.sleep(for: .seconds(3_600)) }
    try await clock.waitForSleepers(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("counts from the provisioning of the environment, not from the app's launch")
  func provisioned() throws {
    let clock = try clock(
      .init(
        kind: .ticking, start: "2018-10-08T09:00:00Z",
        provisioned: RFC3339.format(Date(timeIntervalSinceNow: -3_600))))
    #expect(3_599..<3_660 ~= clock.now.timeIntervalSince1970 - 1_538_989_200)
    #expect(clock.uptime >= .seconds(3_599))
  }

  @Test("uses the contract's time zone and locale, also for the calendar")
  func zone() throws {
    let clock = try clock(
      .init(kind: .frozen, start: "2018-10-08T23:30:00Z", timeZone: "Europe/London", locale: "en_GB"))
    #expect(clock.timeZone.identifier == "Europe/London")
    #expect(clock.locale.identifier == "en_GB")
    let parts = clock.calendar.dateComponents([.day, .hour], from: clock.now)
    #expect(parts.day == 9 && parts.hour == 0)
  }

  @Test("rejects an unknown time zone")
  func unknownZone() {
    let error = #expect(throws: DioramaError.self) {
      try clock(.init(kind: .frozen, start: "2018-10-08T23:30:00Z", timeZone: "Europe/Atlantis"))
    }
    #expect(error?.kind == .contract)
    #expect(error?.description.hasPrefix("launch contract: clock.timeZone: 'Europe/Atlantis'") == true)
  }

  @Test("rejects a missing or invalid start", arguments: [nil, "yesterday"])
  func start(_ text: String?) {
    let error = #expect(throws: DioramaError.self) { try clock(.init(kind: .manual, start: text)) }
    #expect(error?.description.hasPrefix("launch contract: clock.start: '\(text ?? "")' is not an instant") == true)
  }
}

@Suite("Changes of a running clock")
struct ChangingTests {
  private let time = ScriptedTime()
  private let names = Collected<String>()
  private let noon = "2020-02-29T12:00:00Z"
  private var noonDate: Date { RFC3339.parse(noon) ?? .distantPast }

  @Test("sets wall time to the new start while monotonic time continues")
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

  @Test("continues from the current wall time without a start")
  func noStart() throws {
    let timeline = Timeline.scripted(.ticking, time)
    time.pass(.seconds(30))
    try timeline.change(to: .init(kind: .frozen))
    time.pass(.seconds(30))
    #expect(timeline.now == autumnMorning + 30)
  }

  @Test("agrees with an environment that changed the clock some time ago")
  func provisioned() throws {
    let timeline = Timeline.scripted(.frozen, time)
    let then = RFC3339.format(time.date - 10)
    try timeline.change(to: .init(kind: .scaled, start: noon, rate: 2, provisioned: then))
    #expect(timeline.now == noonDate + 20)
    #expect(timeline.uptime == .zero)
  }

  @Test("keeps sleepers, at the new pace")
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

  @Test("keeps the sleepers of a system clock, to be woken by a move")
  func fromSystem() throws {
    let timeline = Timeline.scripted(.system, time)
    timeline.note("a", .after(.seconds(60)), in: names)
    #expect(timeline.sleeperCount == 1)
    try timeline.change(to: .init(kind: .frozen, start: noon))
    #expect(try timeline.advance(by: .seconds(60)) == 1)
    #expect(names.values == ["a"])
  }

  @Test("replaces time zone, locale and calendar")
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
    "is rejected as a whole if a part is invalid",
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
