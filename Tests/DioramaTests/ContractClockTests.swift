import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("An app's clock under a contract")
struct ContractClockTests {
  private func clock(_ clock: LaunchContract.Clock) throws -> DioramaClock {
    let contract = LaunchContract(environment: .init(id: "", name: ""), mode: "mock", clock: clock, seed: "")
    return try AppControls(contract) { Issue.record("warned: \($0)") }.clock
  }

  @Test("stands at the start when frozen")
  func frozen() async throws {
    let clock = try clock(.init(kind: .frozen, start: "2018-10-08T09:00:00.250Z"))
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200.25))
    try await clock.sleep(for: .milliseconds(5))
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200.25))
    #expect(clock.uptime >= .milliseconds(5))
  }

  @Test("runs from the start when ticking")
  func ticking() async throws {
    let clock = try clock(.init(kind: .ticking, start: "2018-10-08T09:00:00Z"))
    let first = clock.now
    try await clock.sleep(for: .milliseconds(5))
    #expect(clock.now.timeIntervalSince(first) >= 0.005)
    #expect(first.timeIntervalSince1970 >= 1_538_989_200)
  }

  // An hour that took an hour would run into the limit.
  @Test("makes a sleep shorter when it runs faster", .timeLimit(.minutes(5)))
  func scaled() async throws {
    let clock = try clock(.init(kind: .scaled, start: "2018-10-08T09:00:00Z", rate: 100_000))
    let first = clock.now
    try await clock.sleep(for: .seconds(3_600))
    #expect(clock.now.timeIntervalSince(first) >= 3_600)
  }

  @Test("refuses a sleep that nothing could end")
  func manual() async throws {
    let clock = try clock(.init(kind: .manual, start: "2018-10-08T09:00:00Z"))
    #expect(clock.now == Date(timeIntervalSince1970: 1_538_989_200))
    let error = await #expect(throws: DioramaError.self) { try await clock.sleep(for: .seconds(1)) }
    #expect(error?.kind == .clock)
  }

  @Test("ends a sleep when its task is cancelled")
  func cancelled() async throws {
    let clock = try clock(.init(kind: .frozen, start: "2018-10-08T09:00:00Z"))
    let task = Task { try await clock.sleep(for: .seconds(3_600)) }
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
    #expect(error?.description.contains("clock.timeZone: 'Europe/Atlantis'") == true)
  }
}
