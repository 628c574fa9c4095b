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
// Foundation has a type of this name.
import class Daemon.EnvironmentManager

/// A manager on a store in memory, with a folder for its files; what is left of it can be looked at.
final class TestManager: Sendable {
  let manager: EnvironmentManager
  let store: any DaemonStore
  let folder: ScratchFolder
  let log = Guarded<[String]>([])
  private let server: HTTPServer

  /// - Parameters:
  ///   - store: nil for a new one.
  ///   - folder: nil for a new one.
  ///   - configure: changes the configuration.
  /// - Throws: when the system gives no threads.
  init(
    store: (any DaemonStore)? = nil, folder: ScratchFolder? = nil,
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
    manager = try EnvironmentManager(
      configuration, store: store, contracts: folder.path, server: server,
      log: Log(level: .debug) { line in log.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
  }

  /// Ends it well.
  func stop() async {
    await manager.stop()
    await server.stop()
  }

  /// What a kill does: its ports close, and it says nothing to anybody, nor to the store.
  ///
  /// - Returns: the store, as the next manager finds it.
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

  /// The files of launch contracts.
  var contracts: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

  /// Whether nothing at all is left of any environment.
  var isEmpty: Bool {
    get throws {
      try manager.environments().environments.isEmpty && contracts.isEmpty && manager.pool.leases.isEmpty
        && store.load() == StoredState()
    }
  }
}

extension ProvisioningRequest {
  /// A world of stubs: it needs no cassette and no network.
  static var mock: ProvisioningRequest {
    var request = ProvisioningRequest()
    request.mode = "mock"
    request.name = "a test"
    request.upstreams = ["api": "https://api.example.com"]
    return request
  }
}

/// Asks once.
///
/// - Returns: the status; nil where nobody answers.
func status(of url: String, _ target: String = "/x", client: HTTPClient) async -> Int? {
  guard let origin = try? Origin(parsing: url) else { return nil }
  let response = try? await client.send(Request(method: "GET", target: target), to: origin)
  _ = try? await response?.body.collect(upTo: 1 << 20)
  return response?.status
}
