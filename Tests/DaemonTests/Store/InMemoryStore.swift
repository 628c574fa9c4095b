import Daemon
import Foundation
import HTTPMessages

/// A store that forgets with its process, for tests of what stands on one.
final class InMemoryStore: DaemonStore {
  private struct State {
    var isClosed = false
    var environments: [(id: String, document: Data)] = []
    var traffic: [String: Data] = [:]
    var leases: [UInt16: Data] = [:]
    var journal: [String: [Int: Data]] = [:]

    mutating func open() throws(StoreError) {
      if isClosed { throw StoreError("the store is closed", kind: .closed) }
    }
  }

  private let state = Guarded(State())

  func load() throws(StoreError) -> StoredState {
    try state.withLock { state throws(StoreError) in
      try state.open()
      return StoredState(
        environments: state.environments.map { id, document in
          StoredEnvironment(
            id: id, document: document, traffic: state.traffic[id], lastEntry: state.journal[id]?.keys.max() ?? 0)
        }, leases: state.leases.sorted { $0.key < $1.key }.map(\.value))
    }
  }

  func save(environment id: String, document: Data) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      state.traffic[id] = nil
      if let index = state.environments.firstIndex(where: { $0.id == id }) {
        state.environments[index].document = document
      } else {
        state.environments.append((id, document))
      }
    }
  }

  func save(traffic document: Data, of environment: String) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      state.traffic[environment] = document
    }
  }

  func remove(environment id: String) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      state.traffic[id] = nil
      state.environments.removeAll { $0.id == id }
      state.journal[id] = nil
    }
  }

  func save(leases: [(port: UInt16, document: Data)]) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      for (port, document) in leases { state.leases[port] = document }
    }
  }

  func remove(leases ports: [UInt16]) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      for port in ports { state.leases[port] = nil }
    }
  }

  func append(journal entries: [StoredJournalEntry]) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      for entry in entries { state.journal[entry.environment, default: [:]][entry.number] = entry.document }
    }
  }

  func trim(journal environment: String, through number: Int) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try state.open()
      state.journal[environment]?.keys.filter { $0 <= number }.forEach { state.journal[environment]?[$0] = nil }
    }
  }

  func journal(of environment: String, after number: Int, limit: Int) throws(StoreError) -> [StoredJournalEntry] {
    try state.withLock { state throws(StoreError) in
      try state.open()
      let entries = state.journal[environment, default: [:]].filter { $0.key > number }.sorted { $0.key < $1.key }
      return entries.prefix(max(0, limit)).map { number, document in
        StoredJournalEntry(environment: environment, number: number, document: document)
      }
    }
  }

  func close() { state.withLock { $0.isClosed = true } }
}
