import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How many changes the store has committed, in the file `state.count` beside the database, which has the same count.
///
/// The file is written after each commit and before the commit is acknowledged. So it never has a higher count than the
/// database, unless something that was acknowledged is gone from the database or its write-ahead log: then the daemon
/// does not start, in place of ending environments whose contracts it still has. Like the database, the file survives
/// `kill -9`, and not necessarily a power cut.
///
/// For one thread at a time.
final class CommitCount {
  /// Overwritten as a whole, which no kill divides.
  private static let digits = 20

  /// How many there have been.
  private(set) var count = 0
  private let path: String
  private let contracts: String
  /// What the last daemon has acknowledged; nil where there is no file.
  private let expected: Int?
  private var descriptor: Int32 = -1

  /// Reads the file, and changes nothing.
  ///
  /// - Throws: ``StoreError`` of kind `corrupt` for a file that holds no count.
  init(in folder: StateFolder) throws(StoreError) {
    path = folder.path(of: "state.count")
    contracts = folder.path(of: "contracts")
    let text = (try? InputFile(path).read(atMost: 1024)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    // Shorter: the daemon was killed before it had written it for the first time, or there was no room.
    guard text.utf8.count > Self.digits else {
      expected = nil
      return
    }
    guard let count = Int(text.dropLast()), text.utf8.count == Self.digits + 1 else {
      throw StoreError(
        "the daemon's state '\(path)' is damaged, so it is unknown whether '\(folder.path(of: "state.sqlite"))' is "
          + "complete; to continue with the existing data: rm '\(path)'", kind: .corrupt)
    }
    expected = count
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Refuses a database without content where there has been some: a count says so, or contracts do.
  ///
  /// - Parameter file: the database, before SQLite makes it.
  /// - Throws: ``StoreError`` of kind `corrupt`.
  func checkEmptiness(of file: StoreFile) throws(StoreError) {
    guard file.isEmpty else { return }
    let contracts = (try? FileManager.default.contentsOfDirectory(atPath: contracts))?.count ?? 0
    guard (expected ?? 0) > 0 || contracts > 0 else { return }
    throw StoreError(
      "the daemon's state '\(file.path)' is empty or gone, but environments or leases have been stored in it; "
        + SQLiteFailure.recovery(file.path), kind: .corrupt)
  }

  /// Refuses a database that lacks commits.
  ///
  /// - Parameters:
  ///   - found: the count in the database.
  ///   - database: its path.
  /// - Throws: ``StoreError`` of kind `corrupt`.
  func check(_ found: Int, in database: String) throws(StoreError) {
    guard let expected, found < expected else { return }
    throw StoreError(
      "the daemon's state '\(database)' has only \(found) of \(expected) changes; the rest are missing from it or from "
        + "'\(database)-wal'; \(SQLiteFailure.recovery(database)), or go on with what is left after: rm '\(path)'",
      kind: .corrupt)
  }

  /// Counts from here on.
  ///
  /// - Throws: ``StoreError`` where the file cannot be opened or made.
  func begin(at count: Int) throws(StoreError) {
    self.count = count
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, fchmod(descriptor, 0o600) == 0 else {
      let code = errno
      throw StoreError(
        "the daemon's state '\(path)' cannot be opened: \(String(cString: strerror(code))); check its permissions",
        kind: code == ENOSPC || code == EDQUOT ? .full : .notPermitted)
    }
    write()
  }

  /// A change has been committed.
  func increment() {
    count += 1
    write()
  }

  /// A full disk is no failure: a lower count in the file does no harm, and the next one is right again.
  private func write() {
    let number = String(count)
    let text = String(repeating: "0", count: Self.digits - number.utf8.count) + number + "\n"
    _ = pwrite(descriptor, text, Self.digits + 1, 0)
  }
}
