package import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Appends messages to a file while a run is under way.
///
/// Each line is one `write` to a file opened for appending, so that several processes can write to the same file, and
/// a killed process loses nothing that it appended.
package final class MessageWriter: Sendable {
  private let path: String
  private let descriptor: Int32
  private let hasFailed = Guarded(false)

  /// Opens the file, and creates it and its folder if needed.
  ///
  /// - Parameter path: the path of the file.
  /// - Throws: ``CodedError`` of kind `cannotWrite`.
  package init(path: String) throws(CodedError) {
    self.path = path
    let folder = URL(filePath: path).deletingLastPathComponent()
    try CodedError.translating(
      to: .cannotWrite, at: "cannot create the folder of \(path)",
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true))
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Self.error(path, errno) }
  }

  deinit {
    close(descriptor)
  }

  /// Appends a message. If that fails, standard error says so once, and the run continues.
  ///
  /// - Parameter message: the message.
  package func append(_ message: Message) {
    let line = Array((message.encoded() + "\n").utf8)
    hasFailed.withLock { hasFailed in
      guard !hasFailed, let number = write(line) else { return }
      hasFailed = true
      let text = "diorama: \(Self.error(path, number)); the reports of this run are incomplete\n"
      FileHandle.standardError.write(Data(text.utf8))
    }
  }

  /// Writes all bytes.
  ///
  /// - Returns: the error number; nil if all is written.
  private func write(_ line: [UInt8]) -> Int32? {
    line.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        #if canImport(Darwin)
          let count = Darwin.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        #else
          let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        #endif
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? EIO : errno }
        rest = rest[(rest.startIndex + count)...]
      }
      return nil
    }
  }

  private static func error(_ path: String, _ number: Int32) -> CodedError {
    CodedError(.cannotWrite, "cannot write \(path): \(String(cString: strerror(number)))")
  }
}
