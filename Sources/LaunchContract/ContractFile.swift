import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reads and writes contracts and the files they refer to.
enum ContractFile {
  /// Reads a whole file.
  ///
  /// - Throws: ``ContractError`` with the path and the system's message.
  static func read(_ path: String) throws(ContractError) -> Data {
    do throws(InputFileError) {
      return try InputFile(path).read(atMost: limit)
    } catch {
      throw ContractError("cannot be read: \(error)", source: path)
    }
  }

  /// The maximum size of a contract or a string store in bytes.
  private static let limit = 1 << 30

  /// Whether only the file's owner has access.
  static func isPrivate(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o077 == 0
  }

  /// Creates a file that only its owner can read. Never writes to an existing file or link.
  ///
  /// - Throws: ``ContractError`` with the path; the file is removed.
  static func create(_ path: String, _ data: Data) throws(ContractError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw ContractError("cannot be created: \(reason(errno))", source: path) }
    // The umask may have cleared bits that the owner needs.
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
