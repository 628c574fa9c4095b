import Basics
import Cassettes
import ControlAPI
import Foundation
import HTTPMessages
import HTTPServer
import Synchronization

@testable import EnvironmentService

/// One life of a process that holds environments: it ends as by a kill, and the next goes on with its snapshots.
struct Life: Sendable {
  let server: HTTPServer
  let service: EnvironmentService

  init() throws {
    var configuration = HTTPServer.Configuration()
    configuration.threads = 1
    server = try HTTPServer(configuration)
    service = EnvironmentService(server: server)
  }

  /// Brings an environment back, from its snapshot as it would be stored, on its own ports.
  func restore(
    _ snapshot: EnvironmentSnapshot, changed: (@Sendable () throws(CodedError) -> Void)? = nil,
    noted: (@Sendable ([JournalPage.Entry]) -> Void)? = nil
  ) throws -> Environment {
    let snapshot = try EnvironmentSnapshot(decoding: try snapshot.encoded())
    let next = Guarded(snapshot.ports)
    let hooks = EnvironmentHooks(
      listen: { [server] handler in
        try server.listen(on: next.withLock { $0.removeFirst() }, handler: handler)
      }, changed: changed, noted: noted)
    return try service.provision(snapshot.specification, hooks: hooks, restoring: snapshot)
  }

  /// Ends all at once: nothing is sealed, and nobody is told.
  func kill(_ environments: Environment...) async {
    for environment in environments { environment.recorder?.release() }
    await server.stop(grace: .zero)
    await service.stop(grace: .zero)
  }
}

extension ServiceFixture {
  /// What the closures do, before and after a kill in the middle.
  func twoLives<Output: Sendable>(
    _ mode: Mode, _ upstreams: KeyValuePairs<String, Origin> = [:],
    _ configure: (inout EnvironmentSpecification) -> Void = { _ in },
    before: (Environment) async throws -> Void, after: (Environment) async throws -> Output
  ) async throws -> Output {
    var specification = EnvironmentSpecification(name: "a test", mode: mode)
    if mode.needsCassette { specification.cassette = location() }
    specification.upstreams = upstreams.map { .init(name: $0.key, origin: $0.value) }
    configure(&specification)
    let first = try Life()
    let environment: Environment
    let snapshot: EnvironmentSnapshot
    do {
      environment = try first.service.provision(specification)
      try await before(environment)
      snapshot = environment.snapshot()
      await first.kill(environment)
    } catch {
      await first.kill()
      throw error
    }
    let second = try Life()
    do {
      let environment = try second.restore(snapshot)
      let output = try await after(environment)
      _ = await environment.end()
      await second.kill()
      return output
    } catch {
      await second.kill()
      throw error
    }
  }
}
