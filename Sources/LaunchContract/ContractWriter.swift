package import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Passes a contract to the app: in a variable or an argument, or in a file named there.
package enum ContractWriter {
  /// What to pass to the app.
  package struct Delivery: Sendable, Equatable {
    /// The value of `DIORAMA_CONTRACT`, or of the argument `-DioramaContract`.
    package let value: String
    /// The file to delete once the app has ended; nil if the value is the document itself.
    package let file: String?
  }

  /// How the value is passed.
  package enum Channel: Sendable {
    /// In an environment variable, which only the app's user can read.
    case environment
    /// In an argument, which every user on the machine can read while the app runs.
    case arguments
  }

  /// The maximum size of a document in the environment, in bytes; the system allows 131,071 per string.
  package static let inlineLimit = 32_768

  /// Writes a contract: inline, or to a new file of mode 0600 if it contains credentials or exceeds 32 KiB.
  ///
  /// For an argument, a control token also requires a file.
  ///
  /// - Parameters:
  ///   - contract: the contract.
  ///   - folder: the absolute path of the folder for the file, if one is needed.
  ///   - channel: how the value is passed.
  /// - Returns: the value to pass, and the file if there is one.
  /// - Throws: ``CodedError`` if the file cannot be written.
  package static func deliver(
    _ contract: LaunchContract, folder: String, by channel: Channel = .environment
  ) throws(CodedError) -> Delivery {
    let document: Data
    do {
      document = try contract.encodedDocument()
    } catch let EncodingError.invalidValue(_, context) {
      throw .contract("\(JSON.place(context.codingPath))JSON cannot express infinity or NaN", .cannotWrite)
    } catch {
      throw .contract("cannot be encoded", .cannotWrite)
    }
    let isSecret = contract.credentials != nil || (channel == .arguments && contract.control != nil)
    if !isSecret, document.count <= inlineLimit {
      return Delivery(value: String(decoding: document, as: UTF8.self), file: nil)
    }
    guard folder.hasPrefix("/") else {
      throw .contract("the folder must be an absolute path", .cannotWrite, source: folder)
    }
    let path = "\(folder)/contract-\(UUID().uuidString.lowercased()).json"
    try ContractFile.create(path, document)
    return Delivery(value: "file:\(path)", file: path)
  }
}

/// Reads and writes contracts and the files they refer to.
enum ContractFile {
  /// Reads a whole file.
  ///
  /// - Throws: ``CodedError`` with the path and the system's message.
  static func read(_ path: String) throws(CodedError) -> Data {
    do { return try InputFile(path).read(atMost: limit) } catch {
      throw .contract("cannot be read: \(error)", source: path)
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
  /// - Throws: ``CodedError`` with the path; the file is removed.
  static func create(_ path: String, _ data: Data) throws(CodedError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .contract("cannot be created: \(reason(errno))", .cannotWrite, source: path) }
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
      throw .contract("cannot be written: \(reason(failure))", .cannotWrite, source: path)
    }
  }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
