import Basics
import Databases
import Foundation
import Testing

@testable import Daemon

@Suite("Damaged store", .timeLimit(.minutes(2)))
struct StoreDamageTests {
  enum Damage: CaseIterable {
    case emptied, removed, overwritten, logEmptied, logRemoved, logHalved, logOverwritten, tailOverwritten
  }

  private static let environments = 60

  /// A state folder after a kill: some data is in the database, some only in its log.
  private func killed() async throws -> ScratchFolder {
    let folder = try ScratchFolder()
    await #expect(processExitsWith: .signal(SIGKILL)) { [state = folder.state as String] in
      let store = try SQLiteStore(in: StateFolder(state))
      for index in 0..<Self.environments {
        try store.save(environment: "\(index)", document: Data(repeating: 0x20, count: 500))
        // Moves the log into the database.
        if index == 30 { try store.remove(environment: "none") }
      }
      try store.save(leases: [(20_000, Data("lease"))])
      kill(getpid(), SIGKILL)
    }
    return folder
  }

  private func open(_ folder: ScratchFolder) throws -> SQLiteStore { try SQLiteStore(in: StateFolder(folder.state)) }

  private func apply(_ damage: Damage, to folder: ScratchFolder) throws {
    let database = folder.database
    func change(_ path: String, _ body: (inout Data) -> Void) throws {
      var content = try Data(contentsOf: URL(fileURLWithPath: path))
      body(&content)
      try content.write(to: URL(fileURLWithPath: path))
    }
    func noise(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: .min ... .max) }) }
    switch damage {
    case .emptied: try change(database) { $0 = Data() }
    case .removed: try FileManager.default.removeItem(atPath: database)
    case .overwritten: try change(database) { $0 = noise($0.count) }
    case .logEmptied: try change(database + "-wal") { $0 = Data() }
    case .logRemoved: try FileManager.default.removeItem(atPath: database + "-wal")
    case .logHalved: try change(database + "-wal") { $0 = $0.prefix($0.count / 2) }
    case .logOverwritten: try change(database + "-wal") { $0.replaceSubrange(0..<64, with: noise(64)) }
    case .tailOverwritten: try change(database + "-wal") { $0.replaceSubrange(($0.count - 64)..., with: noise(64)) }
    }
  }

  @Test("is refused without changes, and the error explains how to continue", arguments: Damage.allCases)
  func refused(damage: Damage) async throws {
    let folder = try await killed()
    try apply(damage, to: folder)
    var before = try folder.files()
    let error = #expect(throws: CodedError.self) { try open(folder) }
    #expect(error?.kind == .broken)
    #expect(error?.description.contains("mv '\(folder.state)' '\(folder.state).damaged'") == true)
    #expect(error?.description.contains("\n") == false)
    var after = try folder.files()
    // SQLite creates an empty log if there is none.
    for name in ["lock", "state.sqlite-wal"] where before[name]?.isEmpty ?? true || name == "lock" {
      before[name] = nil
      after[name] = nil
    }
    #expect(after == before)
  }

  @Test("is never opened with less than was acknowledged, wherever the log is damaged")
  func anywhere() async throws {
    let folder = try await killed()
    let whole = try folder.files()
    let log = try #require(whole["state.sqlite-wal"])
    let next = try ScratchFolder()
    for trial in 0..<100 {
      try? FileManager.default.removeItem(atPath: next.state)
      try FileManager.default.copyItem(atPath: folder.state, toPath: next.state)
      let place = Int.random(in: 0..<log.count)
      var damaged = log
      if trial.isMultiple(of: 2) {
        damaged = log.prefix(place)
      } else {
        let end = min(place + 50, log.count)
        damaged.replaceSubrange(place..<end, with: Data(repeating: 0xA5, count: end - place))
      }
      try damaged.write(to: URL(fileURLWithPath: next.database + "-wal"))
      do throws(CodedError) {
        let store = try SQLiteStore(in: StateFolder(next.state))
        let found = try store.load()
        #expect(found.environments.count == Self.environments && found.leases.count == 1, "at \(place)")
        store.close()
      } catch {
        #expect(error.kind == .broken, "at \(place)")
      }
    }
  }

  @Test("is opened with the remaining data once its count is removed")
  func consent() async throws {
    let folder = try await killed()
    try apply(.logRemoved, to: folder)
    let error = #expect(throws: CodedError.self) { try open(folder) }
    #expect(error?.description.contains("rm '\(folder.state)/state.count'") == true)
    unlink("\(folder.state)/state.count")
    let store = try open(folder)
    #expect(try store.load().environments.count == 31)
    try store.save(environment: "new", document: Data())
    store.close()
    #expect(try open(folder).load().environments.count == 32)
  }

  @Test("is refused if it is empty but contracts exist, even without a count")
  func contracts() throws {
    let folder = try ScratchFolder()
    let state = try StateFolder(folder.state)
    try FileManager.default.createDirectory(atPath: "\(folder.state)/contracts", withIntermediateDirectories: false)
    try Data().write(to: URL(fileURLWithPath: "\(folder.state)/contracts/one.json"))
    try Data().write(to: URL(fileURLWithPath: folder.database))
    #expect(throws: CodedError.self) { try SQLiteStore(in: state) }
    #expect(FileManager.default.fileExists(atPath: "\(folder.state)/contracts/one.json"))
  }

  @Test("is not assumed for a database without a count, or whose count is behind or truncated")
  func noDamage() async throws {
    let folder = try ScratchFolder()
    let state = try StateFolder(folder.state)
    try StoreFile(path: folder.database).makePrivate()
    var old: SQLiteConnection? = try SQLiteConnection(folder.database)
    try StoreSchema(steps: Array(StoreSchema.current.steps.prefix(2))).migrate(try #require(old), from: 0)
    try old?.execute("INSERT INTO environments VALUES ('a', 'document')")
    old = nil
    var store = try SQLiteStore(in: state)
    for index in 0..<10 { try store.save(environment: "\(index)", document: Data()) }
    store.close()
    let counts = ["", "0", "0000000000000000000", "00000000000000000003\n", "00000000000000000010\n"]
    for count in counts {
      try Data(count).write(to: URL(fileURLWithPath: "\(folder.state)/state.count"))
      store = try SQLiteStore(in: state)
      #expect(try store.load().environments.count == 11)
      store.close()
      #expect(try folder.files()["state.count"] == Data("00000000000000000010\n"))
    }
    for count in ["00000000000000000011\n", "no number at all, is it?"] {
      try Data(count).write(to: URL(fileURLWithPath: "\(folder.state)/state.count"))
      #expect(throws: CodedError.self) { try SQLiteStore(in: state) }
    }
  }

  @Test("is refused if an index has entries that its table lacks")
  func torn() throws {
    let folder = try ScratchFolder()
    var store: SQLiteStore? = try open(folder)
    for index in 0..<200 { try store?.save(environment: "\(index)", document: Data(repeating: 0x20, count: 200)) }
    store?.close()
    store = nil
    var content = try #require(try folder.files()["state.sqlite"])
    // A leaf of a table (13) loses its last row: "two-byte integer at offset 3 gives the number of cells on the page".
    let leaf = try #require(
      stride(from: 4096, to: content.count, by: 4096).first { content[$0] == 13 && content[$0 + 4] > 10 })
    content[leaf + 4] -= 1
    try content.write(to: URL(fileURLWithPath: folder.database))
    let error = #expect(throws: CodedError.self) { try open(folder) }
    #expect(error?.kind == .broken)
  }
}
