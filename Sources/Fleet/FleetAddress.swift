package import Basics
package import Databases
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The database of a fleet.
package enum FleetAddress: Sendable, Equatable {
  /// A file of this machine: the fleet is one daemon.
  case sqlite(path: String)
  /// Shared by daemons of many machines.
  case postgreSQL(PostgreSQLAddress)

  /// - Parameters:
  ///   - text: `postgresql://…`, a connection string of libpq, or `env:VARIABLE`, which holds one.
  ///   - variables: the environment variables.
  /// - Throws: ``CodedError`` of kind `usage` for another text.
  package init(_ text: String, variables: [String: String]) throws(CodedError) {
    if text.hasPrefix("env:") {
      let name = String(text.dropFirst(4))
      guard let value = variables[name], !value.isEmpty else {
        throw CodedError(
          .usage, "the variable \(name), which should contain the address of the store, is not set; set it")
      }
      self = .postgreSQL(try PostgreSQLAddress(value, mayHavePassword: true))
      return
    }
    guard ["postgresql://", "postgres://"].contains(where: text.hasPrefix) || text.contains("=") else {
      throw CodedError(
        .usage,
        "'\(text.prefix(20))' is not the address of a database; give postgresql://user@host:5432/database or env:VARIABLE"
      )
    }
    self = .postgreSQL(try PostgreSQLAddress(text))
  }

  /// Whether other daemons may use it at the same time.
  package var isShared: Bool { if case .postgreSQL = self { true } else { false } }

  /// The address for messages, without user and password.
  package var name: String {
    switch self {
    case .sqlite(let path): path
    case .postgreSQL(let address): "PostgreSQL \(address.name)"
    }
  }

  /// Connects to the database; an SQLite file is created if needed, readable by its owner only.
  package func connect() throws(CodedError) -> any SQLConnection {
    switch self {
    case .postgreSQL(let address): return try PostgreSQLConnection(address)
    case .sqlite(let path):
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else {
        throw CodedError(
          .cannotWrite, "the store '\(path)' cannot be opened: \(String(cString: strerror(errno))); check its folder")
      }
      close(descriptor)
      let connection = try SQLiteConnection(path)
      // Commits survive a crash of the process, and wait for the disk only at checkpoints. Each connection caches
      // only 200 KiB, because the system caches the file as well.
      try connection.execute(
        """
        PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;
        PRAGMA cache_size = -200
        """)
      return connection
    }
  }
}
