import Basics
import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import PortLeases
import TestSupport
import Testing

@testable import Daemon

/// Compares the documented statuses with a real manager's answers, in both directions.
@Suite("Documented statuses", .timeLimit(.minutes(2)))
struct AnsweredStatusTests {
  // MARK: Every status that can occur is documented

  private static let stores: [DaemonError] =
    [CodedError.Kind.noUpstream, .broken, .cannotWrite, .unanswered, .inputOutput].map {
      DaemonError(ofStore: CodedError($0, "a test"))
    }
  private static let changes = [CodedError.Kind.usage, .cannotWrite, .unanswered].map {
    DaemonError(ofChange: CodedError($0, "a test"))
  }
  private static func ports(_ kinds: [PortError.Kind]) -> [DaemonError] {
    kinds.map { DaemonError(PortError($0, "a test")) }
  }

  /// The errors that each operation can throw.
  private static let causes: [String: [DaemonError]] = [
    "provisionEnvironment": CodedError.Kind.allCases.map { DaemonError(CodedError($0, "a test")) }
      + ports(PortError.Kind.allCases.filter { $0 != .notLeased }) + stores + [
        DaemonError(422, "Invalid launch contract", "a test")
      ],
    "patchEnvironment": changes, "moveClock": changes,
    "leasePorts": ports(PortError.Kind.allCases.filter { $0 != .notLeased }),
    "releasePort": ports([.notLeased, .notRecorded]),
  ]

  @Test("include all errors of environments, the port pool and the store")
  func causes() throws {
    for (operation, errors) in Self.causes {
      let documented = try #require(RouteTable.statuses[operation])
      for error in errors { #expect(documented.contains(error.status), "\(operation): \(error.status) \(error.title)") }
    }
  }

  @Test("report an undocumented status in the log")
  func guarded() async throws {
    let operations = FakeOperations(failure: DaemonError(418, "A test", "a test"))
    let told = Guarded<[String]>([])
    let server = ControlServer(operations, token: Secret("t"), version: "1") { line in
      told.withLock { $0.append(line) }
    }
    let handler = server.handler(.loopback(port: 1))
    func ask(_ target: String) async throws -> Int {
      try await handler.respond(
        to: Request(method: "GET", target: target, headers: ["Host": "127.0.0.1:1", "Authorization": "Bearer t"])
      ).status
    }
    #expect(try await ask("/v1/environments") == 200)
    #expect(try await ask("/nowhere") == 404)
    #expect(told.withLock { $0 } == [])
    #expect(try await ask("/v1/environments/e1") == 418)
    #expect(told.withLock { $0 } == ["showEnvironment answered 418, which /openapi.json does not list"])
  }

  // MARK: Every documented status can occur

  /// A manager behind a control server, called without a socket.
  private final class Asked: Sendable {
    let store = RefusingStore()
    let test: TestManager
    let told = Guarded<[String]>([])
    /// The folder of the tokens.
    let tokens: String
    private let handler: ControlHandler
    private let check: DocumentCheck

    init() throws {
      test = try TestManager(store: store, hasPools: true) {
        $0.limits.environments = 3
        $0.limits.waits = 1
        $0.limits.leases = 20
      }
      let told = told
      tokens = test.folder.path + "/tokens"
      try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: false)
      let server = ControlServer(
        test.manager, token: Secret("t"), version: "1", tokens: try TokenBook(folder: tokens), fleet: test.fleet
      ) { line in
        told.withLock { $0.append(line) }
      }
      test.manager.startFleet()
      handler = server.handler(.loopback(port: 1))
      check = DocumentCheck(
        document: try JSON.parse(Array(JSON.encode(OpenAPI.document(version: "1", bodyLimit: 1 << 20)))))
    }

    /// - Returns: the status and the JSON body.
    @discardableResult
    func call(
      _ method: String, _ target: String, _ body: String? = nil, headers: Headers = [:]
    ) async throws -> (status: Int, json: JSON) {
      var fields: Headers = ["Host": "127.0.0.1:1", "Authorization": "Bearer t"]
      for field in headers.fields { fields.append(field.name, field.value) }
      if body != nil { fields.append("Content-Type", "application/json") }
      let response = try await handler.respond(
        to: Request(method: method, target: target, headers: fields, body: .bytes(Array((body ?? "").utf8))))
      let json = (try? JSON.parse(try await response.body.collect(upTo: 1 << 24))) ?? .null
      let path = String(target.prefix { $0 != "?" })
      if case .found(let route, _) = RouteTable.match(method: method, path: path) {
        #expect(
          check.problems(
            method: method, template: route.path.text, status: response.status, type: response.headers["Content-Type"],
            body: json) == [], "\(method) \(target)")
      }
      return (response.status, json)
    }

    func provision(_ body: String = #"{"mode": "mock"}"#) async throws -> String {
      try #require(try await call("POST", "/v1/environments", body).json["id"]?.string)
    }
  }

  /// The statuses that every such route has.
  private static func general(_ route: Route) -> Set<Int> {
    var plain = route
    plain.problems = [:]
    return plain.statuses
  }

  /// The operation-specific statuses that each operation was made to answer.
  private static func provoked() async throws -> [String: Set<Int>] {
    let asked = try Asked()
    var found: [String: Set<Int>] = [:]
    func note(_ operation: String, _ answer: (status: Int, json: JSON)) {
      found[operation, default: []].insert(answer.status)
    }
    let ended = try await asked.provision()
    try await asked.call("DELETE", "/v1/environments/\(ended)")
    let live = try await asked.provision()
    let root = "/v1/environments"

    for id in ["unknown", ended] {
      note("showEnvironment", try await asked.call("GET", "\(root)/\(id)"))
      note("patchEnvironment", try await asked.call("PATCH", "\(root)/\(id)", "{}"))
      note("moveClock", try await asked.call("POST", "\(root)/\(id)/clock", #"{"advance": 1}"#))
      note("drawString", try await asked.call("POST", "\(root)/\(id)/strings", #"{"key": "k"}"#))
      note("readJournal", try await asked.call("GET", "\(root)/\(id)/journal"))
      note("readReport", try await asked.call("GET", "\(root)/\(id)/report"))
      note("endEnvironment", try await asked.call("DELETE", "\(root)/\(id)"))
    }
    // The only allowed waiting call is in use.
    do {
      let follower = try asked.test.manager.followJournal(live)
      note(
        "readJournal",
        try await asked.call("GET", "\(root)/\(live)/journal", headers: ["Accept": "text/event-stream"]))
      note("patchEnvironment", try await asked.call("PATCH", "\(root)/\(live)", "{}"))
      note("moveClock", try await asked.call("POST", "\(root)/\(live)/clock", #"{"advance": 1}"#))
      note("leaseResources", try await asked.call("POST", "/v1/leases", #"{"resources": {"a": "none"}}"#))
      withExtendedLifetime(follower) {}
    }
    note("patchEnvironment", try await asked.call("PATCH", "\(root)/\(live)", #"{"mode": "replay"}"#))
    note("moveClock", try await asked.call("POST", "\(root)/\(live)/clock", #"{"advance": 1, "timeoutSeconds": 999}"#))
    note(
      "moveClock",
      try await asked.call("POST", "\(root)/\(live)/clock", #"{"advance": 1, "sleepers": 1, "timeoutSeconds": 0}"#))
    note(
      "drawString",
      try await asked.call("POST", "\(root)/\(live)/strings", #"{"key": "k", "ordinal": 0, "status": "missing"}"#))
    try await follow(live, asked)
    note(
      "patchEnvironment",
      try await asked.call("PATCH", "\(root)/\(live)", #"{"toggles": {"a": 1}, "timeoutSeconds": 0}"#))

    try await provokePools(asked, note)

    let cassette = asked.test.folder.path + "/cassette"
    let recording = #"{"mode": "record", "cassette": "\#(cassette)", "upstreams": {"a": "https://a.example"}}"#
    note("provisionEnvironment", try await asked.call("POST", root, #"{"mode": "replay", "cassette": "/nowhere/a"}"#))
    _ = try await asked.provision(recording)
    note("provisionEnvironment", try await asked.call("POST", root, recording))
    _ = try await asked.provision()
    note("provisionEnvironment", try await asked.call("POST", root, "{}"))

    let mine = try #require(try await asked.call("POST", "/v1/ports", "{}").json["ports"]?.array?.first?["port"]?.int)
    let theirs = try #require(try await asked.call("GET", "\(root)/\(live)").json["port"]?.int)
    note("leasePorts", try await asked.call("POST", "/v1/ports", #"{"count": 21}"#))
    note("leasePorts", try await asked.call("POST", "/v1/ports", #"{"count": 2, "names": ["a"]}"#))
    note("leasePorts", try await asked.call("POST", "/v1/ports", #"{"count": 18}"#))
    note("releasePort", try await asked.call("DELETE", "/v1/ports/1"))
    note("releasePort", try await asked.call("DELETE", "/v1/ports/\(theirs)"))

    try await asked.call("POST", "/v1/tokens", #"{"name": "a"}"#)
    note("createToken", try await asked.call("POST", "/v1/tokens", #"{"name": "a"}"#))
    note("revokeToken", try await asked.call("DELETE", "/v1/tokens/b"))
    // The tokens can't be stored any more.
    try FileManager.default.removeItem(atPath: asked.tokens)
    note("createToken", try await asked.call("POST", "/v1/tokens", #"{"name": "b"}"#))
    note("revokeToken", try await asked.call("DELETE", "/v1/tokens/a"))

    let other = try await asked.call("GET", root).json["environments"]?.array?.last?["id"]?.string ?? ""
    try await asked.call("DELETE", "\(root)/\(other)")
    asked.store.leaveRoom(for: 0)
    note("provisionEnvironment", try await asked.call("POST", root, #"{"mode": "mock"}"#))
    note("patchEnvironment", try await asked.call("PATCH", "\(root)/\(live)", #"{"toggles": {"a": 2}}"#))
    note("moveClock", try await asked.call("POST", "\(root)/\(live)/clock", #"{"advance": 1}"#))
    note("drawString", try await asked.call("POST", "\(root)/\(live)/strings", #"{"key": "k"}"#))
    note("leasePorts", try await asked.call("POST", "/v1/ports", "{}"))
    note("releasePort", try await asked.call("DELETE", "/v1/ports/\(mine)"))
    asked.store.leaveRoom(for: .max)
    #expect(asked.told.withLock { $0 } == [])
    await asked.test.stop()
    return found
  }

  private static func provokePools(_ asked: Asked, _ note: (String, (status: Int, json: JSON)) -> Void) async throws {
    let pool = #"{"name": "a"}"#
    try await asked.call("POST", "/v1/pools", pool)
    note("createPool", try await asked.call("POST", "/v1/pools", pool))
    let resources = #"{"resources": [{"name": "one", "attributes": {"plan": "free"}, "secrets": {"pin": "1"}}]}"#
    try await asked.call("POST", "/v1/pools/a/resources", resources)
    note("importResources", try await asked.call("POST", "/v1/pools/b/resources", resources))
    note(
      "importResources",
      try await asked.call(
        "POST", "/v1/pools/a/resources", #"{"resources": [{"name": "two", "attributes": {"name": "x"}}]}"#))
    try await asked.call("GET", "/v1/pools")
    try await asked.call("GET", "/v1/pools/a/resources")
    note("listResources", try await asked.call("GET", "/v1/pools/b/resources"))
    note("changeResource", try await asked.call("PATCH", "/v1/pools/a/resources/two", #"{"retired": true}"#))
    note("removePool", try await asked.call("DELETE", "/v1/pools/b"))
    note("leaseResources", try await asked.call("POST", "/v1/leases", #"{"resources": {"a": "b"}}"#))
    note(
      "leaseResources",
      try await asked.call("POST", "/v1/leases", #"{"resources": {"a": "a"}, "waitSeconds": 86400}"#))
    note("leaseResources", try await asked.call("POST", "/v1/leases", #"{"resources": {}}"#))
    let environment = try await asked.provision(
      #"{"mode": "proxy", "upstreams": {"a": "https://a.example"}, "resources": {"x": {"pool": "a"}}}"#)
    note(
      "leaseResources", try await asked.call("POST", "/v1/leases", #"{"resources": {"a": "a"}, "waitSeconds": 0.01}"#))
    try await asked.call("GET", "/v1/leases")
    note("removePool", try await asked.call("DELETE", "/v1/pools/a"))
    note("endLease", try await asked.call("DELETE", "/v1/leases/\(environment)"))
    try await asked.call("DELETE", "/v1/environments/\(environment)")
    let lease = try await asked.call("POST", "/v1/leases", #"{"resources": {"a": "a"}}"#).json["id"]?.string ?? ""
    try await asked.call("DELETE", "/v1/leases/\(lease)")
    note("endLease", try await asked.call("DELETE", "/v1/leases/\(lease)"))
    note("showRun", try await asked.call("GET", "/v1/fleet/runs/none"))
    note("cassetteUsage", try await asked.call("GET", "/v1/fleet/usage?file=a&recordedAt=2018-10-08T09:00:00Z"))
    // What a provisioned environment leaves in the history fits the schemas.
    let runs = try await asked.call("GET", "/v1/fleet/runs?ended=true").json["runs"]?.array ?? []
    #expect(runs.contains { $0["id"]?.string == environment && $0["mode"]?.string == "proxy" })
    try await asked.call("GET", "/v1/fleet/runs/\(environment)")
    try await asked.call("GET", "/v1/fleet/runs/\(environment)/journal")
    try await asked.call("GET", "/v1/fleet/stats")
    try await asked.call("DELETE", "/v1/pools/a")
  }

  /// An app that follows the environment and never applies a change.
  private static func follow(_ id: String, _ asked: Asked) async throws {
    let token = try #require(asked.test.manager.environment(id).contract?.document?.control).token.revealed
    let port = try #require(UInt16(exactly: try asked.test.manager.environment(id).port))
    let answer = try await onThread {
      try RawClient(port: port).exchange(
        "GET /__diorama/state?after=0&follower=a HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
          + "Authorization: Bearer \(token)\r\n\r\n")
    }
    #expect(answer.status == 200)
  }

  @Test("all occur")
  func provoked() async throws {
    let found = try await Self.provoked()
    for route in RouteTable.all {
      let general = Self.general(route)
      let answered = found[route.operation, default: []].subtracting(general)
      #expect(answered == route.statuses.subtracting(general), "\(route.operation)")
    }
  }
}
