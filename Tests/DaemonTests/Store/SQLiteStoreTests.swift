import Basics
import Databases
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import Daemon

@Suite("SQLite store", .timeLimit(.minutes(2)))
struct SQLiteStoreTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func open() throws -> SQLiteStore { try SQLiteStore(in: StateFolder(folder.state)) }

  @Test("keeps everything after closing")
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

  @Test("keeps all acknowledged changes after a kill")
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

  @Test("creates files that only their owner can read, whatever the umask is")
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

  @Test("leaves no data of a removed environment in any file")
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

  @Test("removes journals without an environment when opened")
  func orphans() throws {
    let store = try open()
    try store.append(journal: [StoredJournalEntry(environment: "a", number: 1, document: Data())])
    store.close()
    let again = try open()
    #expect(try again.journal(of: "a", after: 0, limit: 9).isEmpty)
    again.close()
  }

  @Test("refuses only changes that don't fit, and frees space on removal")
  func full() throws {
    let store = try open()
    try store.save(environment: "a", document: Data(count: 50_000))
    try store.limit(pages: 30)
    let error = #expect(throws: CodedError.self) {
      try store.save(environment: "b", document: Data(count: 500_000))
    }
    #expect(error?.kind == .cannotWrite && error?.description.contains("the disk is full") == true)
    try store.save(environment: "c", document: Data("small"))
    #expect(try store.load().environments.map(\.id) == ["a", "c"])
    try store.remove(environment: "a")
    try store.save(environment: "d", document: Data(count: 50_000))
    #expect(try store.load().environments.map(\.id) == ["c", "d"])
    store.close()
  }
}

@Suite("Store schema", .timeLimit(.minutes(2)))
struct StoreVersionTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func open(_ steps: [String]) throws -> SQLiteStore {
    try SQLiteStore(in: StateFolder(folder.state), schema: StoreSchema(steps: StoreSchema.current.steps + steps))
  }

  @Test("refuses a newer version without changing files", arguments: [false, true])
  func newer(isKilled: Bool) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [state = folder.state as String, isKilled = isKilled as Bool] in
      let schema = StoreSchema(steps: StoreSchema.current.steps + ["CREATE TABLE more (a)", "CREATE TABLE most (a)"])
      let store = try SQLiteStore(in: StateFolder(state), schema: schema)
      try store.save(environment: "a", document: Data("document"))
      if !isKilled { store.close() }
      kill(getpid(), SIGKILL)
    }
    let before = try folder.files()
    #expect((before["state.sqlite-wal"]?.isEmpty == false) == isKilled)
    let error = #expect(throws: CodedError.self) { try open([]) }
    let version = StoreSchema.current.version + 2
    #expect(error?.kind == .broken)
    #expect(error?.description.contains("version \(version)") == true)
    var after = try folder.files()
    after["lock"] = before["lock"]
    #expect(after == before)
  }

  @Test("migrates an older version with its data")
  func migration() throws {
    let store = try open([])
    try store.save(environment: "a", document: Data("document"))
    store.close()
    let steps = ["ALTER TABLE environments ADD COLUMN note TEXT", "UPDATE environments SET note = 'x'"]
    let newer = try open(steps)
    #expect(try newer.load().environments.map(\.id) == ["a"])
    newer.close()
    #expect(StoreFile(path: folder.database).version == StoreSchema.current.version + 2)
  }

  @Test("keeps completed migrations if a later one fails")
  func failingStep() throws {
    try open([]).close()
    #expect(throws: CodedError.self) {
      try open(["CREATE TABLE more (a)", "CREATE TABLE most (a); SELECT nonsense"])
    }
    let store = try open(["CREATE TABLE more (a)", "CREATE TABLE most (a)"])
    try store.save(environment: "a", document: Data())
    store.close()
  }

  @Test("refuses another program's database without changing it")
  func foreign() throws {
    let state = try StateFolder(folder.state)
    let file = StoreFile(path: folder.database)
    try file.makePrivate()
    try SQLiteConnection(folder.database).execute("CREATE TABLE theirs (a)")
    let before = try folder.files()
    let error = #expect(throws: CodedError.self) { try SQLiteStore(in: state) }
    #expect(error?.kind == .broken && error?.description.contains("another program") == true)
    #expect(try folder.files()["state.sqlite"] == before["state.sqlite"])
  }

  @Test("refuses a damaged file, and explains how to continue", arguments: [false, true])
  func damaged(isHeadGood: Bool) throws {
    let store = try open([])
    for index in 0..<100 { try store.save(environment: "\(index)", document: Data(count: 2000)) }
    store.close()
    var content = try #require(try folder.files()["state.sqlite"])
    content.replaceSubrange((isHeadGood ? 4096 : 0)..<40_000, with: Data(repeating: 0x5A, count: 40_000))
    try content.write(to: URL(fileURLWithPath: folder.database))
    let error = #expect(throws: CodedError.self) {
      let store = try open([])
      _ = try store.load()
    }
    #expect(error?.kind == .broken)
    #expect(error?.description.contains("mv '\(folder.state)'") == true)
  }
}

@Suite("Group commit", .timeLimit(.minutes(2)))
struct GroupCommitTests {
  /// Commits that block until released.
  private final class BlockedCommits: Sendable {
    let batches = Guarded<[[Int]]>([])
    private let entered = DispatchSemaphore(value: 0)
    private let leave = DispatchSemaphore(value: 0)

    func commit(_ changes: [Int]) -> [CodedError?] {
      batches.withLock { $0.append(changes) }
      entered.signal()
      leave.wait()
      return changes.map { $0 < 0 ? CodedError(.inputOutput, "\($0)") : nil }
    }

    func awaitCommit() { entered.wait() }
    func open() { leave.signal() }
  }

  private func failure(_ body: () throws(CodedError) -> Void) -> String? {
    do throws(CodedError) {
      try body()
      return nil
    } catch {
      return error.description
    }
  }

  @Test("commits changes that arrive during a transaction together, with one result each")
  func groups() async throws {
    let blocked = BlockedCommits()
    let group = GroupCommit<Int> { blocked.commit($0) }
    async let first = onThread { failure { () throws(CodedError) in try group.make(1) } }
    try await onThread { blocked.awaitCommit() }
    async let second = onThread { failure { () throws(CodedError) in try group.make(2) } }
    async let third = onThread { failure { () throws(CodedError) in try group.make(-3) } }
    while group.waitingCount < 2 { await Task.yield() }
    blocked.open()
    #expect(try await first == nil)
    try await onThread { blocked.awaitCommit() }
    #expect(blocked.batches.withLock { $0.map { $0.sorted() } } == [[1], [-3, 2]])
    blocked.open()
    #expect(try await second == nil)
    #expect(try await third == "-3")
  }

  @Test("runs exclusive work between commits")
  func alone() async throws {
    let counter = Guarded(0)
    let group = GroupCommit<Int> { changes in
      counter.withLock { $0 += changes.count }
      return changes.map { _ in nil }
    }
    let hasBegun = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    async let seen = onThread {
      try group.alone { () throws(CodedError) in
        let before = counter.withLock { $0 }
        hasBegun.signal()
        mayEnd.wait()
        return (before, counter.withLock { $0 })
      }
    }
    try await onThread { hasBegun.wait() }
    async let made: Void = onThread { try group.make(1) }
    while group.waitingCount < 1 { await Task.yield() }
    mayEnd.signal()
    #expect(try await seen == (0, 0))
    try await made
    #expect(counter.withLock { $0 } == 1)
  }

  @Test("commits each change of many threads once")
  func many() {
    let made = Guarded<[Int]>([])
    let group = GroupCommit<Int> { changes in
      made.withLock { $0 += changes }
      return changes.map { $0 % 7 == 0 ? CodedError(.inputOutput, "\($0)") : nil }
    }
    let wrong = Guarded(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for index in 0..<500 {
        let change = thread * 500 + index
        let expected = change % 7 == 0 ? "\(change)" : nil
        if failure({ () throws(CodedError) in try group.make(change) }) != expected { wrong.withLock { $0 += 1 } }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
    #expect(made.withLock { $0.sorted() } == Array(0..<4000))
  }
}
