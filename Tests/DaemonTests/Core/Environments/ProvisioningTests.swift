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

@Suite("An environment of a manager", .timeLimit(.minutes(2)))
struct ProvisioningTests {
  private static func error(_ body: () async throws -> Void) async -> DaemonError? {
    do { try await body() } catch { return error as? DaemonError ?? DaemonError(-1, "\(error)", "\(error)") }
    return nil
  }

  @Test("answers at its ports, has its contract in a file, and leaves nothing when it has ended")
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
    // Connections from before are told so; nobody new gets in.
    #expect(await status(of: try #require(environment.endpoints["api"]), client: try HTTPClient(.init())) == nil)
    #expect(await Self.error { _ = try test.manager.environment(environment.id) }?.status == 410)
    #expect(await Self.error { _ = try await test.manager.end(environment.id) }?.status == 410)
    #expect(try test.manager.report(environment.id).requests.unmatched == 1)
    #expect(await Self.error { _ = try test.manager.environment("nobody") }?.status == 404)
    #expect(test.log.withLock { !$0.joined().contains("hush") })
    await test.stop()
  }

  @Test("has one end and one report, however many ask for it at once")
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

  @Test("is refused a cassette that another one records, and gets it when that has ended")
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
    _ = try await test.manager.end(first.id, keepEmptyRecording: false)
    let second = try await test.manager.provision(request)
    #expect(second.mode == "record")
    await test.stop()
  }

  @Test("is refused a cassette outside of the roots")
  func roots() async throws {
    let test = try TestManager { $0.cassetteRoots = ["/nowhere/cassettes"] }
    var request = ProvisioningRequest.mock
    request.mode = "once"
    request.cassette = test.folder.path + "/one"
    #expect(await Self.error { _ = try await test.manager.provision(request) }?.status == 422)
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("is refused a header for a URL that only the cassette names, in the words of the API")
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

  @Test("is refused without a word in the log of what was written, which may be a secret")
  func silentRefusal() async throws {
    let test = try TestManager()
    var request = ProvisioningRequest.mock
    request.upstreams = ["api": "https://ann:hunter2@api.example.com"]
    #expect(await Self.error { _ = try await test.manager.provision(request) }?.status == 422)
    #expect(test.log.withLock { $0.contains { $0.contains("was refused") } && !$0.joined().contains("hunter2") })
    await test.stop()
  }

  @Test("leaves nothing when there are not enough ports for all of its endpoints")
  func portsRunOut() async throws {
    let test = try TestManager { $0.limits.leases = 4 }
    var request = ProvisioningRequest.mock
    request.ports = ["a", "b"]
    request.upstreams = ["x": "https://x.example.com", "y": "https://y.example.com"]
    #expect(await Self.error { _ = try await test.manager.provision(request) } != nil)
    #expect(try test.isEmpty)
    // What it had taken is there for others.
    request.upstreams = ["x": "https://x.example.com"]
    _ = try await test.manager.provision(request)
    await test.stop()
    #expect(try test.isEmpty)
  }

  @Test("leaves nothing when its contract cannot be written")
  func noContract() async throws {
    let folder = try ScratchFolder()
    let test = try TestManager(folder: folder)
    try FileManager.default.removeItem(atPath: folder.path)
    #expect(await Self.error { _ = try await test.manager.provision(.mock) }?.status == 507)
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("leaves nothing when it cannot be stored")
  func noStore() async throws {
    let test = try TestManager(store: FailingStore())
    #expect(await Self.error { _ = try await test.manager.provision(.mock) }?.status == 507)
    #expect(test.manager.environments().environments.isEmpty)
    #expect(test.manager.pool.leases.isEmpty)
    #expect(test.contracts.isEmpty)
    #expect(test.manager.counters().storeFailures > 0)
    await test.stop()
  }

  @Test("takes another port where one is taken between lease and bind")
  func portIsTaken() async throws {
    let test = try TestManager()
    let ports = EndpointPorts(server: try HTTPServer(), pool: test.manager.pool)
    let taken = Guarded<UInt16?>(nil)
    // The pool hands out ports one after the other: whoever sits on the next but one is met.
    let next = try test.manager.pool.lease(PortRequest(count: 1))[0].port
    let thief = try ListeningSocket(in: (next + 1)...(next + 1))
    taken.withLock { $0 = thief.port }
    let listener = try ports.listen(for: "e", handler: NoAnswer())
    #expect(listener.port != thief.port)
    #expect(test.manager.pool.leases.filter { $0.environment == "e" }.map(\.port) == [listener.port])
    listener.close()
    withExtendedLifetime(thief) {}
    await ports.server.stop()
    test.manager.pool.release(environment: "e")
    await test.stop()
  }
}
