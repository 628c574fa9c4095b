package import Basics
import Databases
package import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The daemon's store: an SQLite database, `state.sqlite`, in the state folder.
///
/// ```swift
/// let store = try SQLiteStore(in: StateFolder(path))
/// try store.save(environment: id, document: json)
/// ```
/// The store closes when it is deallocated. Nothing is lost then, nor if the process is killed.
package final class SQLiteStore: DaemonStore {
  private let open: Open
  private let commits: GroupCommit<StoreChange>

  /// Used only by the thread that currently owns ``GroupCommit``.
  private final class Open: @unchecked Sendable {
    private var database: StoreDatabase?
    /// Retained to hold the folder's lock while the database is open.
    private var folder: StateFolder?

    init(_ database: StoreDatabase, in folder: StateFolder) {
      self.database = database
      self.folder = folder
    }

    func close() {
      database = nil
      folder = nil
    }

    func get() throws(CodedError) -> StoreDatabase {
      guard let database else { throw CodedError(.unanswered, "the daemon's store is closed; restart the daemon") }
      return database
    }
  }

  /// Opens or creates the database, and migrates it to the current schema.
  ///
  /// - Parameter folder: the state folder.
  /// - Throws: ``CodedError`` of kind `broken` for a database of a later version, which isn't changed, or one
  ///   that is damaged or misses stored data (see ``CommitCount``); `cannotWrite`.
  package convenience init(in folder: StateFolder) throws(CodedError) {
    try self.init(in: folder, schema: .current)
  }

  init(in folder: StateFolder, schema: StoreSchema) throws(CodedError) {
    let open = Open(try StoreDatabase(in: folder, schema: schema), in: folder)
    self.open = open
    commits = GroupCommit { changes in
      if Self.attempt(changes, in: open) == nil { return Array(repeating: nil, count: changes.count) }
      // One change failed. Retries each on its own, so that the others succeed.
      return changes.map { Self.attempt([$0], in: open) }
    }
  }

  private static func attempt(_ changes: [StoreChange], in open: Open) -> CodedError? {
    do {
      try open.get().make(changes)
      return nil
    } catch {
      return error
    }
  }

  package func load() throws(CodedError) -> StoredState {
    try commits.alone { () throws(CodedError) in try open.get().load() }
  }

  package func save(environment id: String, document: Data) throws(CodedError) {
    try commits.make(.saveEnvironment(id: id, document: document))
  }

  package func save(traffic document: Data, of environment: String) throws(CodedError) {
    try commits.make(.saveTraffic(id: environment, document: document))
  }

  package func remove(environment id: String) throws(CodedError) {
    try commits.make(.removeEnvironment(id: id))
  }

  package func save(leases: [(port: UInt16, document: Data)]) throws(CodedError) {
    if !leases.isEmpty { try commits.make(.saveLeases(leases)) }
  }

  package func remove(leases ports: [UInt16]) throws(CodedError) {
    if !ports.isEmpty { try commits.make(.removeLeases(ports)) }
  }

  package func append(journal entries: [StoredJournalEntry]) throws(CodedError) {
    if !entries.isEmpty { try commits.make(.appendJournal(entries)) }
  }

  package func trim(journal environment: String, through number: Int) throws(CodedError) {
    try commits.make(.trimJournal(id: environment, through: number))
  }

  package func journal(
    of environment: String, after number: Int, limit: Int
  ) throws(CodedError) -> [StoredJournalEntry] {
    try commits.alone { () throws(CodedError) in
      try open.get().journal(of: environment, after: number, limit: limit)
    }
  }

  package func close() {
    // Closing doesn't fail.
    try? commits.alone { () throws(CodedError) in open.close() }
  }

  /// For tests: simulates a disk that is full once the database has this many pages.
  func limit(pages: Int) throws(CodedError) {
    try commits.alone { () throws(CodedError) in try open.get().limit(pages: pages) }
  }
}

/// Lets concurrent changes share a transaction.
///
/// A thread that arrives while no commit is running commits at once for all that wait, without a thread switch. Threads
/// that arrive during a commit wait for the next one.
final class GroupCommit<Change: Sendable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private let commit: @Sendable ([Change]) -> [CodedError?]
  private var isBusy = false
  private var waiting: [Change] = []
  /// The number of changes being committed.
  private var inWork = 0
  /// The number of changes committed or refused; also the index of the first pending change.
  private var finished = 0
  /// Errors of finished changes that their threads haven't read yet.
  private var failures: [Int: CodedError] = [:]

  /// - Parameter commit: commits changes and returns an error or nil for each. One thread at a time calls it.
  init(commit: @escaping @Sendable ([Change]) -> [CodedError?]) {
    self.commit = commit
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    changed = .allocate(capacity: 1)
    changed.initialize(to: pthread_cond_t())
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    changed.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Returns once the change is committed.
  func make(_ change: Change) throws(CodedError) {
    pthread_mutex_lock(mutex)
    let number = finished + inWork + waiting.count
    waiting.append(change)
    while isBusy, number >= finished { pthread_cond_wait(changed, mutex) }
    if number >= finished { commitWaiting() }
    let failure = failures.removeValue(forKey: number)
    pthread_mutex_unlock(mutex)
    if let failure { throw failure }
  }

  /// Runs `body` while no commit is running.
  func alone<Result>(_ body: () throws(CodedError) -> Result) throws(CodedError) -> Result {
    pthread_mutex_lock(mutex)
    while isBusy { pthread_cond_wait(changed, mutex) }
    isBusy = true
    pthread_mutex_unlock(mutex)
    defer {
      pthread_mutex_lock(mutex)
      isBusy = false
      pthread_cond_broadcast(changed)
      pthread_mutex_unlock(mutex)
    }
    return try body()
  }

  /// The number of changes that wait for the next transaction.
  var waitingCount: Int {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return waiting.count
  }

  /// Call it with the lock held; it releases the lock during the commit.
  private func commitWaiting() {
    let batch = waiting
    waiting = []
    inWork = batch.count
    isBusy = true
    pthread_mutex_unlock(mutex)
    let results = commit(batch)
    pthread_mutex_lock(mutex)
    for (index, failure) in results.enumerated() where failure != nil { failures[finished + index] = failure }
    finished += batch.count
    inWork = 0
    isBusy = false
    pthread_cond_broadcast(changed)
  }
}

/// An atomic change of the stored state.
enum StoreChange: Sendable {
  case saveEnvironment(id: String, document: Data)
  case saveTraffic(id: String, document: Data)
  case removeEnvironment(id: String)
  case saveLeases([(port: UInt16, document: Data)])
  case removeLeases([UInt16])
  case appendJournal([StoredJournalEntry])
  case trimJournal(id: String, through: Int)

  /// Whether the change may remove secrets.
  var removesSecrets: Bool { if case .removeEnvironment = self { true } else { false } }
}
