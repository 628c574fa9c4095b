package import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A new folder, accessible to its owner only, for a launch contract that does not fit into an environment variable.
package enum TemporaryFolder {
  /// - Returns: its absolute path. The caller removes the folder.
  /// - Throws: a ``CodedError`` if it cannot be created.
  package static func make() throws(CodedError) -> String {
    var template = Array((FileManager.default.temporaryDirectory.path + "/diorama-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CodedError(
        .cannotWrite,
        "cannot make a folder in \(FileManager.default.temporaryDirectory.path): \(String(cString: strerror(errno))); set TMPDIR"
      )
    }
    return template.withUnsafeBufferPointer {
      String(decoding: $0.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }
}
