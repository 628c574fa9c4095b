import Cassettes
package import EnvironmentConfiguration
import Foundation
import LaunchContract

extension ProjectFile {
  /// Reads a project file.
  ///
  /// - Parameters:
  ///   - path: absolute.
  ///   - acceptsPipes: whether it may be a pipe, as one that a person names.
  /// - Returns: the file.
  /// - Throws: an ``EnvironmentError``: `noCassette` where there is none, `inputOutput` where it cannot be read, `broken` for
  ///   other content, with its place and what is allowed there.
  package static func read(_ path: String, acceptsPipes: Bool = false) throws(EnvironmentError) -> ProjectFile {
    let data: Data
    do throws(InputFileError) {
      data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw EnvironmentError(
        error.isMissing ? .noCassette : .inputOutput,
        "cannot read the project file \(path): \(error); fix that, or give --config or --no-config")
    }
    do throws(ContractError) {
      let file = try ProjectFile(decoding: data, path: path)
      for (place, settings) in [("", file.settings)]
        + file.overrides.enumerated().map({ ("overrides[\($0)].", $1.settings) })
      {
        do throws(EnvironmentError) { try settings.checkRules() } catch {
          throw ContractError("\(path): \(place)\(error.message)")
        }
      }
      return file
    } catch {
      throw EnvironmentError(.broken, error.problem)
    }
  }
}

extension CassetteLocation {
  /// Rules used to be read from files beside the cassette. One that is still there would silently mean nothing.
  ///
  /// - Throws: an ``EnvironmentError`` that names the first such file and says where its content belongs.
  package func checkForSideFiles() throws(EnvironmentError) {
    for (kind, setting) in [("rules", "matching"), ("redact", "redaction"), ("shift", "dates")] {
      for (path, entry) in [
        ("\(base).\(kind).json", #"{"overrides": [{"cassettes": "\#(name)", "\#(setting)": …}]}"#),
        ("\(folder)/\(kind).json", #"{"\#(setting)": …}"#),
      ] where FileManager.default.fileExists(atPath: path) {
        throw EnvironmentError(
          .broken, "\(path) is no longer read; move its content to diorama.json, as \(entry), and delete it")
      }
    }
  }
}

extension MatchingRules {
  /// A note for each rule whose upstream is not among these. A rule for all cassettes may mean another's.
  func notes(for upstreams: [CassetteHeader.Upstream]) -> [String] {
    let names = upstreams.map(\.name)
    return rules.enumerated().compactMap { index, rule in
      guard !rule.isShared, let name = rule.upstream, !names.contains(name) else { return nil }
      let near = EditDistance.nearest(to: name, among: names).first.map { "; did you mean '\($0)'?" } ?? ""
      let number = rules[...index].count { $0.source == nil }
      return "\(rule.source ?? "rule \(number)") is for the upstream '\(name)', which is not here" + near
    }
  }
}
