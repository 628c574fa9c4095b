import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Fleet
import HTTPMessages
import PortLeases

/// The operations for one program on another machine: it sees and changes only what it made itself.
struct RemoteOperations: ControlOperations {
  let manager: EnvironmentManager
  /// The ``RemoteClient/id``.
  let client: String

  func serving(_ client: String) -> any ControlOperations { RemoteOperations(manager: manager, client: client) }

  func provision(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment {
    try RemoteRequests.check(request, hasRoots: !manager.configuration.cassetteRoots.isEmpty)
    return try await manager.provision(request, for: client)
  }

  func environments() -> EnvironmentList {
    EnvironmentList(environments: manager.environments().environments.filter { owns($0.id) })
  }

  func environment(_ id: String) throws(DaemonError) -> ProvisionedEnvironment {
    try manager.environment(own(id))
  }

  func patch(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonError) -> Revision {
    try await manager.patch(own(id), patch)
  }

  func moveClock(_ id: String, _ request: ClockMoveRequest) async throws(DaemonError) -> ClockMoveAnswer {
    try await manager.moveClock(own(id), request)
  }

  func strings(_ id: String, body: [UInt8]) async throws(DaemonError) -> Response {
    try await manager.strings(own(id), body: body)
  }

  func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage {
    try manager.journal(own(id), after: after, limit: limit)
  }

  func followJournal(_ id: String) throws(DaemonError) -> JournalFollower { try manager.followJournal(own(id)) }

  func report(_ id: String) throws(DaemonError) -> Report { try manager.report(own(id)) }

  func end(_ id: String, hasSucceeded: Bool, expectsRequests: Bool) async throws(DaemonError) -> Report {
    try await manager.end(own(id), hasSucceeded: hasSucceeded, expectsRequests: expectsRequests)
  }

  func leasePorts(_ request: PortsRequest) async throws(DaemonError) -> PortList {
    guard request.owner == nil else { throw RemoteRequests.foreignOwner }
    do throws(DaemonError) {
      return try await manager.leasePorts(request, for: client)
    } catch {
      // The detail names the owners of other ports.
      guard error.status == 409 else { throw error }
      throw DaemonError(409, error.title, "the daemon's pool has too few free ports; release some, or ask for fewer")
    }
  }

  func ports() -> PortList { manager.ports(where: owns) }

  func releasePort(_ port: UInt16) async throws(DaemonError) {
    guard manager.pool.leases.contains(where: { $0.port == port && owns($0) }) else {
      throw DaemonError(404, "Port not leased", "port \(port) is not leased; list ports with: diorama port list")
    }
    try await manager.releasePort(port)
  }

  func lease(_ request: LeaseRequest) async throws -> ResourceLease {
    guard request.owner == nil else { throw RemoteRequests.foreignOwner }
    return try await manager.lease(request, for: client)
  }

  func leases() async throws -> LeaseList {
    let own = Set(manager.fleet?.leases(of: client) ?? [])
    return LeaseList(leases: try await manager.leases().leases.filter { own.contains($0.id) })
  }

  func endLease(_ id: String) async throws {
    guard manager.fleet?.owner(of: id)?.client == client else { throw DaemonError.noLease(id) }
    try await manager.endLease(id)
  }

  func counters() -> EnvironmentCounters { EnvironmentCounters() }

  func endAll(of client: String) async {}

  private func owns(_ id: String) -> Bool { manager.lifecycle.withLock { $0.client(of: id) } == client }

  private func owns(_ lease: PortLease) -> Bool { lease.client == client || lease.environment.map(owns) ?? false }

  private func own(_ id: String) throws(DaemonError) -> String {
    guard owns(id) else { throw .noEnvironment(id) }
    return id
  }
}

/// What programs on other machines may ask for.
enum RemoteRequests {
  static let foreignOwner = DaemonError(
    422, "Owner not on this machine",
    "owner.pid: the daemon cannot watch processes of another machine; leave it out, and set ttlSeconds")

  /// Checks a request before anything of it is used.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - hasRoots: whether `cassetteRoots` limits the paths that may be used.
  /// - Throws: ``DaemonError`` 422 for an owner, and for files of the daemon's machine that are not released.
  static func check(_ request: ProvisioningRequest, hasRoots: Bool) throws(DaemonError) {
    guard request.owner == nil else { throw foreignOwner }
    let configuration = request.configuration
    for (name, upstream) in configuration.upstreams.sorted(by: { $0.key < $1.key }) {
      let access = upstream.access
      guard access.ca == nil, access.clientCertificate == nil, access.clientKey == nil else {
        throw DaemonError(
          422, "Path not allowed",
          "upstreams.\(name): ca, clientCertificate and clientKey name files of the daemon's machine, which a client on "
            + "another machine cannot use; leave them out")
      }
    }
    let files: [(String, [String])] = [
      ("cassette", [configuration.cassette].compactMap(\.self)), ("stubs", [configuration.stubs].compactMap(\.self)),
      ("collections", [configuration.collections].compactMap(\.self)),
      ("openapi", [configuration.openapi].compactMap(\.self)), ("proto", configuration.proto),
      ("protoPaths", configuration.protoPaths),
    ]
    guard !hasRoots, let setting = files.first(where: { !$0.1.isEmpty })?.0 else { return }
    throw DaemonError(
      422, "Path not allowed",
      "\(setting): clients on other machines can use files only in the folders of cassetteRoots, and none is set; add "
        + "the folder to cassetteRoots in the daemon's configuration")
  }
}
