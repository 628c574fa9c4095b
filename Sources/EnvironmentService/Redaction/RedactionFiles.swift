package import ControlAPI
import Foundation
import LaunchContract

/// Rules in files: `NAME.redact.json` beside a cassette, and `redact.json` for all cassettes in its folder.
package enum RedactionFiles {
  /// The rules of both files; none where neither is there.
  ///
  /// - Throws: an ``EnvironmentError`` naming the file that cannot be used.
  static func beside(_ location: CassetteLocation) throws(EnvironmentError) -> RedactionRules {
    var rules = RedactionRules()
    for path in paths(beside: location) { rules = rules.adding(try read(path)) }
    return rules
  }

  /// The files of rules that hold for a cassette; `diorama cassette check` reads them.
  package static func paths(beside location: CassetteLocation) -> [String] {
    [location.base + ".redact.json", location.folder + "/redact.json"].filter {
      FileManager.default.fileExists(atPath: $0)
    }
  }

  /// The rules in a file.
  ///
  /// - Throws: an ``EnvironmentError``: `inputOutput` where it cannot be read, `usage` for what cannot be used, with its
  ///   JSON path and what is allowed there.
  package static func read(_ path: String) throws(EnvironmentError) -> RedactionRules {
    let data: Data
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw EnvironmentError(
        .inputOutput, "cannot read the redaction rules \(path): \(error.systemReason); mend that, or name another file")
    }
    let rules: RedactionRules
    do throws(ContractError) {
      rules = try RedactionRules(decoding: data)
    } catch {
      throw EnvironmentError(.usage, "\(path): \(error.problem)")
    }
    _ = try rules.compiled(from: path)
    return rules
  }
}
