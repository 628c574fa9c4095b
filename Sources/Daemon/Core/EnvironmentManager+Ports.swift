package import ControlAPI
import EnvironmentService
import Foundation
import LaunchContract
import PortLeases

extension EnvironmentManager {
  /// Leases ports, all or none.
  ///
  /// - Parameter request: how many, what for, and until when.
  /// - Returns: the ports in the order of their names.
  /// - Throws: a ``DaemonError``: 422 for what makes no sense, 409 when there are not enough, which says who has them.
  package func leasePorts(_ request: PortsRequest) async throws(DaemonError) -> PortList {
    noteUse()
    let lifetime = try Lifetime(owner: request.owner?.pid, seconds: request.ttlSeconds, now: Date())
    let seconds = request.ttlSeconds ?? (request.owner == nil ? Lifetime.standardSeconds : nil)
    let names = request.names ?? []
    if let count = request.count, !names.isEmpty, count != names.count {
      throw DaemonError(
        422, "Names and count differ", "there are \(names.count) names for \(count) ports; give one name for each")
    }
    let wanted = PortRequest(
      count: request.count ?? max(names.count, 1), names: names, owner: lifetime.owner,
      ttl: seconds.map { .seconds($0) },
      environment: nil, holds: request.hold ?? true)
    let leases = try await withTaskExecutorPreference(workers) { () async throws(DaemonError) in
      try DaemonError.translating { () throws(PortError) in try pool.lease(wanted) }
    }
    return PortList(ports: leases.map { PortList.Lease(port: Int($0.port), name: $0.name) })
  }

  /// All leases, by port.
  package func ports() -> PortList {
    PortList(
      ports: pool.leases.map { lease in
        PortList.Lease(
          port: Int(lease.port), name: lease.name, owner: lease.owner.map { Owner(pid: $0.pid) },
          since: RFC3339.format(lease.since), endsAt: lease.endsAt.map(RFC3339.format), environment: lease.environment,
          hold: lease.holds)
      })
  }

  /// Gives a port back.
  ///
  /// - Throws: a ``DaemonError``: 404 for one that is not leased, 409 for one of an environment.
  package func releasePort(_ port: UInt16) async throws(DaemonError) {
    noteUse()
    if let environment = pool.leases.first(where: { $0.port == port })?.environment {
      throw DaemonError(
        409, "The port belongs to an environment",
        "port \(port) comes back with environment \(environment); DELETE /v1/environments/\(environment) ends it")
    }
    try await withTaskExecutorPreference(workers) { () async throws(DaemonError) in
      _ = try DaemonError.translating { () throws(PortError) in try pool.release(port) }
    }
  }
}
