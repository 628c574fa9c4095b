import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport

@testable import Daemon

/// A control server with a real listener on 127.0.0.1.
struct RunningControlServer: Sendable {
  static let token = "0123456789abcdef0123456789abcdef"

  let port: UInt16
  let server: ControlServer
  let operations: FakeOperations

  /// A request as text. Pass nil to omit a header; by default, each has a valid value.
  func request(
    _ method: String, _ target: String, host: String?? = .none, authorization: String?? = .none,
    headers: [String] = [], body: String? = nil, type: String? = "application/json"
  ) -> String {
    var lines = ["\(method) \(target) HTTP/1.1"]
    if let host = host ?? "127.0.0.1:\(port)" { lines.append("Host: \(host)") }
    if let value = authorization ?? "Bearer \(Self.token)" { lines.append("Authorization: \(value)") }
    lines += headers
    if let body {
      if let type { lines.append("Content-Type: \(type)") }
      lines.append("Content-Length: \(body.utf8.count)")
    }
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
  }

  func send(_ request: String) async throws -> RawClient.Answer {
    let port = port
    return try await onThread { try RawClient(port: port).exchange(request) }
  }

  func call(
    _ method: String, _ target: String, headers: [String] = [], body: String? = nil, type: String? = "application/json"
  ) async throws -> RawClient.Answer {
    try await send(request(method, target, headers: headers, body: body, type: type))
  }
}

/// Serves the control API while `body` runs.
func withControlServer<Value: Sendable>(
  _ operations: FakeOperations = FakeOperations(), keepAlive: Duration = .seconds(15),
  hasPools: Bool = false, _ body: (RunningControlServer) async throws -> Value
) async throws -> Value {
  let server = try HTTPServer()
  let folder = try ScratchFolder()
  defer { withExtendedLifetime(folder) {} }
  let fleet =
    hasPools
    ? try FleetService(
      DaemonConfiguration(), files: ControlFiles(folder: folder.path), version: "1", variables: [:],
      log: Log(level: .critical)) : nil
  fleet?.start(environments: []) { _ in }
  let control = ControlServer(
    operations, token: Secret(RunningControlServer.token), version: "1.2.3", bodyLimit: 1 << 20, keepAlive: keepAlive,
    tokens: try TokenBook(folder: folder.path), fleet: fleet)
  let reserved = try server.reserve()
  try reserved.serve(handler: control.handler(.loopback(port: reserved.port)))
  let served = RunningControlServer(port: reserved.port, server: control, operations: operations)
  do {
    let value = try await body(served)
    control.close()
    await fleet?.stop()
    await server.stop(grace: .seconds(2))
    return value
  } catch {
    control.close()
    await fleet?.stop()
    await server.stop(grace: .zero)
    throw error
  }
}

extension RawClient.Answer {
  var json: JSON { (try? JSON.parse(body)) ?? .null }
  /// The detail of a problem document; empty for other bodies.
  var detail: String {
    headers["Content-Type"] == "application/problem+json" ? json["detail"]?.string ?? "" : ""
  }
}

/// Fake operations with one environment, `e1`, or with a given failure.
final class FakeOperations: ControlOperations {
  struct State: Sendable {
    var failure: DaemonError?
    var entries: [JournalPage.Entry] = []
    /// Whether the environment has ended.
    var isOver = false
    var provisioned: [ProvisioningRequest] = []
    /// Called while resources are leased.
    var whileLeasing: (@Sendable () -> Void)?
    /// The clients on other machines whose environments and leases were ended.
    var ended: [String] = []
  }

  let state: Guarded<State>

  init(failure: DaemonError? = nil) { state = Guarded(State(failure: failure)) }

  static let time = "2026-01-02T03:04:05Z"

  static func entry(_ number: Int) -> JournalPage.Entry {
    .init(
      number: number, time: time, kind: "replayed", method: "GET", url: "https://dev.api1.com/slots?\(number)",
      status: 200, interaction: 0, detail: nil)
  }

  static var environment: ProvisionedEnvironment {
    ProvisionedEnvironment(
      id: "e1", name: "Booking", state: "ready", mode: "mock", cassette: nil, port: 20_001,
      endpoints: ["api": "http://127.0.0.1:20002"], ports: ["debug": 20_003], owner: Owner(pid: 77), createdAt: time,
      endsAt: nil, notes: ["a note"], contract: nil)
  }

  static var withContract: ProvisionedEnvironment {
    var environment = environment
    var document = LaunchContract(
      environment: .init(id: "e1", name: "Booking"), mode: "mock", clock: .init(kind: .frozen, start: time), seed: "s")
    document.toggles = ["on": .bool(true)]
    document.control = .init(url: "http://127.0.0.1:20001/__diorama", token: "t", revision: 0)
    environment.contract = .init(
      arguments: ["-on", "true"], environment: ["DIORAMA_CONTRACT": "{}"], document: document)
    return environment
  }

  static let report = Data(
    #"""
    {"environment": {"id": "e1", "name": "Booking"}, "mode": "mock", "clock": {"kind": "frozen", "now": "2026-01-02T03:04:05Z"},
     "requests": {"total": 1, "replayed": 0, "recorded": 0, "forwarded": 0, "mocked": 0, "unmatched": 1, "failed": 0},
     "unmatched": [{"method": "GET", "url": "u", "nearest": [{"index": 0, "method": "GET", "url": "v", "differences": ["path"]}]}],
     "unused": [{"method": "GET", "url": "v", "index": 0}],
     "strings": {"read": 0, "recorded": 0, "missing": [{"key": "k", "ordinal": 0}], "unused": []},
     "toggles": {"read": {"on": true}, "unread": []}, "durationSeconds": 0.5, "failures": [],
     "recording": {"outcome": "written", "interactions": 2}, "advice": "record again", "ok": false}
    """#.utf8)

  private func check(_ id: String = "e1") throws(DaemonError) {
    let (failure, isOver) = state.withLock { ($0.failure, $0.isOver) }
    if let failure { throw failure }
    if id != "e1" { throw DaemonError(404, "Environment not found", "no environment '\(id)'") }
    if isOver { throw DaemonError(410, "Environment has ended", "provision another one") }
  }

  private func reported() throws(DaemonError) -> Report {
    do {
      return try JSONDecoder().decode(Report.self, from: Self.report)
    } catch {
      throw DaemonError(500, "Invalid test data", "\(error)")
    }
  }

  func provision(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment {
    try check()
    state.withLock { $0.provisioned.append(request) }
    return Self.withContract
  }

  func environments() -> EnvironmentList { EnvironmentList(environments: [Self.environment]) }

  func environment(_ id: String) throws(DaemonError) -> ProvisionedEnvironment {
    try check(id)
    return Self.withContract
  }

  func patch(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonError) -> Revision {
    try check(id)
    return Revision(revision: 1)
  }

  func moveClock(_ id: String, _ request: ClockMoveRequest) async throws(DaemonError) -> ClockMoveAnswer {
    try check(id)
    return ClockMoveAnswer(now: Self.time, revision: 1, woken: 0)
  }

  func strings(_ id: String, body: [UInt8]) async throws(DaemonError) -> Response {
    try check(id)
    return Response(
      status: 200, headers: ["Content-Type": "application/json"],
      body: .bytes(Array(#"{"ordinal":0,"value":"x"}"#.utf8)))
  }

  func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage {
    try check(id)
    return page(after: after, limit: limit)
  }

  private func page(after: Int, limit: Int) -> JournalPage {
    let left = state.withLock { $0.entries }.filter { $0.number > after }
    let entries = Array(left.prefix(limit))
    return JournalPage(entries: entries, last: entries.last?.number ?? after, more: left.count > limit)
  }

  func followJournal(_ id: String) throws(DaemonError) -> JournalFollower {
    try check(id)
    return JournalFollower { [self] after, limit, timeout in
      let deadline = ContinuousClock.now + timeout
      while true {
        let isOver = state.withLock { $0.isOver }
        let page = page(after: after, limit: limit)
        if !page.entries.isEmpty { return page }
        if isOver { return nil }
        if ContinuousClock.now >= deadline { return page }
        try await Task.sleep(for: .milliseconds(5))
      }
    }
  }

  func report(_ id: String) throws(DaemonError) -> Report {
    try check(id)
    return try reported()
  }

  func end(_ id: String, hasSucceeded: Bool, expectsRequests: Bool) async throws(DaemonError) -> Report {
    try check(id)
    state.withLock { $0.isOver = true }
    return try reported()
  }

  func leasePorts(_ request: PortsRequest) async throws(DaemonError) -> PortList {
    try check()
    return PortList(ports: [.init(port: 20_005, name: request.names?.first)])
  }

  func ports() -> PortList {
    PortList(ports: [
      .init(
        port: 20_005, name: "debug", owner: Owner(pid: 77), since: Self.time, endsAt: Self.time, environment: "e1",
        hold: true)
    ])
  }

  func releasePort(_ port: UInt16) async throws(DaemonError) {
    try check()
    guard port == 20_005 else { throw DaemonError(404, "Port not leased", "\(port) is free") }
  }

  static let resourceLease = ResourceLease(
    id: "l1", state: "held", host: "ci-1", owner: Owner(pid: 77), since: time, endsAt: time, waitedSeconds: 0.5,
    resources: [
      "patient": LeasedResource(
        pool: "patients", name: "anna", attributes: ["plan": "premium"], secrets: ["password": "p"], fence: 3)
    ])

  func lease(_ request: LeaseRequest) async throws -> ResourceLease {
    try check()
    state.withLock { $0.whileLeasing }?()
    return Self.resourceLease
  }

  func leases() async throws -> LeaseList {
    LeaseList(leases: [Self.resourceLease], store: StoreStatus(name: "a", away: "b", held: 1, waiting: 0))
  }

  func endLease(_ id: String) async throws {
    try check()
    guard id == "l1" else { throw DaemonError.noLease(id) }
  }

  func counters() -> EnvironmentCounters {
    var counters = EnvironmentCounters()
    counters.ready = 1
    counters.ended = ["request": 2]
    return counters
  }

  func serving(_ client: String) -> any ControlOperations { self }

  func endAll(of client: String) async { state.withLock { $0.ended.append(client) } }
}

/// Polls a condition that no callback reports.
func until(_ condition: () -> Bool) async throws {
  while !condition() {
    try Task.checkCancellation()
    try await Task.sleep(for: .milliseconds(2))
  }
}
