import Foundation
import Testing

@testable import Daemon

@Suite("The store's schema", .timeLimit(.minutes(2)))
struct StoreVersionTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func open(_ steps: [String]) throws -> SQLiteStore {
    try SQLiteStore(in: StateFolder(folder.state), schema: StoreSchema(steps: StoreSchema.current.steps + steps))
  }

  @Test("of a newer version is refused, and no file of it is touched", arguments: [false, true])
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
    let error = #expect(throws: StoreError.self) { try open([]) }
    let version = StoreSchema.current.version + 2
    #expect(error?.kind == .newer(version: version))
    #expect(error?.description.contains("version \(version)") == true)
    var after = try folder.files()
    after["lock"] = before["lock"]
    #expect(after == before)
  }

  @Test("of an older version is brought up, with what is stored")
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

  @Test("stays as it was when a step fails, and the steps before it count")
  func failingStep() throws {
    try open([]).close()
    #expect(throws: StoreError.self) {
      try open(["CREATE TABLE more (a)", "CREATE TABLE most (a); SELECT nonsense"])
    }
    let store = try open(["CREATE TABLE more (a)", "CREATE TABLE most (a)"])
    try store.save(environment: "a", document: Data())
    store.close()
  }

  @Test("of another program's database is refused, and it stays as it is")
  func foreign() throws {
    let state = try StateFolder(folder.state)
    let file = StoreFile(path: folder.database)
    try file.makePrivate()
    try SQLiteConnection(folder.database).execute("CREATE TABLE theirs (a)")
    let before = try folder.files()
    let error = #expect(throws: StoreError.self) { try SQLiteStore(in: state) }
    #expect(error?.kind == .corrupt && error?.description.contains("another program") == true)
    #expect(try folder.files()["state.sqlite"] == before["state.sqlite"])
  }

  @Test("of a damaged file is refused by a line that names it and says what to do", arguments: [false, true])
  func damaged(isHeadGood: Bool) throws {
    let store = try open([])
    for index in 0..<100 { try store.save(environment: "\(index)", document: Data(count: 2000)) }
    store.close()
    var content = try #require(try folder.files()["state.sqlite"])
    content.replaceSubrange((isHeadGood ? 4096 : 0)..<40_000, with: Data(repeating: 0x5A, count: 40_000))
    try content.write(to: URL(fileURLWithPath: folder.database))
    let error = #expect(throws: StoreError.self) {
      let store = try open([])
      _ = try store.load()
    }
    #expect(error?.kind == .corrupt)
    #expect(error?.description.contains("mv '\(folder.state)'") == true)
  }
}
