import DioramaTesting
import Foundation
import Testing

@Suite("Changes while an application runs")
struct EnvironmentChangesTests {
  private let morning = TestEnvironment.ClockSettings.manual(at: "2018-10-08T09:00:00Z", timeZone: "Europe/London")

  @Test("follow the test's clock moves and toggle updates, step by step")
  func session() async throws {
    let backend = try await Backend()
    let environment = try await TestEnvironment.provision(
      mode: .proxy, upstreams: ["clinic": backend.url], toggles: ["skip-onboarding": true], clock: morning)
    let app = TestApplication(executable: "clinic", in: .environment(environment))
    app.launchArguments = ["visit"]
    try await app.launch()
    try await app.wait(forOutput: "choose a PIN:")
    try await app.write("1234\n")

    // One second before the session ends, no sleeper wakes.
    #expect(try await environment.clock.advance(by: .seconds(899), afterSleepers: 1).woken == 0)
    let move = try await environment.clock.advance(by: .seconds(1))
    #expect(move.woken == 1)
    #expect(move.now.formatted(.iso8601) == "2018-10-08T09:15:00Z")
    #expect(try await environment.clock.now == move.now)
    try await app.wait(forOutput: "your session ended at 10:15\nlog in with your PIN:")
    try await app.write("1234\n")

    try await environment.update(toggles: ["never-ask-for-pin": true])
    try await environment.clock.set(to: "2018-10-08T09:30:00Z", afterSleepers: 1)
    try await app.wait(forOutput: "your session ended at 10:30\nsigned in at 10:30")

    try await environment.update(toggles: ["never-ask-for-pin": nil])
    try await environment.clock.advance(by: .seconds(900), afterSleepers: 1)
    try await app.wait(forOutput: "your session ended at 10:45\nlog in with your PIN:")
    app.closeInput()
    try await app.wait(for: .exited(0))
    await environment.end()
    await backend.app.terminate()
  }

  @Test("fail with the last output if the application does not reach its sleep")
  func sleepless() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock, clock: morning)
    let app = shell("echo busy; sleep 1000", in: .environment(environment))
    try await app.launch()
    try await app.wait(forOutput: "busy")
    let error = await #expect(throws: DioramaTestingError.self) {
      try await environment.clock.advance(by: .seconds(1), afterSleepers: 1, timeout: .milliseconds(20))
    }
    #expect(error?.kind == .timedOut)
    #expect(error?.description.contains("sh: it is running") == true)
    #expect(error?.description.contains("    busy") == true)
    await environment.end()
  }

  @Test("cannot move a system clock, or move time backward")
  func refused() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock, clock: .system)
    let error = await #expect(throws: DioramaTestingError.self) {
      try await environment.clock.advance(by: .seconds(1))
    }
    #expect(error?.kind == .usage)
    await environment.end()
    let manual = try await TestEnvironment.provision(mode: .mock, clock: morning)
    let backwards = await #expect(throws: DioramaTestingError.self) {
      try await manual.clock.advance(by: .seconds(-1))
    }
    #expect(backwards?.kind == .usage)
    let text = await #expect(throws: DioramaTestingError.self) { try await manual.clock.set(to: "noon") }
    #expect(text?.description.contains("'noon' is not an RFC 3339 instant") == true)
    await manual.end()
  }
}
