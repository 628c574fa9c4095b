package import Basics
package import ControlAPI

/// Rules in files: `NAME.redact.json` beside a cassette, and `redact.json` for all cassettes in its folder.
package enum RedactionFiles {
  /// The rules of both files; none where neither is there.
  ///
  /// - Throws: a ``CodedError`` naming the file that cannot be used.
  static func beside(_ location: CassetteLocation) throws(CodedError) -> RedactionRules {
    var rules = RedactionRules()
    for path in paths(beside: location) { rules = rules.adding(try read(path)) }
    return rules
  }

  /// The files of rules that hold for a cassette; `diorama cassette check` reads them.
  package static func paths(beside location: CassetteLocation) -> [String] {
    location.declared("redact")
  }

  /// The rules in a file.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - acceptsPipes: whether it may be a pipe, as a person may name one.
  /// - Returns: the rules.
  /// - Throws: a ``CodedError``: `inputOutput` where it cannot be read, `usage` for what cannot be used, with its
  ///   JSON path and what is allowed there.
  package static func read(_ path: String, acceptsPipes: Bool = false) throws(CodedError) -> RedactionRules {
    let rules = try RedactionRules(file: path, "redaction rules", acceptsPipes: acceptsPipes)
    _ = try rules.compiled(from: path)
    return rules
  }
}
