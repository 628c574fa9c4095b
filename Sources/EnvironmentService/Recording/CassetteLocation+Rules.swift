import Basics
import ControlAPI
import Foundation
import LaunchContract

extension CassetteLocation {
  /// The files of one kind of rules that are there, the nearest first: `NAME.KIND.json` beside the cassette, then
  /// `KIND.json` for all cassettes of its folder.
  func declared(_ kind: String) -> [String] {
    ["\(base).\(kind).json", "\(folder)/\(kind).json"].filter { FileManager.default.fileExists(atPath: $0) }
  }
}

extension RulesDocument {
  /// Reads a file of rules.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - what: what a person calls such rules.
  ///   - acceptsPipes: whether it may be a pipe, as a person may name one.
  /// - Throws: a ``CodedError``: `inputOutput` where it cannot be read, `usage` for what are no rules, with the JSON
  ///   path and what is allowed there.
  init(file path: String, _ what: String, acceptsPipes: Bool) throws(CodedError) {
    let data: Data
    do throws(CodedError) {
      data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw CodedError(
        .inputOutput, "cannot read the \(what) \(path): \(error); fix that, or name another file")
    }
    do throws(CodedError) {
      try self.init(decoding: data)
    } catch {
      throw CodedError(.usage, "\(path): \(error.problem)")
    }
  }
}
