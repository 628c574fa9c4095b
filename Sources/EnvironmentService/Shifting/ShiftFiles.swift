import Cassettes
package import EnvironmentConfiguration
import Foundation
import LaunchContract

/// Rules of how dates move in files: `NAME.shift.json` beside a cassette, `shift.json` for all cassettes in its folder.
package enum ShiftFiles {
  /// The file that holds for a cassette where nothing else is asked for; nil where there is none.
  package static func declared(for location: CassetteLocation) -> String? {
    location.declared("shift").first
  }

  /// The rules in a file, with the keys that it names.
  ///
  /// - Parameters:
  ///   - path: of the file; a key's `file:PATH` counts from its folder.
  ///   - variables: the process's, for keys given as `env:VAR`.
  ///   - acceptsPipes: whether it may be a pipe, as a person may name one.
  /// - Returns: the rules, keys as texts.
  /// - Throws: an ``EnvironmentError``: `inputOutput` where it, or a key's file, cannot be read, `usage` for what cannot be
  ///   used, with its JSON path and what is allowed there.
  package static func read(
    _ path: String, variables: [String: String], acceptsPipes: Bool = false
  ) throws(EnvironmentError) -> ShiftRules {
    var rules = try ShiftRules(file: path, "rules", acceptsPipes: acceptsPipes)
    for (number, key) in rules.jwt.enumerated() {
      guard let source = key.key else { continue }
      let folder = (path as NSString).deletingLastPathComponent
      rules.jwt[number].text = Secret(
        try SecretSource(source, in: folder, variables).text("\(path): jwt[\(number)].key"))
      rules.jwt[number].key = nil
    }
    _ = try rules.compiled(from: path)
    return rules
  }

  /// Reads the rules in a file without the keys that stand elsewhere: those may be at hand for replay alone.
  ///
  /// - Parameter path: of the file.
  /// - Throws: an ``EnvironmentError`` as ``read(_:variables:)`` does.
  package static func check(_ path: String) throws(EnvironmentError) {
    var rules = try ShiftRules(file: path, "rules", acceptsPipes: false)
    for (number, key) in rules.jwt.enumerated() {
      guard let source = key.key else { continue }
      guard SecretSource.isSource(source) else {
        throw SecretSource.invalid(source, at: "\(path): jwt[\(number)].key")
      }
      // Stands for the key.
      rules.jwt[number].text = Secret("key")
      rules.jwt[number].key = nil
    }
    _ = try rules.compiled(from: path)
  }
}
