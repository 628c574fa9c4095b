import Basics
import DioramaTesting
import Foundation
import LaunchContract
import TestSupport
import Testing

@Suite("Environment in a daemon")
struct DaemonBackendTests {
  @Test(
    "passes the same tests as an environment in the test process",
    arguments: [
      "TraitTests", "RecordingTests", "EnvironmentChangesTests", "CredentialTests", "XCTestCaseTests", "StubbingTests",
      "OtherActorTests",
      "SetupClientTests",
    ])
  func suites(_ suite: String) async throws {
    let daemon = try await RunningDaemon()
    let (text, passed) = try await NestedRun.run(suite, variables: ["DIORAMA_DAEMON": daemon.folder])
    #expect(passed, "\(text)")
    // A filter without matches passes as well.
    #expect(text.contains(/(?:with|Executed) [1-9][0-9]* tests?/), "\(text)")
    #expect(try await daemon.diorama("env", "list") == "no environments\n")
    #expect(try await daemon.diorama("port", "list") == "no leased ports\n")
  }

  @Test("lives while its test runs, and belongs to the test's process")
  func listed() async throws {
    let daemon = try await RunningDaemon()
    let environment = try await TestEnvironment.provision(
      case: "a", mode: .mock, upstreams: ["api": "https://a.example"], ports: ["debug"], host: daemon.host)
    let list = try await daemon.diorama("env", "list")
    #expect(list.contains(environment.name))
    #expect(list.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    let ports = try await daemon.diorama("port", "list")
    #expect(try ports.contains("\(environment.port("debug"))"))
    await environment.end()
    #expect(try await daemon.diorama("env", "list") == "no environments\n")
  }

  @Test("includes changes by other processes when a program is launched")
  func changedByOthers() async throws {
    let daemon = try await RunningDaemon()
    let environment = try await TestEnvironment.provision(
      mode: .mock, toggles: ["a": 1], clock: .manual(at: "2018-10-08T09:00:00Z"), host: daemon.host)
    let id = try environment.launchEnvironment()["DIORAMA_ENVIRONMENT"] ?? ""
    _ = try await daemon.diorama("env", "update", id, "--toggle", "a=2")
    let moved = try await daemon.diorama("env", "update", id, "--advance", "900")
    #expect(moved == "2018-10-08T09:15:00Z, 0 sleepers woken\n")
    let contract = try await contract(of: .environment(environment))
    #expect(contract.toggles == ["a": .int(2)])
    #expect(contract.clock.start == "2018-10-08T09:15:00Z")
    await environment.end()
  }

  @Test("shows the time after moves by other processes")
  func movedByOthers() async throws {
    let daemon = try await RunningDaemon()
    let environment = try await TestEnvironment.provision(
      mode: .mock, clock: .manual(at: "2018-10-08T09:00:00Z"), host: daemon.host)
    #expect(try await environment.clock.now.formatted(.iso8601) == "2018-10-08T09:00:00Z")
    let id = try environment.launchEnvironment()["DIORAMA_ENVIRONMENT"] ?? ""
    _ = try await daemon.diorama("env", "update", id, "--advance", "900")
    #expect(try await environment.clock.now.formatted(.iso8601) == "2018-10-08T09:15:00Z")
    await environment.end()
    await #expect(throws: DioramaTestingError.self) { try await environment.clock.now }
  }

  @Test("ends with a killed test process")
  func killed() async throws {
    let daemon = try await RunningDaemon()
    let run = try await NestedRun.start("Samples/killed", variables: ["DIORAMA_DAEMON": daemon.folder])
    try await run.wait(forOutput: /application .*\n/)
    #expect(try await daemon.diorama("env", "list").contains("is killed while its application is running"))
    kill(try #require(run.processIdentifier), SIGKILL)
    try await run.wait(for: .killed(signal: SIGKILL))
    // The daemon checks its owners periodically, without a notification.
    let patience = ContinuousClock.now + .seconds(60)
    while try await daemon.diorama("env", "list") != "no environments\n", ContinuousClock.now < patience {
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(try await daemon.diorama("env", "list") == "no environments\n")
  }

  @Test("fails its test with instructions if its daemon is gone")
  func dead() async throws {
    let daemon = try await RunningDaemon()
    let environment = try await TestEnvironment.provision(mode: .mock, host: daemon.host)
    kill(daemon.pid, SIGKILL)
    await withKnownIssue {
      await environment.end()
    } matching: { issue in
      let text = issue.comments.map(\.rawValue).joined()
      return text.contains("no report of the environment of ") && text.contains(": the daemon of \(daemon.folder)")
        && text.contains("diorama serve --state")
    }
  }

  @Test("fails its test with the same message")
  func sameWords() async throws {
    let daemon = try await RunningDaemon()
    let (text, passed) = try await NestedRun.run(
      "Samples/missing", values: ["CASSETTE": "/nowhere/empty"], variables: ["DIORAMA_DAEMON": daemon.folder])
    #expect(!passed)
    #expect(
      text.contains(
        "there is no cassette /nowhere/empty.har; record it with DIORAMA_MODE=record swift test --filter "
          + "'DioramaTestingTests.Samples/missing'"), "\(text)")
  }
}
