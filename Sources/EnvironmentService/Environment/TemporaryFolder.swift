package import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Where a launch contract goes that does not fit into a variable: a new folder that only its owner may enter.
package enum TemporaryFolder {
  /// - Returns: its absolute path; whoever asked removes it.
  /// - Throws: a ``CodedError`` when it cannot be made.
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
