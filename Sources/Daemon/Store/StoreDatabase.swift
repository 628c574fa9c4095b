import Basics
import Databases
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The daemon's tables, for use by one thread at a time.
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
  ///   - folder: the state folder; the database is created if needed.
  ///   - schema: the schema to migrate to.
  /// - Throws: ``CodedError``. A database that is damaged or of a newer version isn't changed.
  init(in folder: StateFolder, schema: StoreSchema) throws(CodedError) {
    let path = folder.path(of: "state.sqlite")
    let file = StoreFile(path: path)
    let commits = try CommitCount(in: folder)
    // Before SQLite opens the file: it would remove the log of an empty database.
    try commits.checkEmptiness(of: file)
    try file.makePrivate()
    if let version = file.version { try schema.check(version, of: path) }
    connection = try SQLiteConnection(path)
    connection.setCheckpointOnClose(false)
    // No other process opens the file, so the log's index can be in memory.
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    // The write reaches the kernel when a transaction ends, so it survives this process. There is no wait for the disk.
    try connection.execute("PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF")
    let version = try schema.check(connection)
    let found = version < StoreSchema.counting ? nil : try connection.text("SELECT count FROM commits")
    let count = found.flatMap { Int($0) } ?? 0
    try commits.check(count, in: path)
    // Version 1 had no traffic table.
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
    // Completes the checkpoint that a killed daemon may have missed after a removal.
    self.commits = commits
    try emptyLog()
    try commits.begin(at: count)
    connection.setCheckpointOnClose(true)
  }

  /// Applies changes in one transaction.
  func make(_ changes: [StoreChange]) throws(CodedError) {
    var removesSecrets = false
    try connection.transaction { () throws(CodedError) in
      for change in changes {
        try make(change)
        removesSecrets = removesSecrets || change.removesSecrets
      }
      try saveCount.run(.integer(commits.count + 1))
    }
    commits.increment()
    // SQLite overwrites deleted content in the database, but the log still has the old pages.
    if removesSecrets { try emptyLog() }
  }

  private func make(_ change: StoreChange) throws(CodedError) {
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

  /// Moves the log into the database and truncates it.
  private func emptyLog() throws(CodedError) { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  func load() throws(CodedError) -> StoredState {
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

  func journal(of id: String, after number: Int, limit: Int) throws(CodedError) -> [StoredJournalEntry] {
    try findEntries.rows(.text(id), .integer(number), .integer(max(0, limit))) {
      StoredJournalEntry(environment: id, number: $0.integer(0), document: $0.data(1))
    }
  }

  /// For tests: simulates a disk that is full once the database has this many pages.
  func limit(pages: Int) throws(CodedError) { try connection.execute("PRAGMA max_page_count = \(pages)") }
}

/// The tables, as a list of migrations.
///
/// A database's `user_version` is the number of migrations applied. A released migration never changes; append a new
/// one.
struct StoreSchema: Sendable {
  var steps: [String]

  static let current = StoreSchema(steps: [
    """
    CREATE TABLE environments (id TEXT PRIMARY KEY NOT NULL, document BLOB NOT NULL);
    CREATE TABLE leases (port INTEGER PRIMARY KEY, document BLOB NOT NULL);
    CREATE TABLE journal (
      environment TEXT NOT NULL, number INTEGER NOT NULL, document BLOB NOT NULL, PRIMARY KEY (environment, number)
    ) WITHOUT ROWID;
    """,
    "CREATE TABLE traffic (environment TEXT PRIMARY KEY NOT NULL, document BLOB NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE commits (count INTEGER NOT NULL); INSERT INTO commits VALUES (0);",
  ])

  /// The first version that counts its commits.
  static let counting = 3

  var version: Int { steps.count }

  /// Refuses databases of later versions and of other programs.
  func check(_ version: Int, of path: String) throws(CodedError) {
    guard version <= self.version else {
      throw CodedError(
        .broken,
        "the daemon's state '\(path)' has schema version \(version), but this diorama supports versions up to "
          + "\(self.version); use the newer diorama that wrote it, or choose another folder with --state")
    }
    guard version >= 0 else { throw notOurs(path) }
  }

  /// Checks a database before anything is written to it.
  ///
  /// - Parameter connection: the database.
  /// - Returns: the schema version.
  /// - Throws: ``CodedError`` if this version can't use the database.
  func check(_ connection: SQLiteConnection) throws(CodedError) -> Int {
    let version = Int(try connection.text("PRAGMA user_version") ?? "") ?? 0
    try check(version, of: connection.path)
    if version == 0, try connection.text("SELECT name FROM sqlite_schema LIMIT 1") != nil {
      throw notOurs(connection.path)
    }
    return version
  }

  /// Applies the missing migrations, each in a transaction.
  func migrate(_ connection: SQLiteConnection, from version: Int) throws(CodedError) {
    for (index, step) in steps.enumerated().dropFirst(version) {
      try connection.transaction { () throws(CodedError) in
        try connection.execute(step)
        try connection.execute("PRAGMA user_version = \(index + 1)")
      }
    }
  }

  private func notOurs(_ path: String) -> CodedError {
    CodedError(
      .broken,
      "'\(path)' belongs to another program; move it, or choose another folder with --state")
  }
}

/// The database file, read without SQLite.
struct StoreFile {
  let path: String

  /// Whether the file is missing or empty.
  var isEmpty: Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_size == 0
  }

  /// Creates the file if needed, readable by its owner only. SQLite gives its other files the same mode.
  func makePrivate() throws(CodedError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, fchmod(descriptor, 0o600) == 0 else {
      let code = errno
      if descriptor >= 0 { close(descriptor) }
      throw CodedError(
        .cannotWrite,
        "the daemon's state '\(path)' cannot be opened: \(String(cString: strerror(code))); check its permissions")
    }
    close(descriptor)
  }

  /// The schema version in the file header; nil if the file is empty or not a database.
  ///
  /// Asking SQLite would open and change the write-ahead log. The header is up to date, since each migration ends with
  /// a checkpoint.
  var version: Int? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var head = [UInt8](repeating: 0, count: 100)
    guard pread(descriptor, &head, head.count, 0) == head.count, head.starts(with: Array("SQLite format 3\0".utf8))
    else { return nil }
    // "Offset 60, size 4: the user version as read and set by the user_version pragma", big-endian.
    return Int(Int32(bitPattern: head[60..<64].reduce(0) { $0 << 8 | UInt32($1) }))
  }
}

/// The number of committed changes, in the file `state.count` beside the database, which holds the same count.
///
/// The file is written after each commit, before the commit is acknowledged. If its count is higher than the
/// database's, acknowledged changes are missing from the database or its write-ahead log. In that case the daemon
/// doesn't start, since it would end environments whose contracts still exist. Like the database, the file survives
/// `kill -9`, but not necessarily a power failure.
///
/// For use by one thread at a time.
final class CommitCount {
  /// The fixed width of the count, so that each write replaces it completely.
  private static let digits = 20

  private(set) var count = 0
  private let path: String
  private let contracts: String
  /// The count that the last daemon acknowledged; nil if there is no file.
  private let expected: Int?
  private var descriptor: Int32 = -1

  /// Reads the file, and changes nothing.
  ///
  /// - Throws: ``CodedError`` of kind `broken` if the file doesn't hold a count.
  init(in folder: StateFolder) throws(CodedError) {
    path = folder.path(of: "state.count")
    contracts = folder.path(of: "contracts")
    let text = (try? InputFile(path).read(atMost: 1024)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    // A shorter file comes from a kill before the first write, or from a full disk.
    guard text.utf8.count > Self.digits else {
      expected = nil
      return
    }
    guard let count = Int(text.dropLast()), text.utf8.count == Self.digits + 1 else {
      throw CodedError(
        .broken,
        "the daemon's state '\(path)' is damaged, so it is unknown whether '\(folder.path(of: "state.sqlite"))' is "
          + "complete; to continue with the existing data: rm '\(path)'")
    }
    expected = count
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Refuses an empty database if the count or the contracts show that it had content.
  ///
  /// - Parameter file: the database file, before SQLite creates it.
  /// - Throws: ``CodedError`` of kind `broken`.
  func checkEmptiness(of file: StoreFile) throws(CodedError) {
    guard file.isEmpty else { return }
    let contracts = (try? FileManager.default.contentsOfDirectory(atPath: contracts))?.count ?? 0
    guard (expected ?? 0) > 0 || contracts > 0 else { return }
    throw CodedError(
      .broken,
      "the daemon's state '\(file.path)' is empty or missing, but environments or leases were stored in it; "
        + SQLiteFailure.recovery(file.path))
  }

  /// Refuses a database that lacks commits.
  ///
  /// - Parameters:
  ///   - found: the count in the database.
  ///   - database: the path of the database.
  /// - Throws: ``CodedError`` of kind `broken`.
  func check(_ found: Int, in database: String) throws(CodedError) {
    guard let expected, found < expected else { return }
    throw CodedError(
      .broken,
      "the daemon's state '\(database)' has only \(found) of \(expected) changes; the rest are missing from it or from "
        + "'\(database)-wal'; \(SQLiteFailure.recovery(database)), or continue with the remaining data: rm '\(path)'")
  }

  /// Starts counting.
  ///
  /// - Throws: ``CodedError`` if the file can't be opened or created.
  func begin(at count: Int) throws(CodedError) {
    self.count = count
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, fchmod(descriptor, 0o600) == 0 else {
      let code = errno
      throw CodedError(
        .cannotWrite,
        "the daemon's state '\(path)' cannot be opened: \(String(cString: strerror(code))); check its permissions")
    }
    write()
  }

  /// Counts a committed change.
  func increment() {
    count += 1
    write()
  }

  /// Writes the count. A failure on a full disk is harmless: a count that is too low is allowed, and the next write
  /// corrects it.
  private func write() {
    let number = String(count)
    let text = String(repeating: "0", count: Self.digits - number.utf8.count) + number + "\n"
    _ = pwrite(descriptor, text, Self.digits + 1, 0)
  }
}
