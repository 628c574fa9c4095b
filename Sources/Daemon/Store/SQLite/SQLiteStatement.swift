import CSQLite
import Foundation

/// A prepared statement of a connection.
final class SQLiteStatement {
  private let statement: OpaquePointer
  private let connection: SQLiteConnection

  init(_ statement: OpaquePointer, of connection: SQLiteConnection) {
    self.statement = statement
    self.connection = connection
  }

  deinit {
    sqlite3_finalize(statement)
  }

  /// Runs it for its effect, with values for its parameters in order.
  func run(_ values: SQLiteValue...) throws(StoreError) {
    try bind(values)
    defer { reset() }
    while try step() {}
  }

  /// Runs it and makes something of each row.
  func rows<Row>(_ values: SQLiteValue..., row: (SQLiteStatement) -> Row) throws(StoreError) -> [Row] {
    try bind(values)
    defer { reset() }
    var rows: [Row] = []
    while try step() { rows.append(row(self)) }
    return rows
  }

  /// Goes to the next row.
  ///
  /// - Returns: whether there is one.
  /// - Throws: what SQLite says.
  func step() throws(StoreError) -> Bool {
    let code = sqlite3_step(statement)
    try connection.check(code)
    return code == SQLITE_ROW
  }

  func text(_ column: Int32) -> String {
    // "The safest policy is to invoke … sqlite3_column_text() followed by sqlite3_column_bytes()."
    guard let bytes = sqlite3_column_text(statement, column) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func data(_ column: Int32) -> Data {
    guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }

  private func bind(_ values: [SQLiteValue]) throws(StoreError) {
    for (index, value) in values.enumerated() {
      let code =
        switch value {
        case .integer(let value): sqlite3_bind_int64(statement, Int32(index + 1), Int64(value))
        case .text(var text):
          text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
              sqlite3_bind_text64(
                statement, Int32(index + 1), $0.baseAddress, UInt64($0.count), diorama_sqlite_transient(),
                UInt8(SQLITE_UTF8))
            }
          }
        // A null pointer would be NULL, not a document without bytes.
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

  /// So that it holds neither a lock nor a copy of what was secret.
  private func reset() {
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
  }
}

/// A value for a statement's parameter.
enum SQLiteValue {
  case integer(Int)
  case text(String)
  case blob(Data)
}
