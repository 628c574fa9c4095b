import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import Daemon

@Suite("A host whose disk is full for a while", .timeLimit(.minutes(2)))
struct FullDiskTests {
  private static var patch: EnvironmentPatch {
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .int(1)]
    return patch
  }

  private static var move: ClockMoveRequest {
    var move = ClockMoveRequest()
    move.advance = 5
    return move
  }

  @Test("does not acknowledge a change that a restart would take back")
  func change() async throws {
    let store = FillingStore()
    let test = try TestHost(store: store)
    let id = try await test.host.provision(.mock).id
    let patch = Self.patch
    store.isFull.withLock { $0 = true }
    let patched = await #expect(throws: DaemonError.self) { _ = try await test.host.patch(id, patch) }
    #expect(patched?.status == 507)
    #expect(patched?.detail.contains("the disk is full; make room on it") == true)
    let move = Self.move
    let moved = await #expect(throws: DaemonError.self) { _ = try await test.host.moveClock(id, move) }
    #expect(moved?.status == 507)
    store.isFull.withLock { $0 = false }
    #expect(try await test.host.patch(id, patch).revision == 3)
    let document = try #require(try store.load().environments.first).document
    let record = try JSONDecoder().decode(EnvironmentRecord.self, from: document)
    #expect(record.snapshot.lastJournalNumber == 0)
    await test.stop()
    #expect(try test.isEmpty)
  }

  @Test("takes an environment that ended meanwhile out of the store as soon as there is room")
  func end() async throws {
    let store = FillingStore()
    let test = try TestHost(store: store)
    let id = try await test.host.provision(.mock).id
    store.isFull.withLock { $0 = true }
    _ = try await test.host.end(id)
    test.host.tick()
    #expect(try store.load().environments.map(\.id) == [id])
    store.isFull.withLock { $0 = false }
    test.host.tick()
    #expect(try store.load().environments.isEmpty)
    await test.stop()
  }
}

/// A store in memory whose disk can be full.
private final class FillingStore: DaemonStore {
  let isFull = Guarded(false)
  private let store = InMemoryStore()

  private func write(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    guard !isFull.withLock({ $0 }) else { throw StoreError("the disk is full; make room on it", kind: .full) }
    try body()
  }

  func load() throws(StoreError) -> StoredState { try store.load() }
  func save(environment id: String, document: Data) throws(StoreError) {
    try write { () throws(StoreError) in try store.save(environment: id, document: document) }
  }
  func save(traffic document: Data, of environment: String) throws(StoreError) {
    try write { () throws(StoreError) in try store.save(traffic: document, of: environment) }
  }
  func remove(environment id: String) throws(StoreError) {
    try write { () throws(StoreError) in try store.remove(environment: id) }
  }
  func save(leases: [(port: UInt16, document: Data)]) throws(StoreError) {
    try write { () throws(StoreError) in try store.save(leases: leases) }
  }
  func remove(leases ports: [UInt16]) throws(StoreError) {
    try write { () throws(StoreError) in try store.remove(leases: ports) }
  }
  func append(journal entries: [StoredJournalEntry]) throws(StoreError) {
    try write { () throws(StoreError) in try store.append(journal: entries) }
  }
  func trim(journal environment: String, through number: Int) throws(StoreError) {
    try write { () throws(StoreError) in try store.trim(journal: environment, through: number) }
  }
  func journal(of environment: String, after number: Int, limit: Int) throws(StoreError) -> [StoredJournalEntry] {
    try store.journal(of: environment, after: number, limit: limit)
  }
  func close() { store.close() }
}
