package import EnvironmentConfiguration
import Foundation
import LaunchContract

extension CassetteLocation {
  /// The files of one kind of rules that are there, the nearest first: `NAME.KIND.json` beside the cassette, then
  /// `KIND.json` for all cassettes of its folder.
  func declared(_ kind: String) -> [String] {
    ["\(base).\(kind).json", "\(folder)/\(kind).json"].filter { FileManager.default.fileExists(atPath: $0) }
  }
}

extension ConfigurationPart {
  /// Reads a file of rules.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - what: what a person calls such rules.
  ///   - acceptsPipes: whether it may be a pipe, as a person may name one.
  /// - Throws: an ``EnvironmentError``: `noCassette` where there is no such file, `inputOutput` where it cannot be read,
  ///   `broken` for other content, with its place and what is allowed there.
  package init(file path: String, _ what: String, acceptsPipes: Bool) throws(EnvironmentError) {
    let data: Data
    do throws(InputFileError) {
      data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw EnvironmentError(
        error.isMissing ? .noCassette : .inputOutput,
        "cannot read the \(what) \(path): \(error); fix that, or name another file")
    }
    do throws(ContractError) {
      try self.init(decoding: data)
    } catch {
      throw EnvironmentError(.broken, "\(path): \(error.problem)")
    }
  }
}
