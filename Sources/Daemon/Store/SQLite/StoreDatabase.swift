import Foundation

/// The daemon's tables, for one thread at a time.
final class StoreDatabase {
  private let connection: SQLiteConnection
  private let saveEnvironment: SQLiteStatement
  private let saveTraffic: SQLiteStatement
  private let removeTraffic: SQLiteStatement
  private let removeEnvironment: SQLiteStatement
  private let removeJournal: SQLiteStatement
  private let saveLease: SQLiteStatement
  private let removeLease: SQLiteStatement
  private let saveEntry: SQLiteStatement
  private let trimEntries: SQLiteStatement
  private let findEntries: SQLiteStatement
  private let saveCount: SQLiteStatement
  private let commits: CommitCount

  /// - Parameters:
  ///   - folder: where it is; created if needed.
  ///   - schema: which tables to have.
  /// - Throws: ``StoreError``; what a newer version has written, or what is damaged, stays as it is, to the byte.
  init(in folder: StateFolder, schema: StoreSchema) throws(StoreError) {
    let path = folder.path(of: "state.sqlite")
    let file = StoreFile(path: path)
    let commits = try CommitCount(in: folder)
    // Before SQLite has it, which removes the log of an empty database.
    try commits.checkEmptiness(of: file)
    try file.makePrivate()
    if let version = file.version { try schema.check(version, of: path) }
    connection = try SQLiteConnection(path)
    connection.setCheckpointOnClose(false)
    // No process shares the file, so the log's index can be in memory.
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    // Written to the system when a transaction ends, which outlives this process; nobody waits for the disk.
    try connection.execute("PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF")
    let version = try schema.check(connection)
    let found = version < StoreSchema.counting ? nil : try connection.text("SELECT count FROM commits")
    let count = found.flatMap { Int($0) } ?? 0
    try commits.check(count, in: path)
    // The first version had no traffic.
    for table in ["environments", "leases", "traffic"].prefix(version < 2 ? 2 : 3) where version > 0 {
      let finding = try connection.text("PRAGMA integrity_check('\(table)')") ?? "ok"
      guard finding == "ok" else { throw SQLiteFailure.damage(path: path, finding) }
    }
    try connection.execute("PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL")
    try schema.migrate(connection, from: version)
    for table in ["journal", "traffic"] {
      try connection.execute("DELETE FROM \(table) WHERE environment NOT IN (SELECT id FROM environments)")
    }
    saveEnvironment = try connection.prepare(
      """
      INSERT INTO environments (id, document) VALUES (?, ?)
      ON CONFLICT (id) DO UPDATE SET document = excluded.document
      """)
    saveTraffic = try connection.prepare("INSERT OR REPLACE INTO traffic (environment, document) VALUES (?, ?)")
    removeTraffic = try connection.prepare("DELETE FROM traffic WHERE environment = ?")
    removeEnvironment = try connection.prepare("DELETE FROM environments WHERE id = ?")
    removeJournal = try connection.prepare("DELETE FROM journal WHERE environment = ?")
    saveLease = try connection.prepare("INSERT OR REPLACE INTO leases (port, document) VALUES (?, ?)")
    removeLease = try connection.prepare("DELETE FROM leases WHERE port = ?")
    saveEntry = try connection.prepare(
      "INSERT OR REPLACE INTO journal (environment, number, document) VALUES (?, ?, ?)")
    trimEntries = try connection.prepare("DELETE FROM journal WHERE environment = ? AND number <= ?")
    findEntries = try connection.prepare(
      "SELECT number, document FROM journal WHERE environment = ? AND number > ? ORDER BY number LIMIT ?")
    saveCount = try connection.prepare("UPDATE commits SET count = ?")
    // A daemon that was killed between a removal and its checkpoint has left it to this one.
    self.commits = commits
    try emptyLog()
    try commits.begin(at: count)
    connection.setCheckpointOnClose(true)
  }

  /// Makes changes as one transaction.
  func make(_ changes: [StoreChange]) throws(StoreError) {
    var removesSecrets = false
    try connection.transaction { () throws(StoreError) in
      for change in changes {
        try make(change)
        removesSecrets = removesSecrets || change.removesSecrets
      }
      try saveCount.run(.integer(commits.count + 1))
    }
    commits.increment()
    // Deleted content is overwritten in the database; but the log still has the pages as they were.
    if removesSecrets { try emptyLog() }
  }

  private func make(_ change: StoreChange) throws(StoreError) {
    switch change {
    case .saveEnvironment(let id, let document):
      try saveEnvironment.run(.text(id), .blob(document))
      try removeTraffic.run(.text(id))
    case .saveTraffic(let id, let document): try saveTraffic.run(.text(id), .blob(document))
    case .removeEnvironment(let id):
      try removeEnvironment.run(.text(id))
      try removeTraffic.run(.text(id))
      try removeJournal.run(.text(id))
    case .saveLeases(let leases):
      for (port, document) in leases { try saveLease.run(.integer(Int(port)), .blob(document)) }
    case .removeLeases(let ports):
      for port in ports { try removeLease.run(.integer(Int(port))) }
    case .appendJournal(let entries):
      for entry in entries {
        try saveEntry.run(.text(entry.environment), .integer(entry.number), .blob(entry.document))
      }
    case .trimJournal(let id, let number): try trimEntries.run(.text(id), .integer(number))
    }
  }

  /// Moves all of the log into the database, and cuts it off.
  private func emptyLog() throws(StoreError) { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  func load() throws(StoreError) -> StoredState {
    let environments = try connection.prepare(
      """
      SELECT id, environments.document, (SELECT max(number) FROM journal WHERE environment = id), traffic.document
      FROM environments LEFT JOIN traffic ON traffic.environment = id ORDER BY environments.rowid
      """
    ).rows {
      StoredEnvironment(
        id: $0.text(0), document: $0.data(1), traffic: $0.isNull(3) ? nil : $0.data(3), lastEntry: $0.integer(2))
    }
    let leases = try connection.prepare("SELECT document FROM leases ORDER BY port").rows { $0.data(0) }
    return StoredState(environments: environments, leases: leases)
  }

  func journal(of id: String, after number: Int, limit: Int) throws(StoreError) -> [StoredJournalEntry] {
    try findEntries.rows(.text(id), .integer(number), .integer(max(0, limit))) {
      StoredJournalEntry(environment: id, number: $0.integer(0), document: $0.data(1))
    }
  }

  /// For tests: the database behaves as on a disk that is full once it has so many pages.
  func limit(pages: Int) throws(StoreError) { try connection.execute("PRAGMA max_page_count = \(pages)") }
}
