package import Basics
package import Foundation

/// A connection to a database, for use by one thread at a time: SQLite or PostgreSQL.
///
/// Statements are those that both databases understand; parameters are `$1`, `$2` and so on. Where the databases differ, a
/// statement is composed with ``SQLDialect``.
package protocol SQLConnection: AnyObject {
  var dialect: SQLDialect { get }

  /// Runs statements without parameters, and ignores their rows.
  func execute(_ statements: String) throws(CodedError)

  /// Runs a statement and returns its rows.
  ///
  /// - Throws: ``CodedError`` of kind `noUpstream` if the database cannot be reached; then it is unknown whether the
  ///   statement has taken effect.
  @discardableResult
  func query(_ statement: String, _ values: [SQLValue]) throws(CodedError) -> [SQLRow]
}

extension SQLConnection {
  /// Runs a statement with parameters and returns its rows.
  @discardableResult
  package func query(_ statement: String, _ values: SQLValue...) throws(CodedError) -> [SQLRow] {
    try query(statement, values)
  }

  /// Runs `body` in a transaction.
  ///
  /// - Parameters:
  ///   - begin: the statements that begin it.
  ///   - body: what to do. If it throws, nothing has changed.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body` or of the database.
  package func transaction<Value>(
    begin: String? = nil, _ body: () throws(CodedError) -> Value
  ) throws(CodedError) -> Value {
    try execute(begin ?? dialect.begin)
    do {
      let value = try body()
      try execute("COMMIT")
      return value
    } catch {
      // After some errors, such as a full disk or a lost connection, the database has rolled back by itself.
      try? execute("ROLLBACK")
      throw error
    }
  }
}

/// What differs between the databases.
package enum SQLDialect: Sendable {
  case sqlite, postgreSQL

  /// Begins a transaction that writes.
  package var begin: String {
    switch self {
    case .sqlite: "BEGIN IMMEDIATE"
    case .postgreSQL: "BEGIN"
    }
  }

  /// The time of the database's clock, in microseconds since 1970.
  package var now: String {
    switch self {
    case .sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
    case .postgreSQL: "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    }
  }

  /// Locks the selected rows until the end of the transaction, leaving out those that another one has locked.
  package var locking: String {
    switch self {
    case .sqlite: ""
    case .postgreSQL: "FOR UPDATE SKIP LOCKED"
    }
  }

  /// The type of binary values.
  package var bytes: String {
    switch self {
    case .sqlite: "BLOB"
    case .postgreSQL: "BYTEA"
    }
  }

  /// The type of a column whose values the database counts up.
  package var counter: String {
    switch self {
    case .sqlite: "INTEGER PRIMARY KEY AUTOINCREMENT"
    case .postgreSQL: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    }
  }
}

/// A parameter of a statement, or a value of a row.
package enum SQLValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  case null
  case integer(Int)
  case text(String)
  case blob(Data)

  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(_ text: String?) { self = text.map(Self.text) ?? .null }
  package init(_ number: Int?) { self = number.map(Self.integer) ?? .null }
}

/// A row of a result.
package struct SQLRow: Sendable, Equatable {
  package var values: [SQLValue]

  package init(_ values: [SQLValue]) { self.values = values }

  package subscript(_ column: Int) -> SQLValue { column < values.count ? values[column] : .null }

  /// The text of a column; nil if it is null.
  package func text(_ column: Int) -> String? {
    switch self[column] {
    case .null, .blob: nil
    case .integer(let number): String(number)
    case .text(let text): text
    }
  }

  /// The number of a column; nil if it is null or no number.
  package func integer(_ column: Int) -> Int? {
    switch self[column] {
    case .null, .blob: nil
    case .integer(let number): number
    case .text(let text): Int(text)
    }
  }

  /// The bytes of a column; nil if it is null.
  package func data(_ column: Int) -> Data? {
    if case .blob(let data) = self[column] { data } else { nil }
  }
}

extension Sequence<Int> {
  /// The numbers as a list for `IN`, such as `(1,2)`; `(NULL)`, which contains nothing, if there are none.
  package var sqlList: String {
    let list = map(String.init).joined(separator: ",")
    return "(\(list.isEmpty ? "NULL" : list))"
  }
}

extension Collection<String> {
  /// Placeholders for a list of texts for `IN`, such as `($3,$4)`.
  ///
  /// - Parameter first: the number of the first placeholder.
  /// - Returns: the list.
  package func sqlPlaceholders(from first: Int = 1) -> String {
    isEmpty ? "(NULL)" : "(" + (first..<first + count).map { "$\($0)" }.joined(separator: ",") + ")"
  }
}
