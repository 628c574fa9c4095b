import Basics
import ControlAPI
import EnvironmentConfiguration
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases
import Testing

@testable import Daemon
@testable import EnvironmentService

@Suite("Restoring environments after a kill", .timeLimit(.minutes(2)))
struct RestoringTests {
  @Test("restores environments with their ports, changes, contracts and journals")
  func environments() async throws {
    let client = try HTTPClient(.init())
    let first = try TestManager()
    var request = ProvisioningRequest.mock
    request.toggles = ["a": .bool(true)]
    request.ports = ["debug"]
    let before = try await first.manager.provision(request)
    let endpoint = try #require(before.endpoints["api"])
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .null, "b": .int(2)]
    #expect(try await first.manager.patch(before.id, patch).revision == 1)
    #expect(await status(of: endpoint, client: client) == 501)
    // Entries are written within a tenth of a second.
    try await until { first.manager.journal.written == 1 }

    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    let after = try second.manager.environment(before.id)
    #expect(after.port == before.port)
    #expect(after.endpoints == before.endpoints)
    #expect(after.ports == before.ports)
    #expect(after.contract?.environment == before.contract?.environment)
    #expect(after.contract?.document?.toggles == ["b": .int(2)])
    #expect(after.createdAt == before.createdAt)
    #expect(await status(of: endpoint, client: client) == 501)
    let follower = try second.manager.followJournal(before.id)
    let page = try #require(try await follower.next(after: 1, limit: 10, timeout: .seconds(20)))
    #expect(page.entries.map(\.number) == [2])
    #expect(try second.manager.journal(before.id, after: 0, limit: 10).entries.map(\.number) == [1, 2])
    #expect(try second.manager.report(before.id).requests.unmatched == 2)
    _ = try await second.manager.end(before.id)
    #expect(try second.isEmpty)
    await second.stop()
  }

  @Test("restores changes made by requests, which are stored incrementally")
  func traffic() async throws {
    let client = try HTTPClient(.init())
    let cassettes = try ScratchFolder()
    try Data(Self.har.utf8).write(to: URL(fileURLWithPath: cassettes.path + "/one.har"))
    let first = try TestManager()
    var request = ProvisioningRequest.mock
    request.mode = "replay"
    request.cassette = cassettes.path + "/one"
    let before = try await first.manager.provision(request)
    let endpoint = try #require(before.endpoints["api"])
    let document = try #require(try first.store.load().environments.first).document
    for _ in 0..<3 { #expect(await status(of: endpoint, client: client) == 200) }
    try await until { first.manager.journal.written == 3 }
    let stored = try #require(try first.store.load().environments.first)
    #expect(stored.document == document)
    #expect(stored.traffic.map { (1..<1000).contains($0.count) } == true)

    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    #expect(try second.manager.report(before.id).requests.replayed == 3)
    #expect(try second.manager.report(before.id).unused.isEmpty)
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .int(1)]
    _ = try await second.manager.patch(before.id, patch)
    let changed = try #require(try second.store.load().environments.first)
    #expect(changed.document != document)
    #expect(changed.traffic == nil)
    await second.stop()
  }

  @Test("continues a strict playback with the requested rules")
  func strict() async throws {
    let client = try HTTPClient(.init())
    let cassettes = try ScratchFolder()
    let har = Self.har("x", "y", "x", "z")
    try Data(har.utf8).write(to: URL(fileURLWithPath: cassettes.path + "/one.har"))
    let first = try TestManager()
    var request = ProvisioningRequest.mock
    request.mode = "replay"
    request.cassette = cassettes.path + "/one"
    request.matching = .init(rules: [.init(ignore: .init(query: ["_"]))], order: .strict)
    let before = try await first.manager.provision(request)
    let origin = try #require(before.endpoints["api"])
    func get(_ target: String) async -> Int? { await status(of: origin, target, client: client) }
    #expect(await get("/x?_=1") == 200)
    #expect(await get("/z?_=1") == 501)
    #expect(await get("/y?_=1") == 200)
    try await until { first.manager.journal.written == 3 }

    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    #expect(await get("/z?_=2") == 501)
    #expect(await get("/x?_=2") == 200)
    #expect(await get("/x?_=2") == 501)
    #expect(await get("/z?_=2") == 200)
    let report = try await second.manager.end(before.id)
    #expect(report.requests.replayed == 4)
    #expect(report.requests.unmatched == 3)
    #expect(report.unused.isEmpty)
    await second.stop()
  }

  /// A cassette with responses for these paths.
  private static func har(_ paths: String...) -> String {
    let entries = paths.enumerated().map { number, path in
      Self.har.split(separator: "\n").dropFirst().joined().dropLast(3)
        .replacingOccurrences(of: "09:00:00Z", with: "09:00:0\(number * 2)Z")
        .replacingOccurrences(of: "/x", with: "/\(path)")
    }
    return #"{"log": {"version": "1.2", "creator": {"name": "a test", "version": "1"}, "entries": ["#
      + entries.joined(separator: ",") + "]}}"
  }

  /// A cassette with a response for `/x`.
  private static let har = """
    {"log": {"version": "1.2", "creator": {"name": "a test", "version": "1"}, "entries": [
      {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
       "request": {"method": "GET", "url": "https://api.example.com/x", "httpVersion": "HTTP/1.1", "headers": [],
                   "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
       "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                    "content": {"size": 2, "mimeType": "text/plain", "text": "ok"}, "redirectURL": "",
                    "headersSize": -1, "bodySize": 2}}]}}
    """

  @Test("restores leases, except those of unfinished environments")
  func leases() async throws {
    let first = try TestManager()
    let leased = try await first.manager.leasePorts(PortsRequest(names: ["a", "b"])).ports.map(\.port)
    _ = try first.manager.pool.lease(PortRequest(count: 2, environment: "half made", holds: false))
    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    #expect(second.manager.ports().ports.map(\.port) == leased)
    #expect(try second.store.load().leases.count == 2)
    await second.stop()
    #expect(try second.store.load().leases.count == 2, "leases survive a regular stop, too")
  }

  @Test("ends environments that can't be restored, and reports why")
  func lost() async throws {
    let first = try TestManager()
    let taken = try await first.manager.provision(.mock)
    let whole = try await first.manager.provision(.mock)
    let store = try await first.die()
    try store.save(environment: "garbage", document: Data("{}".utf8))
    // Another program has its port now.
    let thief = try HTTPServer()
    try thief.listen(on: UInt16(taken.port), handler: NoAnswer())
    let second = try TestManager(store: store, folder: first.folder)
    try await second.manager.restore()
    #expect(second.manager.environments().environments.map(\.id) == [whole.id])
    #expect(second.manager.counters().ended["lost"] == 2)
    let report = try second.manager.report(taken.id)
    #expect(!report.ok)
    #expect(report.failures.first?.contains("could not be restored") == true)
    #expect(try !second.manager.report("garbage").ok)
    #expect(second.log.withLock { $0.filter { $0.contains("cannot restore an environment") }.count } == 2)
    #expect(try second.store.load().environments.map(\.id) == [whole.id])
    #expect(second.contracts.count == 1)
    await thief.stop()
    await second.stop()
    #expect(try second.isEmpty)
  }

  @Test("doesn't restore an environment that was ending")
  func ending() async throws {
    let first = try TestManager()
    let environment = try await first.manager.provision(.mock)
    try first.manager.hosted(environment.id).hosted.saveEnding(hasSucceeded: true)
    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    #expect(try second.isEmpty)
    #expect(throws: DaemonError.self) { try second.manager.environment(environment.id) }
    #expect(try second.manager.report(environment.id).failures.count == 1)
    await second.stop()
  }

  /// Kills a daemon while it ends an environment that recorded one value.
  private func killedWhileEnding(
    _ cassette: String, hasSucceeded: Bool = true
  ) async throws -> (id: String, next: TestManager) {
    let first = try TestManager()
    var request = ProvisioningRequest.mock
    request.mode = "record"
    request.cassette = cassette
    let id = try await first.manager.provision(request).id
    #expect(try await first.manager.strings(id, body: Array(#"{"key": "email"}"#.utf8)).status == 200)
    let hosted = try first.manager.hosted(id).hosted
    try hosted.saveEnding(hasSucceeded: hasSucceeded)
    // A kill releases the files, too.
    hosted.environment?.recorder?.release()
    return (id, try TestManager(store: try await first.die(), folder: first.folder))
  }

  @Test("saves the recording of an environment that was ending")
  func endingRecording() async throws {
    let cassettes = try ScratchFolder()
    let location = CassetteLocation(cassettes.path + "/one")
    let (id, second) = try await killedWhileEnding(location.base)
    try await second.manager.restore()
    let report = try second.manager.report(id)
    #expect(report.recording?.outcome == .written)
    #expect(report.failures.first?.contains("its recording was saved") == true)
    #expect(location.exists)
    #expect(access(location.partial, F_OK) != 0)
    await second.stop()
  }

  @Test("keeps aside the recording of an environment that was ending because its test failed")
  func failingRecording() async throws {
    let cassettes = try ScratchFolder()
    let location = CassetteLocation(cassettes.path + "/one")
    let (id, second) = try await killedWhileEnding(location.base, hasSucceeded: false)
    try await second.manager.restore()
    let report = try second.manager.report(id)
    #expect(report.recording?.outcome == .aside)
    #expect(report.failures.first?.contains("its recording was kept as \(location.base).failed.har") == true)
    #expect(!location.exists && location.failed?.exists == true)
    await second.stop()
  }

  @Test("reports a recording that could not be saved, and keeps its partial files")
  func unsealed() async throws {
    let cassettes = try ScratchFolder()
    let location = CassetteLocation(cassettes.path + "/one")
    let (id, second) = try await killedWhileEnding(location.base)
    // Another process is recovering it.
    var lock = try PartialLock.existing(location)
    #expect(lock != nil)
    try await second.manager.restore()
    let report = try second.manager.report(id)
    #expect(report.recording == .unsealed)
    #expect(!report.ok)
    let failure = try #require(report.failures.first)
    #expect(failure.contains("could not be saved"))
    #expect(failure.contains("diorama cassette check --recover \(location.base)"))
    #expect(!failure.contains("was saved"))
    lock = nil
    #expect(try CassetteRecovery.recover(location)?.strings == 1)
    await second.stop()
  }

  @Test("refuses a state of a later version without changing it")
  func newer() async throws {
    let first = try TestManager()
    let ids = [try await first.manager.provision(.mock).id, try await first.manager.provision(.mock).id]
    let store = try await first.die()
    let document = try #require(try store.load().environments.last).document
    var record = try #require(try JSONSerialization.jsonObject(with: document) as? [String: Any])
    var snapshot = try #require(record["snapshot"] as? [String: Any])
    snapshot["format"] = EnvironmentSnapshot.format + 1
    record["snapshot"] = snapshot
    try store.save(environment: ids[1], document: try JSONSerialization.data(withJSONObject: record))
    let before = try store.load()
    let second = try TestManager(store: store, folder: first.folder)
    let error = await #expect(throws: CodedError.self) { try await second.manager.restore() }
    #expect(error?.kind == .broken)
    #expect(error?.description.contains("use the newer diorama") == true)
    #expect(try store.load() == before)
    #expect(second.contracts.count == 2)
    await second.stop()
  }

  @Test("refuses a state with invalid JSON without changing it")
  func damaged() async throws {
    let first = try TestManager()
    let id = try await first.manager.provision(.mock).id
    _ = try await first.manager.provision(.mock)
    let store = try await first.die()
    try store.save(environment: id, document: Data(repeating: 0xA5, count: 500))
    let before = try store.load()
    let second = try TestManager(store: store, folder: first.folder)
    let error = await #expect(throws: CodedError.self) { try await second.manager.restore() }
    #expect(error?.kind == .broken)
    #expect(error?.description.contains("environment \(id) is not JSON") == true)
    #expect(try store.load() == before)
    #expect(second.contracts.count == 2)
    await second.stop()
  }

  @Test("rewrites a missing contract, and removes those of unfinished environments")
  func contracts() async throws {
    let first = try TestManager()
    let environment = try await first.manager.provision(.mock)
    for name in first.contracts { unlink("\(first.folder.path)/\(name)") }
    try Data().write(to: URL(fileURLWithPath: "\(first.folder.path)/unknown-contract.json"))
    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    let path = try #require(try second.manager.environment(environment.id).contract?.environment["DIORAMA_CONTRACT"])
    #expect(second.contracts.map { "file:\(second.folder.path)/\($0)" } == [path])
    await second.stop()
    #expect(try second.isEmpty)
  }

  @Test("ends restored environments whose time is up")
  func over() async throws {
    let first = try TestManager()
    var request = ProvisioningRequest.mock
    request.ttlSeconds = 100
    let environment = try await first.manager.provision(request)
    let second = try TestManager(store: try await first.die(), folder: first.folder)
    try await second.manager.restore()
    second.manager.tick(now: Date(timeIntervalSinceNow: 200))
    _ = try? await second.manager.end(environment.id)
    #expect(second.manager.counters().ended["time"] == 1)
    #expect(try second.isEmpty)
    await second.stop()
  }
}

@Suite("Stored leases")
struct LeaseDocumentTests {
  @Test("are decoded as they were encoded")
  func roundTrip() throws {
    let start = Date(timeIntervalSinceReferenceDate: 817_812_345.123_456_7)
    let leases = [
      PortLease(port: 20_000, since: start), PortLease(port: 1, since: Date(timeIntervalSinceReferenceDate: 0)),
      PortLease(
        port: 65_535, name: #"de"bug\ é/😀"#, owner: PortOwner(pid: getpid()), environment: "e-1",
        since: start, endsAt: start + 31_622_400, holds: false),
    ]
    #expect(leases[2].owner != nil)
    for lease in leases {
      #expect(try JSONDecoder().decode(PortLease.self, from: lease.document) == lease)
      // The JSON equals what earlier versions stored.
      let members = try JSONSerialization.jsonObject(with: lease.document) as? NSDictionary
      #expect(members == (try JSONSerialization.jsonObject(with: JSONEncoder().encode(lease)) as? NSDictionary))
    }
  }
}
