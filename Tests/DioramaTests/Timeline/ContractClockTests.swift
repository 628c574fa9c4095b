import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("An app's clock under a contract", .timeLimit(.minutes(5)))
struct ContractClockTests {
  private func clock(_ clock: LaunchContract.Clock) throws -> DioramaClock {
    let contract = LaunchContract(environment: .init(id: "", name: ""), mode: "mock", clock: clock, seed: "")
    return try AppControls(contract) { Issue.record("warned: \($0)") }.clock
  }

  @Test("stands at the start when frozen; its sleeps end by themselves")
  func frozen() async throws {
    let clock = try clock(.init(kind: .frozen, start: "2018-10-08T09:00:00.250Z"))
    let before = clock.instant
    try await clock.sleep(for: .nanoseconds(1))
    #expect(clock.instant > before)
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200.25))
  }

  @Test("runs from the start when ticking")
  func ticking() throws {
    let clock = try clock(.init(kind: .ticking, start: "2018-10-08T09:00:00Z"))
    let (first, begun) = (clock.now, clock.instant)
    while begun.duration(to: clock.instant) < .microseconds(1) {}
    #expect(clock.now > first)
    #expect(0..<60 ~= first.timeIntervalSince1970 - 1_538_989_200)
  }

  // An hour that took an hour would run into the limit.
  @Test("makes a sleep shorter when it runs faster")
  func scaled() async throws {
    let clock = try clock(.init(kind: .scaled, start: "2018-10-08T09:00:00Z", rate: 1_000_000))
    let first = clock.now
    try await clock.sleep(for: .seconds(3_600))
    #expect(clock.now.timeIntervalSince(first) >= 3_600)
    try await clock.sleep(until: clock.now + 3_600)
    #expect(clock.now.timeIntervalSince(first) >= 7_200)
  }

  @Test("stands until it is moved when manual")
  func manual() async throws {
    let clock = try clock(.init(kind: .manual, start: "2018-10-08T09:00:00Z"))
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200))
    let task = Task { try await clock.sleep(for: .seconds(900)) }
    try await clock.waitForSleepers(1)
    #expect(try clock.advance(by: .seconds(900)) == 1)
    try await task.value
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_990_100))
  }

  @Test("is the machine's when system, but counts who sleeps")
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

  @Test("counts from when the environment was provisioned, not from the app's own start")
  func provisioned() throws {
    let clock = try clock(
      .init(
        kind: .ticking, start: "2018-10-08T09:00:00Z",
        provisioned: RFC3339.format(Date(timeIntervalSinceNow: -3_600))))
    #expect(3_599..<3_660 ~= clock.now.timeIntervalSince1970 - 1_538_989_200)
    #expect(clock.uptime >= .seconds(3_599))
  }

  @Test("has the contract's zone, locale and a calendar of both")
  func zone() throws {
    let clock = try clock(
      .init(kind: .frozen, start: "2018-10-08T23:30:00Z", timeZone: "Europe/London", locale: "en_GB"))
    #expect(clock.timeZone.identifier == "Europe/London")
    #expect(clock.locale.identifier == "en_GB")
    let parts = clock.calendar.dateComponents([.day, .hour], from: clock.now)
    #expect(parts.day == 9 && parts.hour == 0)
  }

  @Test("refuses a zone that the machine does not know")
  func unknownZone() {
    let error = #expect(throws: DioramaError.self) {
      try clock(.init(kind: .frozen, start: "2018-10-08T23:30:00Z", timeZone: "Europe/Atlantis"))
    }
    #expect(error?.kind == .contract)
    #expect(error?.description.hasPrefix("launch contract: clock.timeZone: 'Europe/Atlantis'") == true)
  }

  @Test("refuses a start that is none", arguments: [nil, "yesterday"])
  func start(_ text: String?) {
    let error = #expect(throws: DioramaError.self) { try clock(.init(kind: .manual, start: text)) }
    #expect(error?.description.hasPrefix("launch contract: clock.start: '\(text ?? "")' is not an instant") == true)
  }
}
