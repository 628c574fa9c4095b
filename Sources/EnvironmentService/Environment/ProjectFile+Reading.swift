package import EnvironmentConfiguration
import Foundation
import LaunchContract

extension ProjectFile {
  /// Reads a project file.
  ///
  /// - Parameter path: absolute.
  /// - Returns: the file.
  /// - Throws: an ``EnvironmentError``: `noCassette` where there is none, `inputOutput` where it cannot be read, `broken` for
  ///   other content, with its place and what is allowed there.
  package static func read(_ path: String) throws(EnvironmentError) -> ProjectFile {
    let data: Data
    do throws(InputFileError) {
      data = try InputFile(path, acceptsPipes: true).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw EnvironmentError(
        error.isMissing ? .noCassette : .inputOutput,
        "cannot read the project file \(path): \(error); fix that, or give --config or --no-config")
    }
    do throws(ContractError) {
      return try ProjectFile(decoding: data, path: path)
    } catch {
      throw EnvironmentError(.broken, error.problem)
    }
  }
}
