import ControlAPI
import EnvironmentConfiguration
import TestSupport
import Testing

@testable import Daemon

@Suite("Environments of other machines", .timeLimit(.minutes(2)))
struct RemoteOperationsTests {
  private static func manager() throws -> TestManager {
    try TestManager {
      $0.listen = try? ListenAddress("127.0.0.2:0")
      $0.advertise = "ci.example.com"
    }
  }

  private func status(_ body: () async throws -> Void) async -> Int {
    do {
      try await body()
      return 200
    } catch { return (error as? DaemonError)?.status ?? 0 }
  }

  @Test("belong to the client that made them")
  func own() async throws {
    let test = try Self.manager()
    let (first, second) = (test.manager.serving("first"), test.manager.serving("second"))
    var request = ProvisioningRequest()
    request.configuration.mode = "mock"
    let mine = try await first.provision(request)
    let local = try await test.manager.provision(request)
    #expect(first.environments().environments.map(\.id) == [mine.id])
    #expect(second.environments().environments.isEmpty)
    #expect(test.manager.environments().environments.count == 2)
    #expect(try first.environment(mine.id).id == mine.id)
    for id in [mine.id, local.id] {
      #expect(await status { _ = try second.environment(id) } == 404)
      #expect(await status { _ = try second.report(id) } == 404)
      #expect(await status { _ = try second.journal(id, after: 0, limit: 1) } == 404)
      #expect(await status { _ = try second.followJournal(id) } == 404)
      #expect(await status { _ = try await second.patch(id, EnvironmentPatch()) } == 404)
      #expect(await status { _ = try await second.moveClock(id, ClockMoveRequest()) } == 404)
      #expect(await status { _ = try await second.strings(id, body: []) } == 404)
      #expect(
        await status { _ = try await second.end(id, hasSucceeded: true, expectsRequests: false) } == 404)
    }
    _ = try await first.end(mine.id, hasSucceeded: true, expectsRequests: false)
    #expect(await status { _ = try first.report(mine.id) } == 200)
    #expect(await status { _ = try second.report(mine.id) } == 404)
    await test.stop()
  }

  @Test("listen on the address for other machines, and name its host")
  func addresses() async throws {
    let test = try Self.manager()
    var request = ProvisioningRequest()
    request.configuration.mode = "mock"
    request.configuration.upstreams["api"] = "https://dev.api1.com"
    let remote = try await test.manager.serving("first").provision(request)
    let local = try await test.manager.provision(request)
    #expect(remote.endpoints["api"]?.hasPrefix("http://ci.example.com:") == true)
    #expect(remote.contract?.environment["DIORAMA_CONTROL"]?.hasPrefix("http://ci.example.com:") == true)
    // Another machine can't read the daemon's file.
    #expect(remote.contract?.environment["DIORAMA_CONTRACT"]?.hasPrefix("{") == true)
    #expect(local.endpoints["api"]?.hasPrefix("http://127.0.0.1:") == true)
    #expect(local.contract?.environment["DIORAMA_CONTRACT"]?.hasPrefix("file:") == true)
    await test.stop()
  }

  @Test("and leases end when the token is revoked")
  func revoked() async throws {
    let test = try Self.manager()
    let first = test.manager.serving("first")
    var request = ProvisioningRequest()
    request.configuration.mode = "mock"
    let mine = try await first.provision(request)
    let kept = try await test.manager.provision(request)
    let port = try #require(try await first.leasePorts(PortsRequest(count: 1)).ports.first)
    #expect(first.ports().ports.contains { $0.port == port.port })
    #expect(!test.manager.serving("second").ports().ports.contains { $0.port == port.port })
    #expect(await status { try await test.manager.serving("second").releasePort(UInt16(port.port)) } == 404)
    await test.manager.endAll(of: "first")
    _ = try? await test.manager.end(mine.id)
    #expect(test.manager.environments().environments.map(\.id) == [kept.id])
    #expect(first.ports().ports.isEmpty)
    await test.stop()
  }
}
