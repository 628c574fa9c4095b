package import Basics
package import Transforms
import Cassettes
package import EnvironmentConfiguration
import LaunchContract

extension RedactionRules {
  /// Compiles the rules.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` naming the first invalid rule.
  package func compiled() throws(CodedError) -> CompiledRules {
    func failure(_ place: String, _ problem: String) -> CodedError {
      CodedError(.usage, "redaction.\(place): \(problem)")
    }
    for (list, names) in [("headers", headers), ("keep.headers", keep.headers)] {
      for (number, name) in names.enumerated() where !name.utf8.allSatisfy(Self.isInFieldName) {
        throw failure(
          "\(list)[\(number)]", "'\(name.prefix(80))' is not a header name; write the full name, such as X-Session")
      }
    }
    for (list, names) in [("query", query), ("form", form)] {
      for (number, name) in names.enumerated() where name.contains("*") {
        throw failure(
          "\(list)[\(number)]",
          "'\(name.prefix(80))': '*' is not a wildcard here; write names in full, or a regular expression in patterns"
        )
      }
    }
    for (number, name) in keep.credentials.enumerated() where !name.contains("/") {
      throw failure(
        "keep.credentials[\(number)]", "'\(name.prefix(80))' is not a credential name; write SERVICE/ACCOUNT")
    }
    for (number, name) in keep.headers.enumerated() where !HeaderRedaction.defaultNames.contains(name.lowercased()) {
      throw failure("keep.headers[\(number)]", "'\(name)' is not redacted by default; remove it")
    }
    for (number, name) in keep.fields.enumerated() where !FieldNames(SecretFields.defaults).contains(name) {
      throw failure("keep.fields[\(number)]", "'\(name.prefix(80))' is not redacted by default; remove it")
    }
    var rules = CompiledRules(patterns: .none)
    let kept = FieldNames(keep.fields)
    rules.secretQuery = rules.secretQuery.subtracting(kept)
    rules.secretJSON = rules.secretJSON.subtracting(kept)
    rules.secretGrants = rules.secretGrants.subtracting(kept)
    do { rules.patterns = try PatternScanner(patterns: patterns, query: query) } catch {
      throw CodedError(.usage, "redaction.\(error)")
    }
    for (number, text) in json.enumerated() {
      let path = try CodedError.translating(to: .usage, at: "redaction.json[\(number)]", try JSONPath(text))
      guard !path.countsFromEnd else {
        throw failure(
          "json[\(number)]", "'\(text)' counts from the end, which is unknown while a body is recorded; write [*]")
      }
      rules.json.append(path)
    }
    rules.headers = Set(headers.map { $0.lowercased() })
    rules.keptHeaders = Set(keep.headers.map { $0.lowercased() })
    rules.keptCredentials = Set(keep.credentials)
    rules.query = Set(query.map { $0.lowercased() })
    rules.form = Set(form.map { $0.lowercased() })
    return rules
  }

  /// Whether a byte can occur in a field name (RFC 9110, 5.6.2). Excludes `*`, which is probably meant as a wildcard.
  private static func isInFieldName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'+-.^_`|~".utf8.contains(byte)
    }
  }
}
