import ControlAPI
import Basics
import Cassettes
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("An environment on ports that were reserved before it")
struct EarlyTests {
  private static var specification: EnvironmentSpecification {
    var specification = EnvironmentSpecification(name: "early", mode: .mock)
    specification.upstreams = [.init(name: "api", origin: Origin(scheme: "https", host: "a.test", port: 443))]
    return specification
  }

  @Test("answers clients that connected before, once it is ready")
  func waits() async throws {
    let life = try Life()
    let clients = Guarded<[RawClient]>([])
    let environment = try life.service.provision(
      Self.specification,
      hooks: EnvironmentHooks(reserve: { _ in
        let reserved = try life.server.reserve()
        let client = try RawClient(port: reserved.port)
        try client.send(request("GET", "/a.test/x"))
        clients.withLock { $0.append(client) }
        return reserved
      }))
    for client in clients.withLock({ $0 }) {
      #expect(try await onThread { try client.receiveAnswer() }.status == 501)
    }
    #expect(environment.report().requests.unmatched == 2)
    _ = await environment.end()
    await life.kill()
  }

  @Test("releases the ports if it cannot have all of them, with the reason")
  func fails() async throws {
    let life = try Life()
    let ports = Guarded<[UInt16]>([])
    let error = #expect(throws: CodedError.self) {
      try life.service.provision(
        Self.specification,
        hooks: EnvironmentHooks(reserve: { _ in
          guard ports.withLock({ $0.isEmpty }) else { throw CodedError(.inputOutput, "no port is left") }
          let reserved = try life.server.reserve()
          ports.withLock { $0.append(reserved.port) }
          return reserved
        }))
    }
    #expect(error?.message == "no port is left")
    let port = try #require(ports.withLock { $0.first })
    #expect(throws: (any Error).self) { try RawClient(port: port) }
    await life.kill()
  }
}
