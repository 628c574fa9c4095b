import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases
import Testing

@testable import Daemon

@Suite("Provisioning environments", .timeLimit(.minutes(2)))
struct ProvisioningTests {
  private static func error(_ body: () async throws -> Void) async -> DaemonError? {
    do { try await body() } catch { return error as? DaemonError ?? DaemonError(-1, "\(error)", "\(error)") }
    return nil
  }

  @Test("serves its ports, writes its contract, and leaves nothing after its end")
  func life() async throws {
    let test = try TestManager()
    let client = try HTTPClient(.init())
    var request = ProvisioningRequest.mock
    request.ports = ["debug"]
    request.credentials = [EnvironmentConfiguration.Credential(service: "s", account: "a", text: Secret("hush hush"))]
    let environment = try await test.manager.provision(request)
    #expect(environment.state == "ready")
    #expect(await status(of: try #require(environment.endpoints["api"]), client: client) == 501)
    #expect(test.manager.ports().ports.count == 3)
    let contract = try #require(environment.contract)
    #expect(contract.document?.credentials == nil)
    let path = try #require(contract.environment["DIORAMA_CONTRACT"]).dropFirst("file:".count)
    let file = try JSONDecoder().decode(
      LaunchContract.self, from: Data(contentsOf: URL(fileURLWithPath: String(path))))
    #expect(file.credentials?.items.first?.secret.revealed == Data("hush hush".utf8).base64EncodedString())
    #expect(file.ports["debug"] == environment.ports["debug"])
    #expect(test.folder.mode(of: String(path)) == 0o600)

    let report = try await test.manager.end(environment.id)
    #expect(report.requests.unmatched == 1)
    #expect(try test.isEmpty)
    // Open connections get an error; new ones are refused.
    #expect(await status(of: try #require(environment.endpoints["api"]), client: try HTTPClient(.init())) == nil)
    #expect(await Self.error { _ = try test.manager.environment(environment.id) }?.status == 410)
    #expect(await Self.error { _ = try await test.manager.end(environment.id) }?.status == 410)
    #expect(try test.manager.report(environment.id).requests.unmatched == 1)
    #expect(await Self.error { _ = try test.manager.environment("unknown") }?.status == 404)
    #expect(test.log.withLock { !$0.joined().contains("hush") })
    await test.stop()
  }

  @Test("ends once for concurrent callers")
  func concurrentEnds() async throws {
    let test = try TestManager()
    let id = try await test.manager.provision(.mock).id
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 { group.addTask { (try? await test.manager.end(id))?.environment.id ?? "gone" } }
      for try await ended in group { #expect([id, "gone"].contains(ended)) }
    }
    #expect(test.manager.counters().ended["request"] == 1)
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("refuses a cassette being recorded until the other environment has ended")
  func twoRecordings() async throws {
    let test = try TestManager()
    var request = ProvisioningRequest.mock
    request.mode = "record"
    request.cassette = test.folder.path + "/cassettes/one"
    let first = try await test.manager.provision(request)
    request.mode = "once"
    let refusal = await Self.error { _ = try await test.manager.provision(request) }
    #expect(refusal?.status == 409)
    #expect(refusal?.detail.contains(first.id) == true)
    _ = try await test.manager.end(first.id)
    let second = try await test.manager.provision(request)
    #expect(second.mode == "record")
    await test.stop()
  }

  @Test("refuses a cassette outside the roots")
  func roots() async throws {
    let test = try TestManager { $0.cassetteRoots = ["/nowhere/cassettes"] }
    var request = ProvisioningRequest.mock
    request.mode = "once"
    request.cassette = test.folder.path + "/one"
    #expect(await Self.error { _ = try await test.manager.provision(request) }?.status == 422)
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("refuses .proto files and their import paths outside the roots")
  func protoRoots() async throws {
    let test = try TestManager { $0.cassetteRoots = ["/nowhere/cassettes"] }
    for setting in [\ProvisioningRequest.proto, \.protoPaths] {
      var request = ProvisioningRequest.mock
      request[keyPath: setting] = ["/etc/pets.proto"]
      let refusal = await Self.error { _ = try await test.manager.provision(request) }
      #expect(refusal?.status == 422 && refusal?.title == "Path not allowed", "\(refusal?.detail ?? "")")
    }
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("refuses a header for a URL that only the cassette names, with advice for API users")
  func secretOfCassette() async throws {
    let test = try TestManager()
    let cassettes = try ScratchFolder()
    try Data(
      """
      {"log": {"version": "1.2", "creator": {"name": "diorama", "version": "1"}, "_diorama": {"format": 1,
      "recordedAt": "2018-10-08T09:00:00Z", "upstreams": {"api": "http://127.0.0.1:1"}}, "entries": []}}
      """.utf8
    ).write(to: URL(fileURLWithPath: cassettes.path + "/one.har"))
    var request = ProvisioningRequest()
    request.mode = "extend"
    request.cassette = cassettes.path + "/one"
    request.upstreams = ["api": .init(access: UpstreamAccess(headers: ["X-Api-Key": Secret("hush")]))]
    let refusal = await Self.error { _ = try await test.manager.provision(request) }
    #expect(refusal?.status == 422)
    #expect(
      refusal?.detail == "the header X-Api-Key would go to http://127.0.0.1:1, which only the cassette names; "
        + #"name the upstream yourself: "upstreams": {"api": "http://127.0.0.1:1"}"#)
    #expect(try test.isEmpty)
    request.upstreams["api"]?.url = "http://127.0.0.1:1"
    _ = try await test.manager.provision(request)
    #expect(test.log.withLock { !$0.joined().contains("hush") })
    await test.stop()
  }

  @Test("doesn't log values of a refused request, which may be secrets")
  func silentRefusal() async throws {
    let test = try TestManager()
    var request = ProvisioningRequest.mock
    request.upstreams = ["api": "https://ann:hunter2@api.example.com"]
    #expect(await Self.error { _ = try await test.manager.provision(request) }?.status == 422)
    #expect(
      test.log.withLock { $0.contains { $0.contains("environment refused") } && !$0.joined().contains("hunter2") })
    await test.stop()
  }

  @Test("leaves nothing if there are too few ports")
  func portsRunOut() async throws {
    let test = try TestManager { $0.limits.leases = 4 }
    var request = ProvisioningRequest.mock
    request.ports = ["a", "b"]
    request.upstreams = ["x": "https://x.example.com", "y": "https://y.example.com"]
    #expect(await Self.error { _ = try await test.manager.provision(request) } != nil)
    #expect(try test.isEmpty)
    // Its ports are free again.
    request.upstreams = ["x": "https://x.example.com"]
    _ = try await test.manager.provision(request)
    await test.stop()
    #expect(try test.isEmpty)
  }

  @Test("leaves nothing if the contract can't be written")
  func noContract() async throws {
    let folder = try ScratchFolder()
    let test = try TestManager(folder: folder)
    try FileManager.default.removeItem(atPath: folder.path)
    #expect(await Self.error { _ = try await test.manager.provision(.mock) }?.status == 507)
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("leaves nothing if the environment can't be stored")
  func noStore() async throws {
    let test = try TestManager(store: FailingStore())
    #expect(await Self.error { _ = try await test.manager.provision(.mock) }?.status == 507)
    #expect(test.manager.environments().environments.isEmpty)
    #expect(test.manager.pool.leases.isEmpty)
    #expect(test.contracts.isEmpty)
    #expect(test.manager.counters().storeFailures > 0)
    await test.stop()
  }

  @Test("tries another port if one is taken between lease and bind")
  func portIsTaken() async throws {
    let test = try TestManager()
    let ports = EndpointPorts(server: try HTTPServer(), pool: test.manager.pool)
    let taken = Guarded<UInt16?>(nil)
    // The pool leases ports in order, so this blocks the next one.
    let next = try test.manager.pool.lease(PortRequest(count: 1))[0].port
    let thief = try ListeningSocket(in: (next + 1)...(next + 1))
    taken.withLock { $0 = thief.port }
    let reserved = try ports.reserve(for: "e")
    #expect(reserved.port != thief.port)
    #expect(test.manager.pool.leases.filter { $0.environment == "e" }.map(\.port) == [reserved.port])
    reserved.close()
    withExtendedLifetime(thief) {}
    await ports.server.stop()
    test.manager.pool.release(environment: "e")
    await test.stop()
  }
}
