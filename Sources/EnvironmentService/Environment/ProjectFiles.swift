package import Basics
import Cassettes
package import EnvironmentConfiguration
import Foundation
import LaunchContract

extension ProjectFile {
  /// Reads a project file.
  ///
  /// - Parameters:
  ///   - path: its absolute path.
  ///   - acceptsPipes: whether it may be a pipe. Only a file that the user names may be one.
  /// - Returns: the file.
  /// - Throws: a ``CodedError``: `noCassette` if the file does not exist, `inputOutput` if it cannot be read, and
  ///   `broken` for invalid content, with its place and what is allowed there.
  package static func read(_ path: String, acceptsPipes: Bool = false) throws(CodedError) -> ProjectFile {
    let data: Data
    do { data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: WholeFiles.smallLimit) } catch {
      throw CodedError(
        error.isMissing ? .noCassette : .inputOutput,
        "cannot read the project file \(path): \(error); name another with --config, or use --no-config")
    }
    let file = try ProjectFile(decoding: data, path: path)
    for (place, settings) in [("", file.settings)]
      + file.overrides.enumerated().map({ ("overrides[\($0)].", $1.settings) })
    {
      do { try settings.checkRules() } catch { throw CodedError(.broken, "\(path): \(place)\(error)") }
    }
    return file
  }
}

extension CassetteLocation {
  /// Rules used to be read from files beside the cassette. One that is still there would silently mean nothing.
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
