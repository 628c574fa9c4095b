import CSQLite
import Foundation
import Testing

@testable import Daemon

@Suite("The SQLite store", .timeLimit(.minutes(2)))
struct SQLiteStoreTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func open() throws -> SQLiteStore { try SQLiteStore(in: StateFolder(folder.state)) }

  @Test("has everything after it was closed")
  func restart() throws {
    let store = try open()
    try store.save(environment: "a", document: Data("document"))
    try store.save(leases: [(20_000, Data("lease"))])
    try store.append(journal: [StoredJournalEntry(environment: "a", number: 7, document: Data("entry"))])
    store.close()
    let again = try open()
    let environment = StoredEnvironment(id: "a", document: Data("document"), lastEntry: 7)
    #expect(try again.load() == StoredState(environments: [environment], leases: [Data("lease")]))
    #expect(try again.journal(of: "a", after: 0, limit: 9).map(\.document) == [Data("entry")])
    again.close()
  }

  @Test("has everything that was acknowledged after its process was killed")
  func kill() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [state = folder.state as String] in
      let store = try SQLiteStore(in: StateFolder(state))
      for index in 0..<500 { try store.save(environment: "\(index)", document: Data(count: index * 10)) }
      try store.save(leases: [(20_000, Data("lease"))])
      try store.append(journal: [StoredJournalEntry(environment: "499", number: 1, document: Data("entry"))])
      for index in 0..<100 { try store.remove(environment: "\(index)") }
      Foundation.kill(getpid(), SIGKILL)
    }
    let store = try open()
    let found = try store.load()
    #expect(found.environments.map(\.id) == (100..<500).map(String.init))
    #expect(found.environments.last?.document.count == 4990 && found.environments.last?.lastEntry == 1)
    #expect(found.leases == [Data("lease")])
    store.close()
  }

  @Test("has files that only their owner can read, whatever the umask is")
  func modes() async throws {
    await #expect(processExitsWith: .success) { [state = folder.state as String] in
      umask(0)
      let store = try SQLiteStore(in: StateFolder(state))
      try store.save(environment: "a", document: Data("document"))
      let names = try FileManager.default.contentsOfDirectory(atPath: state)
      guard names.sorted() == ["lock", "state.count", "state.sqlite", "state.sqlite-wal"] else { exit(1) }
      for name in names {
        var status = stat()
        guard lstat("\(state)/\(name)", &status) == 0, status.st_mode & 0o777 == 0o600 else { exit(2) }
      }
      exit(0)
    }
  }

  @Test("leaves nothing of an environment in any file once it is removed")
  func secrets() throws {
    let store = try open()
    let secret = Data("the-secret-of-this-test")
    let filler = Data(count: 20_000)
    for index in 0..<20 { try store.save(environment: "\(index)", document: filler + secret + filler) }
    for index in 0..<20 { try store.save(environment: "\(index)", document: secret) }
    try store.append(journal: [StoredJournalEntry(environment: "1", number: 1, document: secret)])
    #expect(try folder.files().values.contains { $0.range(of: secret) != nil })
    for index in 0..<20 { try store.remove(environment: "\(index)") }
    for (name, content) in try folder.files() { #expect(content.range(of: secret) == nil, "\(name)") }
    store.close()
  }

  @Test("drops the journal of an environment that was never stored when it is opened again")
  func orphans() throws {
    let store = try open()
    try store.append(journal: [StoredJournalEntry(environment: "a", number: 1, document: Data())])
    store.close()
    let again = try open()
    #expect(try again.journal(of: "a", after: 0, limit: 9).isEmpty)
    again.close()
  }

  @Test("fails the change for which there is no room, and no other; removing makes room")
  func full() throws {
    let store = try open()
    try store.save(environment: "a", document: Data(count: 50_000))
    try store.limit(pages: 30)
    let error = #expect(throws: StoreError.self) {
      try store.save(environment: "b", document: Data(count: 500_000))
    }
    #expect(error?.kind == .full && error?.description.contains("the disk is full") == true)
    try store.save(environment: "c", document: Data("small"))
    #expect(try store.load().environments.map(\.id) == ["a", "c"])
    try store.remove(environment: "a")
    try store.save(environment: "d", document: Data(count: 50_000))
    #expect(try store.load().environments.map(\.id) == ["c", "d"])
    store.close()
  }

  @Test("keeps a save to a fraction of a millisecond")
  func latency() throws {
    let store = try open()
    let document = Data(count: 3000)
    let times = try (0..<1000).map { index in
      try ContinuousClock().measure { try store.save(environment: "\(index)", document: document) }
    }
    store.close()
    // 40 µs where nothing else runs; the fastest tenth hardly depends on what does.
    #expect(times.sorted()[100] < .microseconds(800))
  }
}
