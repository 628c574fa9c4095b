import Basics
package import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Fleet
import Foundation
import LaunchContract

extension EnvironmentManager {
  /// Starts to lease resources. Call it once ``restore()`` has brought back the environments.
  package func startFleet() {
    let restored = lifecycle.withLock { $0.all.map(\.hosted) }
    fleet?.start(
      environments: restored.map(\.id),
      holding: restored.filter { $0.environment?.specification.holdsResources == true }.map(\.id),
      lost: { [lifecycle] lease in
        guard let id = lease.environment else { return }
        guard let environment = lifecycle.withLock({ try? $0.hosted(id) })?.hosted.environment else { return }
        let names = (environment.specification.leased ?? [:]).values.map { "'\($0.name)' of pool '\($0.pool)'" }
          .sorted()
        environment.fail(
          "\(names.joined(separator: ", ")) was given to another test, because this host could not reach the fleet's "
            + "database for too long; run the test again")
      })
  }

  /// Leases the resources of an environment that is about to be provisioned.
  ///
  /// - Parameters:
  ///   - request: the environment.
  ///   - id: its id, which becomes that of the lease.
  /// - Returns: nil if it needs none.
  /// - Throws: ``DaemonError``; nothing is leased then.
  func leaseResources(
    _ request: ProvisioningRequest, for id: String
  ) async throws(DaemonError) -> [String: LeasedResource]? {
    guard !request.configuration.resources.isEmpty else { return nil }
    do {
      let needed = try await withTaskExecutorPreference(workers) { () async throws(DaemonError) in
        try DaemonError.translating { () throws(CodedError) in
          try EnvironmentSpecification(request.configuration, isChecked: true).resourcesToLease()
        }
      }
      guard !needed.isEmpty else { return nil }
      return try await lease(LeaseRequest(id: id, resources: needed), environment: id).resources
    } catch let error as DaemonError {
      // That a pool is missing is a mistake in the request.
      throw error.status == 404 ? DaemonError(422, error.title, error.detail, kind: error.kind) : error
    } catch {
      throw DaemonError(503, "Client disconnected", "send the request again")
    }
  }

  /// Leases resources, all or none.
  ///
  /// - Parameter request: what is needed, and for how long.
  /// - Returns: the lease, with secrets.
  /// - Throws: ``DaemonError``: 404 if a pool or a fitting resource does not exist, 409 if none is free in time, 422 if the
  ///   request is invalid, 429 if too many calls wait, 503 if the database is unreachable; and `CancellationError`. Nothing is
  ///   leased then.
  package func lease(_ request: LeaseRequest) async throws -> ResourceLease { try await lease(request, for: nil) }

  /// Leases resources for a program on another machine, or on this one if `client` is nil.
  func lease(_ request: LeaseRequest, for client: String?) async throws -> ResourceLease {
    let lifetime = try Lifetime(owner: request.owner?.pid, seconds: request.ttlSeconds, now: Date())
    var request = request
    if request.ttlSeconds == nil, request.owner == nil { request.ttlSeconds = Lifetime.standardSeconds }
    // Another client must not be able to get the lease of this one by its id.
    if client != nil { request.id = nil }
    return try await lease(request, owner: LeaseOwner(process: lifetime.owner, client: client))
  }

  private func lease(
    _ request: LeaseRequest, environment: String? = nil, owner: LeaseOwner? = nil
  ) async throws -> ResourceLease {
    noteUse()
    guard let fleet else { throw Self.noFleet }
    guard !request.resources.isEmpty else {
      throw DaemonError(422, "Nothing to lease", "resources: it is empty; name what is needed, by pool")
    }
    guard request.patience <= max(configuration.limits.waitSeconds, 60) else {
      throw DaemonError(
        422, "Wait too long",
        "waitSeconds: \(request.patience) is more than the daemon allows; give at most \(configuration.limits.waitSeconds), or raise "
          + "limits.waitSeconds in its configuration")
    }
    guard let place = WaitingPlace(waits) else { throw tooManyWait }
    defer { withExtendedLifetime(place) {} }
    return try await fleet.lease(request, environment: environment, owner: owner)
  }

  /// All leases and requests of all hosts.
  package func leases() async throws -> LeaseList {
    guard let fleet else { throw Self.noFleet }
    return LeaseList(leases: try await fleet.leases(), store: fleet.status)
  }

  /// Ends a lease or withdraws a request.
  ///
  /// - Throws: ``DaemonError``: 404 if the lease does not exist, 409 if it belongs to an environment, 503 if the database is unreachable.
  package func endLease(_ id: String) async throws {
    noteUse()
    guard let fleet else { throw Self.noFleet }
    if let environment = fleet.environment(of: id) {
      throw DaemonError(
        409, "Lease belongs to an environment",
        "lease \(id) belongs to environment \(environment); end it with: diorama env delete \(environment)")
    }
    try await fleet.endLease(id)
  }

  static let noFleet = DaemonError(503, "No pools", "this server keeps no pools; use a daemon: diorama serve")
}
