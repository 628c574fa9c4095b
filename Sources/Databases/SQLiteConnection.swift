package import Basics
import CSQLite
package import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open SQLite database, for use by one thread at a time.
package final class SQLiteConnection {
  package let path: String
  private let database: OpaquePointer

  /// Opens an existing file.
  package init(_ path: String) throws(CodedError) {
    self.path = path
    var database: OpaquePointer?
    // Only one thread uses the connection, so SQLite needs no mutexes.
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

  /// Sets whether closing moves the write-ahead log into the database. Otherwise, all files stay as they are.
  package func setCheckpointOnClose(_ isOn: Bool) {
    _ = diorama_sqlite_checkpoint_on_close(database, isOn ? 1 : 0)
  }

  /// Runs statements without parameters and results.
  package func execute(_ statements: String) throws(CodedError) {
    try check(sqlite3_exec(database, statements, nil, nil, nil))
  }

  /// Returns the first column of the first row, or nil if there is no row.
  package func text(_ statement: String) throws(CodedError) -> String? {
    let statement = try prepare(statement)
    return try statement.step() ? statement.text(0) : nil
  }

  /// Prepares a statement for repeated use.
  package func prepare(_ text: String) throws(CodedError) -> SQLiteStatement {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw CodedError(.inputOutput, "'\(text)' is not a statement") }
    return SQLiteStatement(statement, of: self)
  }

  func check(_ code: Int32) throws(CodedError) {
    guard code != SQLITE_OK, code != SQLITE_ROW, code != SQLITE_DONE else { return }
    throw SQLiteFailure(path: path, code: code, database: database).error
  }
}

extension SQLiteConnection: SQLConnection {
  package var dialect: SQLDialect { .sqlite }

  package func query(_ text: String, _ values: [SQLValue]) throws(CodedError) -> [SQLRow] {
    // SQLite numbers `$1` by its first appearance, but `?1` by its number. No statement has a `$` elsewhere.
    let statement = try prepare(text.replacingOccurrences(of: "$", with: "?"))
    return try statement.rows(values) { row in SQLRow((0..<row.columns).map { row.value($0) }) }
  }
}

/// A prepared statement of a connection.
package final class SQLiteStatement {
  private let statement: OpaquePointer
  private let connection: SQLiteConnection

  init(_ statement: OpaquePointer, of connection: SQLiteConnection) {
    self.statement = statement
    self.connection = connection
  }

  deinit {
    sqlite3_finalize(statement)
  }

  /// Runs the statement with the given parameters, ignoring its rows.
  package func run(_ values: SQLValue...) throws(CodedError) {
    try bind(values)
    defer { reset() }
    while try step() {}
  }

  /// Runs the statement and converts each row.
  package func rows<Row>(_ values: SQLValue..., row: (SQLiteStatement) -> Row) throws(CodedError) -> [Row] {
    try rows(values, row: row)
  }

  func rows<Row>(_ values: [SQLValue], row: (SQLiteStatement) -> Row) throws(CodedError) -> [Row] {
    try bind(values)
    defer { reset() }
    var rows: [Row] = []
    while try step() { rows.append(row(self)) }
    return rows
  }

  /// Moves to the next row.
  ///
  /// - Returns: whether there is one.
  /// - Throws: SQLite's error.
  package func step() throws(CodedError) -> Bool {
    let code = sqlite3_step(statement)
    try connection.check(code)
    return code == SQLITE_ROW
  }

  package func text(_ column: Int32) -> String {
    // "The safest policy is to invoke … sqlite3_column_text() followed by sqlite3_column_bytes()."
    guard let bytes = sqlite3_column_text(statement, column) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  package func data(_ column: Int32) -> Data {
    guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
  }

  package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  package func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }

  /// The value of a column.
  func value(_ column: Int32) -> SQLValue {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_NULL: .null
    case SQLITE_INTEGER: .integer(integer(column))
    case SQLITE_BLOB: .blob(data(column))
    default: .text(text(column))
    }
  }

  /// How many columns a row has.
  var columns: Int32 { sqlite3_column_count(statement) }

  private func bind(_ values: [SQLValue]) throws(CodedError) {
    for (index, value) in values.enumerated() {
      let code =
        switch value {
        case .null: sqlite3_bind_null(statement, Int32(index + 1))
        case .integer(let value): sqlite3_bind_int64(statement, Int32(index + 1), Int64(value))
        case .text(var text):
          text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
              sqlite3_bind_text64(
                statement, Int32(index + 1), $0.baseAddress, UInt64($0.count), diorama_sqlite_transient(),
                UInt8(SQLITE_UTF8))
            }
          }
        // A null pointer would bind NULL, not an empty document.
        case .blob(let data) where data.isEmpty: sqlite3_bind_zeroblob(statement, Int32(index + 1), 0)
        case .blob(let data):
          data.withUnsafeBytes {
            sqlite3_bind_blob64(
              statement, Int32(index + 1), $0.baseAddress, UInt64($0.count), diorama_sqlite_transient())
          }
        }
      try connection.check(code)
    }
  }

  /// Releases locks, and the copies of parameters, which may be secret.
  private func reset() {
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
  }
}

/// Converts SQLite's errors.
package struct SQLiteFailure {
  private let path: String
  private let code: Int32
  private let message: String
  private let systemCode: Int32

  init(path: String, code: Int32, database: OpaquePointer?) {
    self.path = path
    self.code = code
    message = String(cString: sqlite3_errstr(code))
    systemCode = database.map(sqlite3_system_errno) ?? 0
  }

  /// The error for a database that fails SQLite's integrity check.
  ///
  /// - Parameters:
  ///   - path: the path of the database.
  ///   - finding: the result of the check, on one or more lines.
  /// - Returns: an error of kind `broken`.
  package static func damage(path: String, _ finding: String) -> CodedError {
    let line = finding.split(whereSeparator: \.isNewline).joined(separator: " ").prefix(200)
    return CodedError(.broken, "the daemon's state '\(path)' is damaged (\(line)); \(recovery(path))")
  }

  /// Explains how to continue without a damaged database.
  ///
  /// - Parameter path: the path of the database.
  /// - Returns: the end of an error message.
  package static func recovery(_ path: String) -> String {
    let folder = (path as NSString).deletingLastPathComponent
    return "restore the folder from a backup, or start without it: mv '\(folder)' '\(folder).damaged'"
  }

  var error: CodedError {
    // The low byte is the primary result code; the rest extends it.
    let (kind, what): (CodedError.Kind, String) =
      switch code & 0xFF {
      case SQLITE_CORRUPT, SQLITE_NOTADB: (.broken, "is damaged (\(message)); \(Self.recovery(path))")
      case SQLITE_FULL,
        SQLITE_IOERR where [ENOSPC, EDQUOT].contains(systemCode):
        (.cannotWrite, "cannot be written: the disk is full; free some space and try again")
      case SQLITE_BUSY, SQLITE_LOCKED:
        (.noUpstream, "is open in another process; find it with: fuser '\(path)'")
      case SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_AUTH:
        (.cannotWrite, "cannot be opened or written (\(message)); check the permissions of the file and its folder")
      default:
        (
          .inputOutput,
          "cannot be used: \(message)\(systemCode == 0 ? "" : ", " + String(cString: strerror(systemCode))); check the "
            + "disk and the system's log, then start the daemon again"
        )
      }
    return CodedError(kind, "the daemon's state '\(path)' \(what)")
  }
}
