import CSQLite

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open database, for one thread at a time.
final class SQLiteConnection {
  let path: String
  private let database: OpaquePointer

  /// Opens a file that is there.
  init(_ path: String) throws(StoreError) {
    self.path = path
    var database: OpaquePointer?
    // Several connections of the process are no use here, so SQLite need not lock anything itself.
    let code = sqlite3_open_v2(
      path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let database else {
      let error = SQLiteFailure(path: path, code: code, database: database).error
      sqlite3_close_v2(database)
      throw error
    }
    self.database = database
  }

  deinit {
    // "If sqlite3_close_v2() is called with unfinalized prepared statements …, then it returns SQLITE_OK … but the
    // deallocation of resources is deferred."
    sqlite3_close_v2(database)
  }

  /// Whether closing moves what the write-ahead log has into the database; else all files stay as they are.
  func setCheckpointOnClose(_ isOn: Bool) {
    _ = diorama_sqlite_checkpoint_on_close(database, isOn ? 1 : 0)
  }

  /// Runs statements without parameters or results.
  func execute(_ statements: String) throws(StoreError) {
    try check(sqlite3_exec(database, statements, nil, nil, nil))
  }

  /// The first column of the first row; nil where there is none.
  func text(_ statement: String) throws(StoreError) -> String? {
    let statement = try prepare(statement)
    return try statement.step() ? statement.text(0) : nil
  }

  /// A statement to be run any number of times.
  func prepare(_ text: String) throws(StoreError) -> SQLiteStatement {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw StoreError("'\(text)' is not a statement") }
    return SQLiteStatement(statement, of: self)
  }

  /// Runs `body` as one transaction: all of it or none.
  func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      try body()
      try execute("COMMIT")
    } catch {
      // After some errors, a full disk among them, SQLite has rolled back by itself.
      if sqlite3_get_autocommit(database) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }

  func check(_ code: Int32) throws(StoreError) {
    guard code != SQLITE_OK, code != SQLITE_ROW, code != SQLITE_DONE else { return }
    throw SQLiteFailure(path: path, code: code, database: database).error
  }
}
