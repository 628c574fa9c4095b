import Daemon
import Foundation
import HTTPMessages

/// A store in memory whose disk is full now and then.
final class RefusingStore: DaemonStore {
  private let memory = InMemoryStore()
  /// After so many more writes there is no room.
  private let room = Guarded(Int.max)

  /// From now on so many writes are taken.
  func leaveRoom(for writes: Int) { room.withLock { $0 = writes } }

  private func take() throws(StoreError) {
    let isFull = room.withLock { room in
      room -= 1
      return room < 0
    }
    if isFull { throw StoreError("the disk of /some/state is full; make room on it", kind: .full) }
  }

  func load() throws(StoreError) -> StoredState { try memory.load() }
  func save(environment id: String, document: Data) throws(StoreError) {
    try take()
    try memory.save(environment: id, document: document)
  }
  func save(traffic document: Data, of environment: String) throws(StoreError) {
    try take()
    try memory.save(traffic: document, of: environment)
  }
  func remove(environment id: String) throws(StoreError) {
    try take()
    try memory.remove(environment: id)
  }
  func save(leases: [(port: UInt16, document: Data)]) throws(StoreError) {
    try take()
    try memory.save(leases: leases)
  }
  func remove(leases ports: [UInt16]) throws(StoreError) {
    try take()
    try memory.remove(leases: ports)
  }
  func append(journal entries: [StoredJournalEntry]) throws(StoreError) {
    try take()
    try memory.append(journal: entries)
  }
  func trim(journal environment: String, through number: Int) throws(StoreError) {
    try memory.trim(journal: environment, through: number)
  }
  func journal(of environment: String, after number: Int, limit: Int) throws(StoreError) -> [StoredJournalEntry] {
    try memory.journal(of: environment, after: number, limit: limit)
  }
  func close() { memory.close() }
}
