import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer
import PortLeases
import TestSupport

@testable import Daemon

// Foundation has a type of this name, too.
import class Daemon.EnvironmentManager

/// An environment manager with an in-memory store and a temporary folder.
final class TestManager: Sendable {
  let manager: EnvironmentManager
  let store: any DaemonStore
  let folder: ScratchFolder
  /// Pools of resources; nil unless asked for.
  let fleet: FleetService?
  let log = Guarded<[String]>([])
  private let server: HTTPServer

  /// - Parameters:
  ///   - store: nil for a new one.
  ///   - folder: nil for a new one.
  ///   - hasPools: whether to keep pools of resources, in the folder.
  ///   - configure: changes the configuration.
  /// - Throws: if the system is out of threads.
  init(
    store: (any DaemonStore)? = nil, folder: ScratchFolder? = nil, hasPools: Bool = false,
    _ configure: (inout DaemonConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = DaemonConfiguration()
    configure(&configuration)
    let store = store ?? InMemoryStore()
    let folder = try folder ?? ScratchFolder()
    self.store = store
    self.folder = folder
    server = try HTTPServer()
    let log = log
    fleet =
      !hasPools
      ? nil
      : try FleetService(
        configuration, files: ControlFiles(folder: folder.path), version: "1", variables: [:],
        log: Log(level: .critical))
    manager = try EnvironmentManager(
      configuration, store: store, contracts: folder.path, server: server, fleet: fleet,
      log: Log(level: .debug) { line in log.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
  }

  /// Stops the manager regularly.
  func stop() async {
    await manager.stop()
    await fleet?.stop()
    await server.stop()
  }

  /// Simulates a kill: closes the ports without ending environments or writing to the store.
  ///
  /// - Returns: the store for the next manager.
  func die() async throws -> InMemoryStore {
    let next = InMemoryStore()
    let state = try store.load()
    for environment in state.environments {
      try next.save(environment: environment.id, document: environment.document)
      if let traffic = environment.traffic { try next.save(traffic: traffic, of: environment.id) }
      try next.append(journal: try store.journal(of: environment.id, after: 0, limit: .max))
    }
    let leases = manager.pool.leases.map(\.port)
    try next.save(leases: zip(leases, state.leases).map { ($0, $1) })
    store.close()
    await server.stop(grace: .zero)
    for port in leases { _ = try? manager.pool.release(port) }
    return next
  }

  /// The launch contract files.
  var contracts: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

  /// Whether no trace of an environment is left.
  var isEmpty: Bool {
    get throws {
      try manager.environments().environments.isEmpty && contracts.isEmpty && manager.pool.leases.isEmpty
        && store.load() == StoredState()
    }
  }
}

extension ProvisioningRequest {
  /// An environment in mode `mock`, which needs no cassette and no network.
  static var mock: ProvisioningRequest {
    var request = ProvisioningRequest()
    request.mode = "mock"
    request.name = "a test"
    request.upstreams = ["api": "https://api.example.com"]
    return request
  }
}

/// Sends a GET request.
///
/// - Returns: the status; nil if there is no answer.
func status(of url: String, _ target: String = "/x", client: HTTPClient) async -> Int? {
  guard let origin = try? Origin(parsing: url) else { return nil }
  let response = try? await client.send(Request(method: "GET", target: target), to: origin)
  _ = try? await response?.body.collect(upTo: 1 << 20)
  return response?.status
}
