package import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A new folder, accessible to its owner only, for a launch contract that does not fit into an environment variable.
package enum TemporaryFolder {
  /// Where Linux has a file system in memory (shm_overview(7)).
  private static let memory = "/dev/shm"

  /// Creates a folder.
  ///
  /// - Parameter inMemory: whether to prefer a file system in memory, for many small files.
  /// - Returns: its absolute path. The caller removes the folder.
  /// - Throws: a ``CodedError`` if it cannot be created.
  package static func make(inMemory: Bool = false) throws(CodedError) -> String {
    let parent =
      inMemory && access(memory, W_OK | X_OK) == 0 ? memory : FileManager.default.temporaryDirectory.path
    var template = Array("\(parent)/diorama-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CodedError(
        .cannotWrite, "cannot make a folder in \(parent): \(String(cString: strerror(errno))); set TMPDIR")
    }
    return template.withUnsafeBufferPointer {
      String(decoding: $0.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }
}
