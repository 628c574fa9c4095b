import Basics
package import ControlAPI
import EnvironmentService
package import HTTPMessages
import HTTPServer
package import LaunchContract
import PortLeases

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The control API of a daemon, shared by all of its listeners.
///
/// ```swift
/// let server = ControlServer(manager, token: token, version: "1.0")
/// try server.listen(onUnixSocket: path, handler: server.handler(.unixSocket))
/// let reserved = try server.reserve()
/// try reserved.serve(handler: server.handler(.loopback(port: reserved.port)))
/// …
/// server.close()
/// ```
package final class ControlServer: Sendable {
  /// The default limit of a request body, in bytes.
  package static let bodyLimit = 8 << 20
  /// The default interval of comments in silent event streams, which proxies would otherwise disconnect.
  package static let keepAlive = Duration.seconds(15)

  let operations: any ControlOperations
  let token: Secret
  /// The tokens of programs on other machines.
  let tokens: TokenBook?
  /// The pools of resources.
  let fleet: FleetService?
  /// How they reach the daemon; nil if they can't.
  let remote: RemoteAddress?
  let health: Health
  let streams: EventStreams
  let calls = CallCounts()
  let bodyLimit: Int
  let keepAlive: Duration
  let report: @Sendable (String) -> Void
  private let isClosing = Guarded(false)

  /// - Parameters:
  ///   - operations: the environment manager.
  ///   - token: the token that TCP clients must send.
  ///   - version: the daemon's version.
  ///   - bodyLimit: the maximum size of a request body, in bytes.
  ///   - keepAlive: the interval of comments in silent event streams.
  ///   - tokens: the tokens of programs on other machines.
  ///   - fleet: the pools of resources.
  ///   - remote: how they reach the daemon; nil if they can't.
  ///   - report: called with one line about each internal error.
  package init(
    _ operations: any ControlOperations, token: Secret, version: String, bodyLimit: Int = ControlServer.bodyLimit,
    keepAlive: Duration = ControlServer.keepAlive, tokens: TokenBook? = nil, fleet: FleetService? = nil,
    remote: RemoteAddress? = nil,
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.operations = operations
    self.token = token
    self.tokens = tokens
    self.fleet = fleet
    self.remote = remote
    health = Health(version: version, pid: getpid())
    streams = EventStreams()
    self.bodyLimit = bodyLimit
    self.keepAlive = keepAlive
    self.report = report
  }

  /// The request handler of one listener.
  package func handler(_ way: AccessPolicy.Way) -> ControlHandler {
    ControlHandler(server: self, policy: AccessPolicy(way, token: token))
  }

  /// Refuses new requests, since the daemon is ending. Event streams continue until their environments end.
  package func refuse() { isClosing.withLock { $0 = true } }

  /// Refuses new requests and ends all event streams.
  package func close() {
    refuse()
    streams.close()
  }

  var isClosed: Bool { isClosing.withLock { $0 } }
}

/// The operations behind the control API, as ``EnvironmentManager`` implements them.
///
/// Tests replace them to produce answers that a real manager rarely gives.
package protocol ControlOperations: Sendable {
  func provision(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment
  func environments() -> EnvironmentList
  func environment(_ id: String) throws(DaemonError) -> ProvisionedEnvironment
  func patch(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonError) -> Revision
  func moveClock(_ id: String, _ request: ClockMoveRequest) async throws(DaemonError) -> ClockMoveAnswer
  func strings(_ id: String, body: [UInt8]) async throws(DaemonError) -> Response
  func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage
  func followJournal(_ id: String) throws(DaemonError) -> JournalFollower
  func report(_ id: String) throws(DaemonError) -> Report
  func end(_ id: String, hasSucceeded: Bool, expectsRequests: Bool) async throws(DaemonError) -> Report
  func leasePorts(_ request: PortsRequest) async throws(DaemonError) -> PortList
  func ports() -> PortList
  func releasePort(_ port: UInt16) async throws(DaemonError)
  func lease(_ request: LeaseRequest) async throws -> ResourceLease
  func leases() async throws -> LeaseList
  func endLease(_ id: String) async throws
  func counters() -> EnvironmentCounters
  /// The operations for a program on another machine, which sees only what it made itself.
  func serving(_ client: String) -> any ControlOperations
  /// Ends all environments and leases of a program on another machine.
  func endAll(of client: String) async
}

extension EnvironmentManager: ControlOperations {
  package func serving(_ client: String) -> any ControlOperations { RemoteOperations(manager: self, client: client) }

  package func endAll(of client: String) async {
    let entries = lifecycle.withLock { $0.entries }
    for (id, entry) in entries where entry.client == client {
      _ = try? beginEnd(id, because: .request, hasSucceeded: false)
    }
    for lease in pool.leases where lease.client == client { try? await releasePort(lease.port) }
    for id in fleet?.leases(of: client) ?? [] { fleet?.end(id) }
  }
}

/// Handles the requests of one listener of the control API.
///
/// Checks are ordered by how much their answers reveal: a client without access learns nothing about environments.
package final class ControlHandler: RequestHandler {
  private let server: ControlServer
  private let policy: AccessPolicy

  init(server: ControlServer, policy: AccessPolicy) {
    self.server = server
    self.policy = policy
  }

  package func respond(to request: Request) async throws -> Response {
    var operation = "none"
    let response: Response
    do {
      response = try await answer(request, &operation)
    } catch let error as DaemonError {
      response = error.response
    } catch is CancellationError {
      // The client has disconnected; this response is not read.
      response = DaemonError(503, "Client disconnected", "send the request again").response
    } catch {
      server.report("\(request.method) \(operation): \(error)")
      response = DaemonError(500, "Internal error", "\(error); please report it").response
    }
    server.calls.count(operation, status: response.status)
    if let documented = RouteTable.statuses[operation], !documented.contains(response.status) {
      server.report("\(operation) answered \(response.status), which /openapi.json does not list")
    }
    return response
  }

  private func answer(_ request: Request, _ operation: inout String) async throws -> Response {
    if let problem = policy.refusal(of: request) { throw problem }
    let path = String(request.target.prefix { $0 != "?" })
    let match = RouteTable.match(method: request.method, path: path)
    let client = try policy.client(of: request)
    if !match.isOpen, let problem = policy.lackOfToken(in: request) { throw problem }
    let (route, values) = try match.found()
    operation = route.operation
    guard client == nil || !route.isLocal else {
      throw DaemonError(403, "Not allowed from another machine", "make this call on the daemon's own machine")
    }
    guard route.isOpen || !server.isClosed else { throw DaemonError.closing }
    var parameters = ParameterValues(try route.read(path: values))
    parameters.merge(try route.read(query: String(request.target.dropFirst(path.count + 1))))
    parameters.merge(try route.read(headers: request.headers))
    let body = try await route.body?.read(from: request, upTo: server.bodyLimit)
    let response = try await route.perform(
      Call(
        server: server, operations: client.map { server.operations.serving($0.id) } ?? server.operations,
        parameters: parameters, headers: request.headers, body: body ?? []))
    if let client, !policy.isValid(client) {
      // The token was revoked while the call made something.
      await server.operations.endAll(of: client.id)
      throw DaemonError(
        401, "Token revoked",
        "the token was revoked during the call, so the environments and leases of its client were ended; use a new token"
      )
    }
    return response
  }
}

extension Response {
  /// A JSON response.
  static func json(_ value: some Encodable, status: Int = 200, headers: Headers = [:]) throws -> Response {
    var headers = headers
    headers.append("Content-Type", "application/json")
    headers.append("Cache-Control", "no-store")
    return Response(status: status, headers: headers, body: .bytes(Array(try JSON.encode(value))))
  }
}
