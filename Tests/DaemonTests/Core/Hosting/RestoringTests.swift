import ControlAPI
import EnvironmentService
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases
import Testing

@testable import Daemon

@Suite("A host after a kill", .timeLimit(.minutes(2)))
struct RestoringTests {
  @Test("has its environments on the same ports, with what had changed, their contracts and their journals")
  func environments() async throws {
    let client = try HTTPClient(.init())
    let first = try TestHost()
    var request = ProvisioningRequest.mock
    request.toggles = ["a": .bool(true)]
    request.ports = ["debug"]
    let before = try await first.host.provision(request)
    let endpoint = try #require(before.endpoints["api"])
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .null, "b": .int(2)]
    #expect(try await first.host.patch(before.id, patch).revision == 1)
    #expect(await status(of: endpoint, client: client) == 501)
    // It gets there by itself, a tenth of a second after it was made.
    try await until { first.host.journal.written == 1 }

    let second = try TestHost(store: try await first.die(), folder: first.folder)
    try await second.host.restore()
    let after = try second.host.environment(before.id)
    #expect(after.port == before.port)
    #expect(after.endpoints == before.endpoints)
    #expect(after.ports == before.ports)
    #expect(after.contract?.environment == before.contract?.environment)
    #expect(after.contract?.document?.toggles == ["b": .int(2)])
    #expect(after.createdAt == before.createdAt)
    #expect(await status(of: endpoint, client: client) == 501)
    let page = try await second.host.waitForJournal(before.id, after: 1, limit: 10, timeout: .seconds(20))
    #expect(page.entries.map(\.number) == [2])
    #expect(try second.host.journal(before.id, after: 0, limit: 10).entries.map(\.number) == [1, 2])
    #expect(try second.host.report(before.id).requests.unmatched == 2)
    _ = try await second.host.end(before.id)
    #expect(try second.isEmpty)
    await second.stop()
  }

  @Test("has its leases, and none of environments that nobody was told of")
  func leases() async throws {
    let first = try TestHost()
    let leased = try await first.host.leasePorts(PortsRequest(names: ["a", "b"])).ports.map(\.port)
    _ = try first.host.pool.lease(PortRequest(count: 2, environment: "half made", holds: false))
    let second = try TestHost(store: try await first.die(), folder: first.folder)
    try await second.host.restore()
    #expect(second.host.ports().ports.map(\.port) == leased)
    #expect(try second.store.load().leases.count == 2)
    await second.stop()
    #expect(try second.store.load().leases.count == 2, "they outlive an orderly end, too")
  }

  @Test("ends what cannot come back, says why, and leaves nothing of it")
  func lost() async throws {
    let first = try TestHost()
    let taken = try await first.host.provision(.mock)
    let whole = try await first.host.provision(.mock)
    let store = try await first.die()
    try store.save(environment: "garbage", document: Data("{}".utf8))
    // Somebody else has its port by now.
    let thief = try HTTPServer()
    try thief.listen(on: UInt16(taken.port), handler: NoAnswer())
    let second = try TestHost(store: store, folder: first.folder)
    try await second.host.restore()
    #expect(second.host.environments().environments.map(\.id) == [whole.id])
    #expect(second.host.counters().ended["lost"] == 2)
    let report = try second.host.report(taken.id)
    #expect(!report.ok)
    #expect(report.failures.first?.contains("could not come back") == true)
    #expect(try !second.host.report("garbage").ok)
    #expect(second.log.withLock { $0.filter { $0.contains("could not come back") }.count } == 2)
    #expect(try second.store.load().environments.map(\.id) == [whole.id])
    #expect(second.contracts.count == 1)
    await thief.stop()
    await second.stop()
    #expect(try second.isEmpty)
  }

  @Test("does not bring back what was ending: its recording is sealed, its ports are free")
  func ending() async throws {
    let first = try TestHost()
    let environment = try await first.host.provision(.mock)
    try first.host.hosted(environment.id).hosted.saveEnding()
    let second = try TestHost(store: try await first.die(), folder: first.folder)
    try await second.host.restore()
    #expect(try second.isEmpty)
    #expect(throws: DaemonError.self) { try second.host.environment(environment.id) }
    #expect(try second.host.report(environment.id).failures.count == 1)
    await second.stop()
  }

  @Test("writes a contract again that is gone, and removes one that nobody was told of")
  func contracts() async throws {
    let first = try TestHost()
    let environment = try await first.host.provision(.mock)
    for name in first.contracts { unlink("\(first.folder.path)/\(name)") }
    try Data().write(to: URL(fileURLWithPath: "\(first.folder.path)/contract-of-nobody.json"))
    let second = try TestHost(store: try await first.die(), folder: first.folder)
    try await second.host.restore()
    let path = try #require(try second.host.environment(environment.id).contract?.environment["DIORAMA_CONTRACT"])
    #expect(second.contracts.map { "file:\(second.folder.path)/\($0)" } == [path])
    await second.stop()
    #expect(try second.isEmpty)
  }

  @Test("ends at once what was over meanwhile")
  func over() async throws {
    let first = try TestHost()
    var request = ProvisioningRequest.mock
    request.ttlSeconds = 100
    let environment = try await first.host.provision(request)
    let second = try TestHost(store: try await first.die(), folder: first.folder)
    try await second.host.restore()
    second.host.tick(now: Date(timeIntervalSinceNow: 200))
    _ = try? await second.host.end(environment.id)
    #expect(second.host.counters().ended["time"] == 1)
    #expect(try second.isEmpty)
    await second.stop()
  }
}
