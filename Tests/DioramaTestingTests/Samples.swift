import DioramaTesting
import Foundation
import Testing
import XCTest

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests whose outcome is observed from outside; see ``NestedRun``.
@Suite("Samples", .enabled(if: NestedRun.isInside))
struct Samples {
  static let missingLine = #line + 1
  @Test("sends a request that is not recorded", .environment(.replay, cassette: NestedRun.value("CASSETTE")))
  func missing() async throws {
    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["book"]
    try await app.launch()
    try await app.wait(for: .notRunning)
  }

  @Test("launches an application that crashes", .environment(.mock))
  func crashing() async throws {
    let app = shell("echo last output; kill -s ABRT $$", in: .current)
    try await app.launch()
    try await app.wait(forOutput: "last output")
    while app.state == .running { await Task.yield() }
  }

  @Test("draws a random value in each run", .environment(.mock), .verified(runs: 3))
  func unequal() async throws {
    let app = shell("echo id $1", UUID().uuidString, in: .current)
    try await app.launch()
    try await app.wait(for: .exited(0))
  }

  @Test(
    "sends another request in each run",
    .environment(.replay, upstreams: ["clinic": "https://clinic.example"], cassette: NestedRun.value("CASSETTE")),
    .verified(runs: 2))
  func unequalRequests() async throws {
    let url = try TestEnvironment.current.endpoint("clinic").appendingPathComponent("a")
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = Data("{\"id\": \"\(UUID())\"}".utf8)
    _ = try await URLSession.shared.data(for: request)
  }

  @Test("fails in the same way in each run", .environment(.mock), .verified(runs: 4))
  func failing() {
    print("run of the test")
    Issue.record("always")
  }

  @Test("ends its environment", .environment(.mock), .verified(runs: 2))
  func ending() async throws { await (try TestEnvironment.current).end() }

  @Test("is verified without an environment", .verified())
  func withoutEnvironment() {}

  @Test("is verified too often", .environment(.mock), .verified(runs: 1000))
  func tooOften() {}

  @Test("waits for missing output", .environment(.mock))
  func hanging() async throws {
    let app = shell("echo loading; sleep 1000", in: .current)
    try await app.launch()
    try await app.wait(forOutput: "loading")
    try await app.wait(forOutput: "done", timeout: .milliseconds(10))
  }

  @Test(
    "is killed while its application is running",
    .environment(.mock, credentials: [.init(service: "s", account: "a", secret: "x")]))
  func killed() async throws {
    let app = shell("echo $$ ${DIORAMA_CONTRACT#file:}; sleep 1000", in: .current)
    try await app.launch()
    print("application \(try await app.wait(forOutput: /.*\n/))", terminator: "")
    fflush(nil)
    try await app.wait(for: .exited(0), timeout: .seconds(600))
  }

  @Test(
    "is recorded or replayed",
    .environment(.replay, upstreams: ["clinic": NestedRun.value("URL")], cassette: NestedRun.value("CASSETTE")))
  func booking() async throws { _ = try await book() }

  @Test(
    "is recorded once",
    .environment(upstreams: ["clinic": NestedRun.value("URL")], cassette: NestedRun.value("CASSETTE")))
  func once() async throws { _ = try await book() }

  @Test("does not end its environment")
  func unended() async throws {
    _ = try await TestEnvironment.provision(mode: .mock)
  }
}

/// Tests whose outcome is observed from outside; see ``NestedRun``.
final class XCTestSamples: XCTestCase {
  static let line = #line + 4

  override func setUp() async throws {
    try XCTSkipUnless(NestedRun.isInside)
    _ = try await TestEnvironment.provision(for: self, mode: .replay, cassette: NestedRun.value("CASSETTE"))
  }

  func testMissing() async throws {
    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["book"]
    try await app.launch()
    try await app.wait(for: .notRunning)
  }
}
