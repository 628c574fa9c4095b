import Basics
package import ControlAPI
import Foundation
import LaunchContract
import LocalHTTP

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A client for a daemon's control API.
///
/// It connects through the daemon's Unix socket, or through its loopback port if the socket's path is too long for the
/// system. It finds a restarted daemon again.
///
/// ```swift
/// let client = try await DaemonClient.connect(to: .standard(variables: ProcessInfo.processInfo.environment))
/// let environment = try await client.provision(request)
/// ```
package final class DaemonClient: Sendable {
  /// How to reach the daemon.
  private struct Link: Sendable {
    var control: ControlFile
    var address: LocalSocket.Address
    /// The host and port of the daemon's URL.
    var authority: String
  }

  /// The time for a response from a busy daemon.
  package static let patience = Duration.seconds(30)
  /// The maximum size of a response in bytes; a report is at most as long as the journal that the daemon keeps.
  private static let answerLimit = 64 << 20

  /// Where the daemon is.
  private enum Place: Sendable {
    case local(DaemonHome, Guarded<Link>)
    case remote(RemoteTransport)
  }

  private let place: Place

  private init(home: DaemonHome, control: ControlFile) throws(DaemonClientError) {
    place = .local(home, Guarded(try Self.link(control, home)))
  }

  private init(_ daemon: RemoteDaemon) throws(DaemonClientError) {
    place = .remote(try RemoteTransport(daemon, answerLimit: Self.answerLimit))
  }

  /// Connects to a daemon on another machine and checks that it responds and accepts the token.
  ///
  /// - Parameter daemon: where it is.
  /// - Returns: the client.
  /// - Throws: ``DaemonClientError`` if it can't be reached, or isn't trusted, or doesn't accept the token.
  package static func connect(to daemon: RemoteDaemon) async throws(DaemonClientError) -> DaemonClient {
    let client = try DaemonClient(daemon)
    _ = try await client.health()
    return client
  }

  /// Connects to the daemon of a state folder and checks that it responds.
  ///
  /// - Parameter home: the state folder.
  /// - Returns: the client.
  /// - Throws: ``DaemonClientError`` if there is no daemon, or it is dead, suspended or incompatible.
  package static func connect(to home: DaemonHome) async throws(DaemonClientError) -> DaemonClient {
    if try home.readControlFile() == nil { await wake(home) }
    guard let control = try home.readControlFile() else { throw home.nobody }
    let client = try DaemonClient(home: home, control: control)
    _ = try await client.health()
    return client
  }

  /// Connects to a socket on which systemd may listen in the daemon's place, which starts the daemon (systemd.socket(5)).
  ///
  /// The control file appears only once the daemon responds.
  private static func wake(_ home: DaemonHome) async {
    let socket = home.folder + "/control.sock"
    guard access(socket, F_OK) == 0 else { return }
    let control = ControlFile(control: "http://127.0.0.1", socket: socket, token: Secret(""), pid: 0)
    guard let link = try? link(control, home) else { return }
    _ = try? await attempt("GET", "/v1/health", nil, link, home, patience)
  }

  /// Whether the daemon is on another machine, which can't watch processes of this one.
  package var isRemote: Bool { if case .remote = place { true } else { false } }

  // MARK: Calls

  /// Makes a call with a JSON response.
  func call<Answer: Decodable & Sendable>(
    _ method: String, _ path: String, sending message: (any Encodable & Sendable)? = nil,
    patience: Duration = DaemonClient.patience, as type: Answer.Type = Answer.self
  ) async throws(DaemonClientError) -> Answer {
    let bytes = try await exchange(method, path, message, patience)
    do { return try JSON.decode(type, from: Data(bytes), source: "\(method) \(path)") } catch {
      throw DaemonClientError(
        .notUnderstood,
        "unexpected response from the daemon to \(error.place): \(error.problem); restart the daemon with this version: "
          + "diorama serve --stop")
    }
  }

  /// Makes a call and ignores the content of the response.
  func call(
    _ method: String, _ path: String, sending message: (any Encodable & Sendable)? = nil
  ) async throws(DaemonClientError) {
    _ = try await exchange(method, path, message, Self.patience)
  }

  private func exchange(
    _ method: String, _ path: String, _ message: (any Encodable & Sendable)?, _ patience: Duration
  ) async throws(DaemonClientError) -> [UInt8] {
    var body: [UInt8]?
    do {
      body = try message.map { Array(try JSON.encode($0)) }
    } catch {
      throw DaemonClientError(
        .refused(status: 400, problem: "usage"),
        "a number is infinite or NaN, which JSON cannot express; use another")
    }
    switch place {
    case .local(let home, let link): return try await exchange(method, path, body, home, link, patience)
    case .remote(let transport):
      let response = try await transport.send(method, path, body, patience: patience)
      guard 200..<300 ~= response.status else {
        throw Self.refusal(response.status, response.body, "\(method) \(path)")
      }
      return response.body
    }
  }

  private func exchange(
    _ method: String, _ path: String, _ body: [UInt8]?, _ home: DaemonHome, _ link: Guarded<Link>, _ patience: Duration
  ) async throws(DaemonClientError) -> [UInt8] {
    let first = link.withLock { $0 }
    do { return try await Self.attempt(method, path, body, first, home, patience) } catch {
      // Nothing has been done: the daemon did not get the request, or rejected the token.
      guard error.kind == .dead || error.isUnauthorised, let again = try Self.renewed(first, home, link) else {
        throw error
      }
      return try await Self.attempt(method, path, body, again, home, patience)
    }
  }

  /// Reconnects to a restarted daemon.
  ///
  /// - Returns: nil if the daemon has not been restarted.
  private static func renewed(_ old: Link, _ home: DaemonHome, _ link: Guarded<Link>) throws(DaemonClientError) -> Link?
  {
    guard let control = try home.readControlFile(), control != old.control else { return nil }
    let new = try Self.link(control, home)
    link.withLock { $0 = new }
    return new
  }

  private static func attempt(
    _ method: String, _ path: String, _ body: [UInt8]?, _ link: Link, _ home: DaemonHome, _ patience: Duration
  ) async throws(DaemonClientError) -> [UInt8] {
    let answer: Result<HTTPResponse, Watch.Verdict>
    do {
      answer = try await Watch.over(link.control.pid, patience: patience) {
        try await send(method, path, body, link, until: .now + patience + .seconds(1))
      }
    } catch {
      throw home.failure(error, link.control)
    }
    switch answer {
    case .success(let response):
      guard 200..<300 ~= response.status else { throw refusal(response.status, response.body, "\(method) \(path)") }
      return response.body
    case .failure(.suspended): throw home.suspended(link.control)
    case .failure: throw home.unresponsive(link.control, patience)
    }
  }

  /// Sends a request on a connection of its own. Cancelling the task ends it.
  ///
  /// - Throws: a `CodedError`: `noUpstream` if nothing accepts connections, `inputOutput` if the response was cut off,
  ///   `broken` if it is not HTTP.
  private static func send(
    _ method: String, _ path: String, _ body: [UInt8]?, _ link: Link, until deadline: ContinuousClock.Instant
  ) async throws -> HTTPResponse {
    var lines = [
      "\(method) \(path) HTTP/1.1", "Host: \(link.authority)", "Authorization: Bearer \(link.control.token.revealed)",
      "Accept: application/json", "Connection: close",
    ]
    if let body { lines += ["Content-Type: application/json", "Content-Length: \(body.count)"] }
    let request = Array((lines + ["", ""]).joined(separator: "\r\n").utf8) + (body ?? [])
    let isCancelled = Guarded(false)
    return try await withTaskCancellationHandler {
      try await onOwnThread { () throws(CodedError) in
        let socket = try LocalSocket(to: link.address, by: deadline) { isCancelled.withLock { $0 } }
        do throws(CodedError) {
          // A daemon that refuses a request may close the connection before it has read all of it.
          try? socket.send(request, by: deadline)
          return try socket.receiveResponse(by: deadline, upTo: answerLimit)
        } catch {
          throw error.kind == .noUpstream ? CodedError(.inputOutput, error.problem) : error
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  private static func refusal(_ status: Int, _ bytes: [UInt8], _ what: String) -> DaemonClientError {
    guard let problem = try? JSONDecoder().decode(ProblemDocument.self, from: Data(bytes)) else {
      return DaemonClientError(
        .notUnderstood,
        "\(what) returned status \(status) without a problem document; check whether the program at that address is a "
          + "diorama daemon")
    }
    return DaemonClientError(
      .refused(status: status, problem: problem.kind), problem.detail.isEmpty ? problem.title : problem.detail)
  }

  private static func link(_ control: ControlFile, _ home: DaemonHome) throws(DaemonClientError) -> Link {
    var address = in_addr()
    guard let url = URLComponents(string: control.control), let host = url.host,
      inet_pton(AF_INET, host, &address) == 1, let port = UInt16(exactly: url.port ?? 80)
    else {
      throw DaemonClientError(
        .unusable,
        "cannot connect to the daemon of \(home.folder): '\(control.control)' is not a URL such as "
          + "http://127.0.0.1:20010")
    }
    let fits = !control.socket.isEmpty && control.socket.utf8.count <= LocalSocket.longestPath
    return Link(
      control: control, address: fits ? .unix(path: control.socket) : .loopback(address, port: port),
      authority: "\(host):\(port)")
  }
}

extension DaemonClientError {
  fileprivate var isUnauthorised: Bool {
    if case .refused(status: 401, _) = kind { true } else { false }
  }
}

extension DaemonClient {
  /// Checks that the daemon responds.
  package func health() async throws(DaemonClientError) -> Health { try await call("GET", "/v1/health") }

  /// Creates an environment.
  package func provision(_ request: ProvisioningRequest) async throws(DaemonClientError) -> ProvisionedEnvironment {
    try await call("POST", "/v1/environments", sending: request)
  }

  /// All running environments, without their contracts.
  package func environments() async throws(DaemonClientError) -> [ProvisionedEnvironment] {
    try await call("GET", "/v1/environments", as: EnvironmentList.self).environments
  }

  /// An environment with its current contract.
  package func environment(_ id: String) async throws(DaemonClientError) -> ProvisionedEnvironment {
    try await call("GET", Self.path(of: id))
  }

  /// Changes toggles, values, clock and mode; returns once every app has applied the change.
  package func change(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonClientError) -> Revision {
    try await call("PATCH", Self.path(of: id), sending: patch, patience: Self.patience(beside: patch.timeoutSeconds))
  }

  /// Moves the clock; returns once every app has applied the move.
  package func moveClock(
    _ id: String, _ move: ClockMoveRequest
  ) async throws(DaemonClientError) -> ClockMoveAnswer {
    try await call(
      "POST", Self.path(of: id) + "/clock", sending: move, patience: Self.patience(beside: move.timeoutSeconds))
  }

  /// The journal entries after a given number.
  package func journal(_ id: String, after: Int = 0) async throws(DaemonClientError) -> JournalPage {
    try await call("GET", Self.path(of: id) + "/journal?after=\(after)")
  }

  /// The report so far.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - type: the type to decode.
  /// - Returns: the report.
  /// - Throws: ``DaemonClientError``.
  package func report<Report: Decodable & Sendable>(
    _ id: String, as type: Report.Type
  ) async throws(DaemonClientError) -> Report {
    try await call("GET", Self.path(of: id) + "/report")
  }

  /// Ends an environment.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - hasSucceeded: whether the program or test succeeded. If not, its recording does not become the cassette.
  ///   - expectsRequests: whether the environment fails if it saw no request.
  ///   - type: the type of the report to decode.
  /// - Returns: the report.
  /// - Throws: ``DaemonClientError``.
  package func end<Report: Decodable & Sendable>(
    _ id: String, hasSucceeded: Bool = true, expectsRequests: Bool = false, as type: Report.Type
  ) async throws(DaemonClientError) -> Report {
    // Saving a long recording takes time.
    let words = [hasSucceeded ? nil : "failed=true", expectsRequests ? "expectRequests=true" : nil].compactMap(\.self)
    let query = words.isEmpty ? "" : "?" + words.joined(separator: "&")
    return try await call("DELETE", Self.path(of: id) + query, patience: .seconds(300))
  }

  /// Escapes an ID typed by a user, so a stray slash or question mark results in an unknown environment.
  private static func path(of id: String) -> String { "/v1/environments/" + escaped(id) }

  private static func escaped(_ id: String) -> String {
    let bytes = id.utf8.map { byte -> String in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"):
        return String(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return bytes.joined()
  }

  private static func patience(beside seconds: Double?) -> Duration {
    let seconds = seconds ?? 30
    return patience + .seconds(seconds > 0 ? min(seconds, 1e9) : 0)
  }
}

extension DaemonClient {
  /// Creates a token for a program on another machine.
  package func createToken(_ name: String) async throws(DaemonClientError) -> CreatedToken {
    try await call("POST", "/v1/tokens", sending: TokenRequest(name: name))
  }

  /// The tokens of programs on other machines.
  package func tokens() async throws(DaemonClientError) -> [TokenList.Token] {
    try await call("GET", "/v1/tokens", as: TokenList.self).tokens
  }

  /// Revokes a token.
  package func revokeToken(_ name: String) async throws(DaemonClientError) {
    try await call("DELETE", "/v1/tokens/" + Self.escaped(name))
  }

  /// The environments of all hosts: running ones, or those that have ended.
  package func runs(
    areEnded: Bool, after time: String? = nil, limit: Int = 50
  ) async throws(DaemonClientError) -> FleetRunList {
    let query = areEnded ? "?ended=true&limit=\(limit)" + (time.map { "&after=" + Self.escaped($0) } ?? "") : ""
    return try await call("GET", "/v1/fleet/runs" + query)
  }

  /// A run of any host.
  package func run(_ id: String) async throws(DaemonClientError) -> FleetRun {
    try await call("GET", "/v1/fleet/runs/" + Self.escaped(id))
  }

  /// Journal entries of a run of any host.
  package func journal(ofRun id: String, after: Int) async throws(DaemonClientError) -> [JournalPage.Entry] {
    try await call("GET", "/v1/fleet/runs/\(Self.escaped(id))/journal?after=\(after)", as: FleetJournal.self).entries
  }

  /// What the runs of all hosts tell.
  package func fleetStatistics(days: Int) async throws(DaemonClientError) -> FleetStatistics {
    try await call("GET", "/v1/fleet/stats?days=\(days)")
  }

  /// Which interactions of a recording no successful replay has used.
  package func usage(
    of file: String, recordedAt: String, days: Int
  ) async throws(DaemonClientError) -> FleetStatistics.Cassette {
    try await call(
      "GET", "/v1/fleet/usage?file=\(Self.escaped(file))&recordedAt=\(Self.escaped(recordedAt))&days=\(days)")
  }

  /// Leases all requested resources, or none.
  package func lease(_ request: LeaseRequest) async throws(DaemonClientError) -> ResourceLease {
    try await call("POST", "/v1/leases", sending: request, patience: Self.patience(beside: request.patience))
  }

  /// All leases of resources, and the store.
  package func leases() async throws(DaemonClientError) -> LeaseList { try await call("GET", "/v1/leases") }

  /// Ends a lease of resources, or withdraws a request.
  package func endLease(_ id: String) async throws(DaemonClientError) {
    try await call("DELETE", "/v1/leases/" + Self.escaped(id))
  }

  /// Creates a pool.
  package func createPool(_ pool: PoolSettings) async throws(DaemonClientError) {
    try await call("POST", "/v1/pools", sending: pool)
  }

  /// All pools.
  package func pools() async throws(DaemonClientError) -> [PoolSummary] {
    try await call("GET", "/v1/pools", as: PoolList.self).pools
  }

  /// Removes a pool with its resources.
  package func removePool(_ pool: String) async throws(DaemonClientError) {
    try await call("DELETE", "/v1/pools/" + Self.escaped(pool))
  }

  /// The resources of a pool, without secrets.
  package func resources(of pool: String) async throws(DaemonClientError) -> [PoolResource] {
    try await call("GET", "/v1/pools/\(Self.escaped(pool))/resources", as: PoolResources.self).resources
  }

  /// Adds resources to a pool, or replaces their attributes and secrets.
  package func importResources(
    _ resources: [PoolResource], into pool: String
  ) async throws(DaemonClientError) -> ImportResult {
    try await call(
      "POST", "/v1/pools/\(Self.escaped(pool))/resources", sending: PoolResources(resources: resources))
  }

  /// Takes a resource out of use, or puts it back.
  package func change(
    _ resource: String, of pool: String, _ patch: ResourcePatch
  ) async throws(DaemonClientError) {
    try await call("PATCH", "/v1/pools/\(Self.escaped(pool))/resources/\(Self.escaped(resource))", sending: patch)
  }

  /// Leases all requested ports, or none.
  package func leasePorts(_ request: PortsRequest) async throws(DaemonClientError) -> [PortList.Lease] {
    try await call("POST", "/v1/ports", sending: request, as: PortList.self).ports
  }

  /// All leases.
  package func ports() async throws(DaemonClientError) -> [PortList.Lease] {
    try await call("GET", "/v1/ports", as: PortList.self).ports
  }

  /// Releases a port.
  package func releasePort(_ port: UInt16) async throws(DaemonClientError) {
    try await call("DELETE", "/v1/ports/\(port)")
  }
}

/// A call to a daemon failed.
package struct DaemonClientError: Error, Sendable, CustomStringConvertible {
  /// The cause, as far as callers need to distinguish it.
  package enum Kind: Sendable, Equatable {
    /// No daemon has been started for this state folder.
    case noDaemon
    /// The daemon's socket no longer accepts connections.
    case dead
    /// The daemon's process is stopped, for example by Ctrl-Z.
    case suspended
    /// The daemon's process runs, but does not respond in time.
    case unresponsive
    /// The daemon could not be started.
    case notStarted
    /// The content of the state folder cannot be trusted or read.
    case unusable
    /// The daemon refused the call; the message is its own.
    ///
    /// `problem` is the `kind` of its problem document.
    case refused(status: Int, problem: String?)
    /// The response is not from a diorama daemon, or from one of another version.
    case notUnderstood
  }

  /// The cause.
  package let kind: Kind
  /// What happened, where, and what to do next, in one line.
  package let message: String

  /// - Parameters:
  ///   - kind: the cause.
  ///   - message: what happened, where, and what to do next; terminal control characters are escaped.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message.escapedForTerminal
  }

  package var description: String { message }
}
