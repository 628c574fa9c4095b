import Daemon
import Foundation
import HTTPMessages
import HTTPServer

/// A store whose disk is full: environments cannot be saved, all else is forgotten.
struct FailingStore: DaemonStore {
  func load() throws(StoreError) -> StoredState { StoredState() }
  func save(environment id: String, document: Data) throws(StoreError) {
    throw StoreError("the disk is full; make room on it", kind: .full)
  }
  func save(traffic document: Data, of environment: String) throws(StoreError) {}
  func remove(environment id: String) throws(StoreError) {}
  func save(leases: [(port: UInt16, document: Data)]) throws(StoreError) {}
  func remove(leases ports: [UInt16]) throws(StoreError) {}
  func append(journal entries: [StoredJournalEntry]) throws(StoreError) {}
  func trim(journal environment: String, through number: Int) throws(StoreError) {}
  func journal(of environment: String, after number: Int, limit: Int) throws(StoreError) -> [StoredJournalEntry] { [] }
  func close() {}
}

/// Answers nothing of interest.
struct NoAnswer: RequestHandler {
  func respond(to request: Request) async throws -> Response { Response(status: 204) }
}
