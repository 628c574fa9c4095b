import Basics
import Cassettes
import ControlAPI
import Foundation
import HTTPMessages
import HTTPServer
import Synchronization

@testable import EnvironmentService

/// The lifetime of a process with environments. It ends as if killed, and the next one restores its snapshots.
struct Life: Sendable {
  let server: HTTPServer
  let service: EnvironmentService

  init() throws {
    var configuration = HTTPServer.Configuration()
    configuration.threads = 1
    server = try HTTPServer(configuration)
    service = EnvironmentService(server: server)
  }

  /// Counts the ports of first lives.
  private static let nextPort = Atomic<UInt32>(0)

  /// Provisions an environment on ports that no other test gets while nothing listens on them between two lives: they are
  /// above those that the system chooses itself.
  func provision(_ specification: EnvironmentSpecification) throws(CodedError) -> Environment {
    let hooks = EnvironmentHooks(reserve: { [server] _ in
      for _ in 0..<100 {
        let port = 61_000 + Self.nextPort.wrappingAdd(1, ordering: .relaxed).oldValue % 4_500
        if let reserved = try? server.reserve(UInt16(port)) { return reserved }
      }
      return try server.reserve()
    })
    return try service.provision(specification, hooks: hooks)
  }

  /// Restores an environment on its own ports, from its snapshot as it would be stored.
  func restore(
    _ snapshot: EnvironmentSnapshot, changed: (@Sendable () throws(CodedError) -> Void)? = nil,
    noted: (@Sendable ([JournalPage.Entry]) -> Void)? = nil
  ) throws -> Environment {
    let snapshot = try EnvironmentSnapshot(decoding: try snapshot.encoded())
    let next = Guarded(snapshot.ports)
    let hooks = EnvironmentHooks(
      reserve: { [server] _ in
        try server.reserve(next.withLock { $0.removeFirst() })
      }, changed: changed, noted: noted)
    return try service.provision(snapshot.specification, hooks: hooks, restoring: snapshot)
  }

  /// Ends everything at once, without saving or reporting.
  func kill(_ environments: Environment...) async {
    for environment in environments { environment.recorder?.release() }
    await server.stop(grace: .zero)
    await service.stop(grace: .zero)
  }
}

extension ServiceFixture {
  /// Runs closures before and after a kill.
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
      environment = try first.provision(specification)
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
