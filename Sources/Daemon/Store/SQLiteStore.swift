package import Foundation

/// The daemon's store: one SQLite database, `state.sqlite`, in the daemon's own folder.
///
/// ```swift
/// let store = try SQLiteStore(in: StateFolder(path))
/// try store.save(environment: id, document: json)
/// ```
/// A store that is dropped closes itself; so does one whose process is killed, and nothing is lost by either.
package final class SQLiteStore: DaemonStore {
  private let open: Open
  private let commits: GroupCommit<StoreChange>

  /// Only for whoever is ``GroupCommit``'s one thread at that moment.
  private final class Open: @unchecked Sendable {
    private var database: StoreDatabase?
    /// Its lock lasts as long as the database is open.
    private var folder: StateFolder?

    init(_ database: StoreDatabase, in folder: StateFolder) {
      self.database = database
      self.folder = folder
    }

    func close() {
      database = nil
      folder = nil
    }

    func get() throws(StoreError) -> StoreDatabase {
      guard let database else { throw StoreError("the daemon's store is closed; start the daemon anew", kind: .closed) }
      return database
    }
  }

  /// Opens the database, or makes it, and brings it to this version's schema.
  ///
  /// - Parameter folder: where it is.
  /// - Throws: ``StoreError``: of kind `newer` for what a later version has written, which is left as it is; `corrupt`,
  ///   `full`, `notPermitted`. `corrupt` also where something that was stored is gone: see ``CommitCount``.
  package convenience init(in folder: StateFolder) throws(StoreError) {
    try self.init(in: folder, schema: .current)
  }

  init(in folder: StateFolder, schema: StoreSchema) throws(StoreError) {
    let open = Open(try StoreDatabase(in: folder, schema: schema), in: folder)
    self.open = open
    commits = GroupCommit { changes in
      if Self.attempt(changes, in: open) == nil { return Array(repeating: nil, count: changes.count) }
      // One of them cannot be made: that is not the others' fault.
      return changes.map { Self.attempt([$0], in: open) }
    }
  }

  private static func attempt(_ changes: [StoreChange], in open: Open) -> StoreError? {
    do throws(StoreError) {
      try open.get().make(changes)
      return nil
    } catch {
      return error
    }
  }

  package func load() throws(StoreError) -> StoredState {
    try commits.alone { () throws(StoreError) in try open.get().load() }
  }

  package func save(environment id: String, document: Data) throws(StoreError) {
    try commits.make(.saveEnvironment(id: id, document: document))
  }

  package func save(traffic document: Data, of environment: String) throws(StoreError) {
    try commits.make(.saveTraffic(id: environment, document: document))
  }

  package func remove(environment id: String) throws(StoreError) {
    try commits.make(.removeEnvironment(id: id))
  }

  package func save(leases: [(port: UInt16, document: Data)]) throws(StoreError) {
    if !leases.isEmpty { try commits.make(.saveLeases(leases)) }
  }

  package func remove(leases ports: [UInt16]) throws(StoreError) {
    if !ports.isEmpty { try commits.make(.removeLeases(ports)) }
  }

  package func append(journal entries: [StoredJournalEntry]) throws(StoreError) {
    if !entries.isEmpty { try commits.make(.appendJournal(entries)) }
  }

  package func trim(journal environment: String, through number: Int) throws(StoreError) {
    try commits.make(.trimJournal(id: environment, through: number))
  }

  package func journal(
    of environment: String, after number: Int, limit: Int
  ) throws(StoreError) -> [StoredJournalEntry] {
    try commits.alone { () throws(StoreError) in
      try open.get().journal(of: environment, after: number, limit: limit)
    }
  }

  package func close() {
    // What it does is not to fail.
    try? commits.alone { () throws(StoreError) in open.close() }
  }

  /// For tests: as on a disk that is full once the database has so many pages.
  func limit(pages: Int) throws(StoreError) {
    try commits.alone { () throws(StoreError) in try open.get().limit(pages: pages) }
  }
}
