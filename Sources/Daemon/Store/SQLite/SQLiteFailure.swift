import CSQLite
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What SQLite says has gone wrong, in the words of the daemon.
struct SQLiteFailure {
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

  /// The error for a database whose tables do not hold together.
  ///
  /// - Parameters:
  ///   - path: of the database.
  ///   - finding: what SQLite's check says, on one or more lines.
  /// - Returns: the error, of kind `corrupt`.
  static func damage(path: String, _ finding: String) -> StoreError {
    let line = finding.split(whereSeparator: \.isNewline).joined(separator: " ").prefix(200)
    return StoreError("the daemon's state '\(path)' is damaged (\(line)); \(recovery(path))", kind: .corrupt)
  }

  /// How to go on without what a damaged database holds.
  ///
  /// - Parameter path: of the database.
  /// - Returns: the end of a message.
  static func recovery(_ path: String) -> String {
    let folder = (path as NSString).deletingLastPathComponent
    return "restore that folder from a backup, or start empty after: mv '\(folder)' '\(folder).damaged'"
  }

  var error: StoreError { StoreError("the daemon's state '\(path)' \(what)", kind: kind) }

  private var kind: StoreError.Kind {
    // The low byte is the error, what is above it says more.
    switch code & 0xFF {
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
    case SQLITE_FULL: .full
    case SQLITE_IOERR where systemCode == ENOSPC || systemCode == EDQUOT: .full
    case SQLITE_BUSY, SQLITE_LOCKED: .inUse(pid: nil)
    case SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_AUTH: .notPermitted
    default: .other
    }
  }

  private var what: String {
    switch kind {
    case .corrupt:
      "is damaged (\(message)); \(Self.recovery(path))"
    case .full: "cannot be written, the disk is full; make room on it and try again"
    case .inUse: "is open in another process ('fuser \(path)' names it); end that one"
    case .notPermitted:
      "cannot be opened or written (\(message)); look at the rights of the file and of its folder"
    default:
      "cannot be used: \(message)\(systemCode == 0 ? "" : ", " + String(cString: strerror(systemCode))); look at the disk "
        + "and the system's log, then start the daemon again"
    }
  }
}
