import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The files that a contract lives in or points at.
enum ContractFile {
  /// All bytes of a file.
  ///
  /// - Throws: ``ContractError`` naming the path and the system's reason.
  static func read(_ path: String) throws(ContractError) -> Data {
    do throws(InputFileError) {
      return try InputFile(path).read(atMost: limit)
    } catch {
      throw ContractError("cannot be read: \(error)", source: path)
    }
  }

  /// The most bytes of a contract or a string store.
  private static let limit = 1 << 30

  /// Whether its owner alone may read or write a file.
  static func isPrivate(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o077 == 0
  }

  /// Makes a file that only its owner may read; a file or link that is there already is never written to.
  ///
  /// - Throws: ``ContractError`` naming the path; nothing is left behind then.
  static func create(_ path: String, _ data: Data) throws(ContractError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw ContractError("cannot be made: \(reason(errno))", source: path) }
    // The umask may have taken bits away that the owner needs.
    var failure = fchmod(descriptor, 0o600) == 0 ? 0 : errno
    var rest = data[...]
    while failure == 0, !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        failure = errno
      }
    }
    if close(descriptor) != 0, failure == 0 { failure = errno }
    guard failure == 0 else {
      unlink(path)
      throw ContractError("cannot be written: \(reason(failure))", source: path)
    }
  }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
