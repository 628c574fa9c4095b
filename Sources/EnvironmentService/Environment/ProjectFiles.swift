package import Basics
import Cassettes
package import EnvironmentConfiguration
import Foundation
import LaunchContract

extension ProjectFile {
  /// Reads a project file and checks its rules.
  ///
  /// - Parameters:
  ///   - path: its absolute path.
  ///   - acceptsPipes: whether it may be a pipe. Only a file that the user names may be one.
  /// - Returns: the file.
  /// - Throws: a ``CodedError``: `noCassette` if the file does not exist, `inputOutput` if it cannot be read, and
  ///   `broken` for invalid content, with its place and what is allowed there.
  package static func read(_ path: String, acceptsPipes: Bool = false) throws(CodedError) -> ProjectFile {
    try read(path, acceptsPipes: acceptsPipes) { settings throws(CodedError) in try settings.checkRules() }
  }
}

extension CassetteLocation {
  /// Rejects rule files beside the cassette, which earlier versions read and which would now be ignored.
  ///
  /// - Throws: a ``CodedError`` that names the first such file and says where its content belongs.
  package func checkForSideFiles() throws(CodedError) {
    for (kind, setting) in [("rules", "matching"), ("redact", "redaction"), ("shift", "dates")] {
      for (path, entry) in [
        ("\(base).\(kind).json", #"{"overrides": [{"cassettes": "\#(name)", "\#(setting)": …}]}"#),
        ("\(folder)/\(kind).json", #"{"\#(setting)": …}"#),
      ] where FileManager.default.fileExists(atPath: path) {
        throw CodedError(
          .broken, "\(path) is no longer read; move its content to diorama.json, as \(entry), and delete it")
      }
    }
  }
}
