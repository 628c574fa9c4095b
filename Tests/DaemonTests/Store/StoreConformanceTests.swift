import Basics
import Daemon
import Foundation
import HTTPMessages
import Testing

/// The requirements for every ``DaemonStore``.
@Suite("Daemon stores", .timeLimit(.minutes(2)))
struct StoreConformanceTests {
  enum Kind: CaseIterable {
    case sqlite
    case memory
  }

  private func withStore(_ kind: Kind, _ body: (any DaemonStore) throws -> Void) throws {
    let folder = try ScratchFolder()
    let store: any DaemonStore =
      switch kind {
      case .sqlite: try SQLiteStore(in: StateFolder(folder.state))
      case .memory: InMemoryStore()
      }
    defer { store.close() }
    try body(store)
    withExtendedLifetime(folder) {}
  }

  private func entries(_ numbers: ClosedRange<Int>, of id: String) -> [StoredJournalEntry] {
    numbers.map { StoredJournalEntry(environment: id, number: $0, document: Data("\(id) \($0)")) }
  }

  @Test("are empty at first", arguments: Kind.allCases)
  func empty(kind: Kind) throws {
    try withStore(kind) { store in
      #expect(try store.load() == StoredState())
      #expect(try store.journal(of: "a", after: 0, limit: 10).isEmpty)
      try store.save(leases: [])
      try store.remove(leases: [])
      try store.append(journal: [])
    }
  }

  @Test("return environments in the order of their first save, as last saved", arguments: Kind.allCases)
  func environments(kind: Kind) throws {
    try withStore(kind) { store in
      for id in ["c", "a", "b"] { try store.save(environment: id, document: Data("first")) }
      try store.save(environment: "c", document: Data("second"))
      try store.save(environment: "", document: Data())
      let found = try store.load().environments
      #expect(found.map(\.id) == ["c", "a", "b", ""])
      #expect(found.map(\.document) == [Data("second"), Data("first"), Data("first"), Data()])
    }
  }

  @Test("keep documents of any content and length", arguments: Kind.allCases)
  func documents(kind: Kind) throws {
    try withStore(kind) { store in
      let document = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
      try store.save(environment: "ä\u{0}🙂", document: document)
      #expect(try store.load().environments == [StoredEnvironment(id: "ä\u{0}🙂", document: document)])
    }
  }

  @Test("keep traffic until the environment is saved again", arguments: Kind.allCases)
  func traffic(kind: Kind) throws {
    try withStore(kind) { store in
      for id in ["a", "b"] { try store.save(environment: id, document: Data(id)) }
      try store.save(traffic: Data("1"), of: "a")
      try store.save(traffic: Data("2"), of: "a")
      try store.save(traffic: Data(), of: "b")
      #expect(try store.load().environments.map(\.traffic) == [Data("2"), Data()])
      try store.save(environment: "a", document: Data("later"))
      try store.remove(environment: "b")
      try store.save(environment: "b", document: Data("another"))
      #expect(try store.load().environments.map(\.traffic) == [nil, nil])
    }
  }

  @Test("remove an environment with its journal only", arguments: Kind.allCases)
  func removal(kind: Kind) throws {
    try withStore(kind) { store in
      for id in ["a", "b"] {
        try store.save(environment: id, document: Data(id))
        try store.append(journal: entries(1...3, of: id))
      }
      try store.remove(environment: "a")
      try store.remove(environment: "never there")
      #expect(try store.load().environments == [StoredEnvironment(id: "b", document: Data("b"), lastEntry: 3)])
      #expect(try store.journal(of: "a", after: 0, limit: 10).isEmpty)
      #expect(try store.journal(of: "b", after: 0, limit: 10).count == 3)
    }
  }

  @Test("return leases by port, as last saved", arguments: Kind.allCases)
  func leases(kind: Kind) throws {
    try withStore(kind) { store in
      try store.save(leases: [(65_535, Data("x")), (20_000, Data("y")), (20_001, Data("z"))])
      try store.save(leases: [(20_000, Data("again"))])
      try store.remove(leases: [20_001, 30_000])
      #expect(try store.load().leases == [Data("again"), Data("x")])
    }
  }

  @Test("return journal entries in order, after a number, up to a limit", arguments: Kind.allCases)
  func journal(kind: Kind) throws {
    try withStore(kind) { store in
      try store.save(environment: "a", document: Data())
      try store.append(journal: entries(4...9, of: "a"))
      try store.append(journal: entries(1...3, of: "a") + entries(1...2, of: "b"))
      #expect(try store.journal(of: "a", after: 0, limit: 100) == entries(1...9, of: "a"))
      #expect(try store.journal(of: "a", after: 2, limit: 3) == entries(3...5, of: "a"))
      #expect(try store.journal(of: "a", after: 9, limit: 3).isEmpty)
      #expect(try store.journal(of: "a", after: 0, limit: 0).isEmpty)
      #expect(try store.load().environments.first?.lastEntry == 9)
    }
  }

  @Test("replace an entry with the same number", arguments: Kind.allCases)
  func repeatedNumber(kind: Kind) throws {
    try withStore(kind) { store in
      try store.append(journal: entries(1...2, of: "a"))
      try store.append(journal: [StoredJournalEntry(environment: "a", number: 2, document: Data("later"))])
      #expect(try store.journal(of: "a", after: 1, limit: 9).map(\.document) == [Data("later")])
    }
  }

  @Test("refuse calls after closing, and can be closed twice", arguments: Kind.allCases)
  func closing(kind: Kind) throws {
    try withStore(kind) { store in
      store.close()
      store.close()
      let entry = StoredJournalEntry(environment: "a", number: 1, document: Data())
      let attempts: [() throws -> Void] = [
        { _ = try store.load() }, { try store.save(environment: "a", document: Data()) },
        { try store.remove(environment: "a") }, { try store.save(leases: [(1, Data())]) },
        { try store.remove(leases: [1]) }, { try store.append(journal: [entry]) },
        { _ = try store.journal(of: "a", after: 0, limit: 1) },
      ]
      for attempt in attempts {
        let error = #expect(throws: CodedError.self, performing: attempt)
        #expect(error?.kind == .unanswered)
      }
    }
  }

  @Test("accept changes from many threads", arguments: Kind.allCases)
  func threads(kind: Kind) throws {
    try withStore(kind) { store in
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for index in 0..<40 {
          try? store.save(environment: "\(thread) \(index)", document: Data("\(index)"))
          try? store.save(leases: [(UInt16(thread * 100 + index), Data("\(index)"))])
          if index % 2 == 1 { try? store.remove(environment: "\(thread) \(index - 1)") }
          _ = try? store.load()
        }
      }
      let state = try store.load()
      #expect(state.environments.count == 160 && state.leases.count == 320)
    }
  }

  @Test("trim the oldest entries of a journal", arguments: Kind.allCases)
  func trimming(kind: Kind) throws {
    try withStore(kind) { store in
      for id in ["a", "b"] {
        try store.save(environment: id, document: Data())
        try store.append(journal: entries(1...5, of: id))
      }
      try store.trim(journal: "a", through: 3)
      try store.trim(journal: "unknown", through: 3)
      #expect(try store.journal(of: "a", after: 0, limit: 10).map(\.number) == [4, 5])
      #expect(try store.journal(of: "b", after: 0, limit: 10).count == 5)
      #expect(try store.load().environments.map(\.lastEntry) == [5, 5])
    }
  }
}

/// An in-memory store for tests.
final class InMemoryStore: DaemonStore {
  private struct State {
    var isClosed = false
    var environments: [(id: String, document: Data)] = []
    var traffic: [String: Data] = [:]
    var leases: [UInt16: Data] = [:]
    var journal: [String: [Int: Data]] = [:]

    mutating func open() throws(CodedError) {
      if isClosed { throw CodedError(.unanswered, "the store is closed") }
    }
  }

  private let state = Guarded(State())

  func load() throws(CodedError) -> StoredState {
    try state.withLock { state throws(CodedError) in
      try state.open()
      return StoredState(
        environments: state.environments.map { id, document in
          StoredEnvironment(
            id: id, document: document, traffic: state.traffic[id], lastEntry: state.journal[id]?.keys.max() ?? 0)
        }, leases: state.leases.sorted { $0.key < $1.key }.map(\.value))
    }
  }

  func save(environment id: String, document: Data) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      state.traffic[id] = nil
      if let index = state.environments.firstIndex(where: { $0.id == id }) {
        state.environments[index].document = document
      } else {
        state.environments.append((id, document))
      }
    }
  }

  func save(traffic document: Data, of environment: String) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      state.traffic[environment] = document
    }
  }

  func remove(environment id: String) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      state.traffic[id] = nil
      state.environments.removeAll { $0.id == id }
      state.journal[id] = nil
    }
  }

  func save(leases: [(port: UInt16, document: Data)]) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      for (port, document) in leases { state.leases[port] = document }
    }
  }

  func remove(leases ports: [UInt16]) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      for port in ports { state.leases[port] = nil }
    }
  }

  func append(journal entries: [StoredJournalEntry]) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      for entry in entries { state.journal[entry.environment, default: [:]][entry.number] = entry.document }
    }
  }

  func trim(journal environment: String, through number: Int) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      try state.open()
      state.journal[environment]?.keys.filter { $0 <= number }.forEach { state.journal[environment]?[$0] = nil }
    }
  }

  func journal(of environment: String, after number: Int, limit: Int) throws(CodedError) -> [StoredJournalEntry] {
    try state.withLock { state throws(CodedError) in
      try state.open()
      let entries = state.journal[environment, default: [:]].filter { $0.key > number }.sorted { $0.key < $1.key }
      return entries.prefix(max(0, limit)).map { number, document in
        StoredJournalEntry(environment: environment, number: number, document: document)
      }
    }
  }

  func close() { state.withLock { $0.isClosed = true } }
}
