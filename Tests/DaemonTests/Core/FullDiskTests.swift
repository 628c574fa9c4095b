import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases
import Testing

@testable import Daemon

@Suite("Environment manager with a full disk", .timeLimit(.minutes(2)))
struct FullDiskTests {
  private let store = RefusingStore()

  private func refusal(_ body: () async throws -> Void) async -> DaemonError? {
    do { try await body() } catch { return error as? DaemonError }
    return nil
  }

  @Test("refuses changes, and accepts them again once there is space")
  func changes() async throws {
    let test = try TestManager(store: store)
    let id = try await test.manager.provision(.mock).id
    let before = try test.manager.report(id).clock.now
    store.leaveRoom(for: 0)
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .bool(true)]
    var move = ClockMoveRequest()
    move.advance = 90
    for number in 0..<3 {
      let error = await refusal {
        if number == 0 {
          _ = try await test.manager.patch(id, patch)
        } else {
          _ = try await test.manager.moveClock(id, move)
        }
      }
      #expect(error?.status == 507 && error?.kind == "cannotWrite")
      #expect(error?.detail.contains("nothing has changed") == true)
      #expect(error?.detail.hasSuffix("the disk of /some/state is full; free some space") == true)
    }
    #expect(try test.manager.report(id).clock.now == before)
    #expect(try test.manager.environment(id).contract?.document?.toggles == [:])
    store.leaveRoom(for: .max)
    #expect(try await test.manager.moveClock(id, move).revision == 1)
    await test.stop()
  }

  @Test("refuses to lease and release ports")
  func leases() async throws {
    let test = try TestManager(store: store)
    let port = try #require(try await test.manager.leasePorts(PortsRequest(count: 1)).ports.first?.port)
    store.leaveRoom(for: 0)
    #expect(await refusal { _ = try await test.manager.leasePorts(PortsRequest(count: 1)) }?.status == 507)
    #expect(await refusal { try await test.manager.releasePort(UInt16(port)) }?.status == 507)
    #expect(test.manager.ports().ports.map(\.port) == [port])
    store.leaveRoom(for: .max)
    try await test.manager.releasePort(UInt16(port))
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("removes an environment that can't be stored, wherever the error occurs", arguments: 0...2)
  func provisioning(writes: Int) async throws {
    let test = try TestManager(store: store)
    store.leaveRoom(for: writes)
    #expect(await refusal { _ = try await test.manager.provision(.mock) }?.status == 507)
    store.leaveRoom(for: .max)
    test.manager.tick()
    #expect(
      test.manager.environments().environments.isEmpty && test.manager.pool.leases.isEmpty && test.contracts.isEmpty)
    #expect(try store.load().environments.isEmpty)
    await test.stop()
  }

  @Test("ends an environment, and removes it from the store once there is space")
  func ending() async throws {
    let test = try TestManager(store: store)
    let id = try await test.manager.provision(.mock).id
    store.leaveRoom(for: 0)
    #expect(try await test.manager.end(id).ok)
    #expect(try store.load().environments.map(\.id) == [id])
    test.manager.tick()
    store.leaveRoom(for: .max)
    test.manager.tick()
    #expect(try store.load().environments.isEmpty)
    #expect(test.log.withLock { $0.filter { $0.contains("cannot remove an environment from the store") }.count } == 1)
    await test.stop()
  }

  @Test("refuses changes if SQLite's database is full")
  func database() async throws {
    let folder = try ScratchFolder()
    let store = try SQLiteStore(in: StateFolder(folder.state))
    let test = try TestManager(store: store)
    let id = try await test.manager.provision(.mock).id
    try store.limit(pages: 40)
    var patch = EnvironmentPatch()
    patch.values = ["large": .string(String(repeating: "x", count: 400_000))]
    let error = await refusal { _ = try await test.manager.patch(id, patch) }
    #expect(error?.status == 507)
    #expect(error?.detail.contains(folder.state) == true && error?.detail.contains("free some space") == true)
    // The next change stores this one, too.
    try store.limit(pages: 100_000)
    patch.values = ["small": .int(1)]
    #expect(try await test.manager.patch(id, patch).revision == 2)
    let stored = try #require(try store.load().environments.first).document
    #expect(stored.count > 400_000 && stored.range(of: Data("\"small\"")) != nil)
    _ = try await test.manager.end(id)
    #expect(try store.load().environments.isEmpty)
    await test.stop()
    store.close()
  }
}

/// An in-memory store that can simulate a full disk.
final class RefusingStore: DaemonStore {
  private let memory = InMemoryStore()
  /// How many more writes succeed.
  private let room = Guarded(Int.max)

  /// Lets this many more writes succeed.
  func leaveRoom(for writes: Int) { room.withLock { $0 = writes } }

  private func take() throws(CodedError) {
    let isFull = room.withLock { room in
      room -= 1
      return room < 0
    }
    if isFull { throw CodedError(.cannotWrite, "the disk of /some/state is full; free some space") }
  }

  func load() throws(CodedError) -> StoredState { try memory.load() }
  func save(environment id: String, document: Data) throws(CodedError) {
    try take()
    try memory.save(environment: id, document: document)
  }
  func save(traffic document: Data, of environment: String) throws(CodedError) {
    try take()
    try memory.save(traffic: document, of: environment)
  }
  func remove(environment id: String) throws(CodedError) {
    try take()
    try memory.remove(environment: id)
  }
  func save(leases: [(port: UInt16, document: Data)]) throws(CodedError) {
    try take()
    try memory.save(leases: leases)
  }
  func remove(leases ports: [UInt16]) throws(CodedError) {
    try take()
    try memory.remove(leases: ports)
  }
  func append(journal entries: [StoredJournalEntry]) throws(CodedError) {
    try take()
    try memory.append(journal: entries)
  }
  func trim(journal environment: String, through number: Int) throws(CodedError) {
    try memory.trim(journal: environment, through: number)
  }
  func journal(of environment: String, after number: Int, limit: Int) throws(CodedError) -> [StoredJournalEntry] {
    try memory.journal(of: environment, after: number, limit: limit)
  }
  func close() { memory.close() }
}

/// A store that can't save environments, and ignores all other writes.
struct FailingStore: DaemonStore {
  func load() throws(CodedError) -> StoredState { StoredState() }
  func save(environment id: String, document: Data) throws(CodedError) {
    throw CodedError(.cannotWrite, "the disk is full; free some space")
  }
  func save(traffic document: Data, of environment: String) throws(CodedError) {}
  func remove(environment id: String) throws(CodedError) {}
  func save(leases: [(port: UInt16, document: Data)]) throws(CodedError) {}
  func remove(leases ports: [UInt16]) throws(CodedError) {}
  func append(journal entries: [StoredJournalEntry]) throws(CodedError) {}
  func trim(journal environment: String, through number: Int) throws(CodedError) {}
  func journal(of environment: String, after number: Int, limit: Int) throws(CodedError) -> [StoredJournalEntry] { [] }
  func close() {}
}

/// Answers 204 to each request.
struct NoAnswer: RequestHandler {
  func respond(to request: Request) async throws -> Response { Response(status: 204) }
}
