import Basics
import Foundation
import LaunchContract

/// A schema for JSON values: the subset of JSON Schema (2020-12) that the configuration and the control API need.
///
/// The same value checks configurations and requests (``problem(with:at:)``) and appears in `/openapi.json` (``document``), so the two
/// can't disagree.
package indirect enum Schema: Sendable {
  /// Any value, including `null`.
  case anything
  case boolean
  /// An integer in a range.
  case integer(ClosedRange<Int>)
  /// A number in a range.
  case number(ClosedRange<Double>)
  /// A string.
  case text(TextRule)
  /// An array whose elements share a schema.
  case array(of: Schema, count: ClosedRange<Int>)
  /// An object with member names of the client's choice.
  case map(MapRule)
  /// An object with fixed member names; others are refused.
  case object(ObjectRule)
  /// A schema with a name of its own in the OpenAPI document.
  case named(String, @Sendable () -> Schema)
  /// A string, or an object with more detail.
  case shorthand(TextRule, ObjectRule)
  /// `null`, or a value that fits the other schema.
  case nullable(Schema)
}

/// An object with member names of the client's choice.
package struct MapRule: Sendable {
  package let names: TextRule
  package let values: Schema
  package let most: Int
}

/// An object with fixed member names.
package struct ObjectRule: Sendable {
  package struct Member: Sendable {
    package let name: String
    package var schema: Schema
    package let isRequired: Bool
    /// A one-sentence description.
    package let note: String
    /// The command-line option that sets the member, if any.
    package var option: CommandOption?
    /// Where the member can be given.
    package var scope = Scope.everywhere

    package static func required(_ name: String, _ schema: Schema, _ note: String = "") -> Member {
      Member(name: name, schema: schema, isRequired: true, note: note)
    }

    package static func optional(
      _ name: String, _ schema: Schema, _ note: String = "", _ option: CommandOption? = nil,
      scope: Scope = .everywhere
    ) -> Member {
      Member(name: name, schema: schema, isRequired: false, note: note, option: option, scope: scope)
    }
  }

  /// Where a member can be given.
  package enum Scope: Sendable {
    case everywhere
    /// Only where the caller's files and variables are available: in a project file and on a command line.
    case caller
    /// Only in the control API.
    case api
  }

  package var members: [Member]
  /// Exactly one of these members must be present; if empty, the rule doesn't apply.
  package var exactlyOne: [String] = []
  /// A one-sentence description.
  package var note = ""
}

extension Schema {
  package static func record(_ members: [ObjectRule.Member]) -> Schema { .object(ObjectRule(members: members)) }

  package static func record(
    _ note: String, exactlyOne: [String] = [], _ members: [ObjectRule.Member]
  ) -> Schema {
    .object(ObjectRule(members: members, exactlyOne: exactlyOne, note: note))
  }

  package static func array(of schema: Schema, atMost most: Int) -> Schema { .array(of: schema, count: 0...most) }

  /// An array in an answer, of any length.
  package static func list(of schema: Schema) -> Schema { .array(of: schema, count: 0...Int.max) }

  package static func map(_ names: TextRule, to values: Schema, atMost most: Int = Int.max) -> Schema {
    .map(MapRule(names: names, values: values, most: most))
  }

  /// An integer from 0 to 2⁵³-1, which every JSON implementation represents exactly.
  package static let count = Schema.integer(0...9_007_199_254_740_991)
  /// A string in an answer.
  package static let words = Schema.text(TextRule(.any, count: 0...Int.max))
  /// An RFC 3339 time.
  package static let instant = Schema.text(TextRule(.instant, count: 1...64))

  /// One of the given strings.
  package static func word(_ words: String...) -> Schema { .text(TextRule(.word(words), count: 0...64)) }
  /// A string without control characters, and therefore on one line.
  package static func line(_ count: ClosedRange<Int>) -> Schema { .text(TextRule(.line, count: count)) }
  package static func text(_ form: TextRule.Form, _ count: ClosedRange<Int>) -> Schema {
    .text(TextRule(form, count: count))
  }

  /// The strings that a value can be; empty if others are allowed, too.
  package var words: [String] {
    if case .text(let rule) = self, case .word(let words) = rule.form { words } else { [] }
  }

  package var isWhole: Bool { if case .integer = self { true } else { false } }

  /// Returns the schema for the control API or for a project file, without the members of the other.
  package func accepting(_ scope: ObjectRule.Scope) -> Schema {
    func accepting(_ rule: ObjectRule) -> ObjectRule {
      var rule = rule
      rule.members = rule.members.filter { $0.scope == .everywhere || $0.scope == scope }
      for index in rule.members.indices { rule.members[index].schema = rule.members[index].schema.accepting(scope) }
      rule.exactlyOne = rule.exactlyOne.filter { name in rule.members.contains { $0.name == name } }
      return rule
    }
    switch self {
    case .object(let rule): return .object(accepting(rule))
    case .shorthand(let text, let rule): return .shorthand(text, accepting(rule))
    case .array(let element, let count): return .array(of: element.accepting(scope), count: count)
    case .map(let rule): return .map(MapRule(names: rule.names, values: rule.values.accepting(scope), most: rule.most))
    // The daemon doesn't know its client's folder.
    case .text(let rule) where rule.form == .path && scope == .api: return .text(.absolutePath, rule.count)
    default: return self
    }
  }
}

/// The form and length of a string.
package struct TextRule: Sendable {
  /// The forms of strings.
  package enum Form: Sendable, Equatable {
    /// Anything.
    case any
    /// One of these strings.
    case word([String])
    /// A string without control characters, which stays on one line when printed.
    case line
    /// An RFC 3339 time.
    case instant
    /// Bytes in base64, with padding.
    case base64
    /// A path; a relative one starts at the caller's folder.
    case path
    /// An absolute path without `..` and control characters.
    case absolutePath
    /// `http://` or `https://` with a host and an optional port.
    case origin
    /// An environment's id.
    case identifier
  }

  package let form: Form
  /// The allowed length in Unicode scalars, as in JSON Schema.
  package let count: ClosedRange<Int>

  package init(_ form: Form, count: ClosedRange<Int>) {
    self.form = form
    self.count = count
  }

  /// Returns what is wrong with a string. The message quotes only words and times, since others may be secrets.
  package func problem(with text: String) -> String? {
    if case .word(let words) = form {
      guard !words.contains(text) else { return nil }
      let name = String(text.prefix(60))
      return "'\(name)' is not valid; "
        + (EditDistance.likely(name, among: words).map { "did you mean '\($0)'? Choose" } ?? "choose")
        + " from \(alternatives(words))"
    }
    let length = text.unicodeScalars.count
    guard count ~= length else {
      return length < count.lowerBound
        ? (length == 0 ? "must not be empty" : "\(length) characters are too few; the minimum is \(count.lowerBound)")
        : "\(length) characters are too many; the maximum is \(count.upperBound)"
    }
    guard !fits(text) else { return nil }
    // A string of another form may be a secret.
    return (form == .instant || form == .origin ? "'\(text)' is " : "") + "not \(name)"
  }

  private func fits(_ text: String) -> Bool {
    let bytes = text.utf8
    return switch form {
    case .any: true
    case .word(let words): words.contains(text)
    case .line, .path: !Self.hasControl(text)
    case .instant: RFC3339.parse(text) != nil
    case .base64: Self.isBase64(bytes)
    case .absolutePath:
      text.isAbsolutePath && !Self.hasControl(text) && !text.leadsUp
    case .origin: Self.isOrigin(text)
    case .identifier: bytes.allSatisfy(Self.isOfIdentifier)
    }
  }

  /// For messages such as `not an absolute path`.
  private var name: String {
    switch form {
    case .any: "a string"
    case .word: "one of the allowed strings"
    case .line, .path: "a string without control characters"
    case .instant: "a time such as 2018-10-08T09:00:00Z"
    case .base64: "base64 with padding"
    case .absolutePath: "an absolute path without '..', such as /home/me/Cassettes/booking"
    case .origin: "an origin such as https://api.example.com"
    case .identifier: "an id: letters, digits, '.', '_' and '-'"
    }
  }

  private static func isOfIdentifier(_ byte: UInt8) -> Bool { Acknowledgement.isNameByte(byte) }

  /// Whether a string has a character of the general category Cc.
  private static func hasControl(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }
  }

  private static func isBase64(_ bytes: String.UTF8View) -> Bool {
    guard bytes.count % 4 == 0 else { return false }
    let padding = bytes.suffix(2).count { $0 == UInt8(ascii: "=") }
    return bytes.dropLast(padding).allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): true
      default: false
      }
    } && (padding < 2 || bytes.last == UInt8(ascii: "="))
  }

  private static func isOrigin(_ text: String) -> Bool {
    guard let mark = text.range(of: "://"), ["http", "https"].contains(text[..<mark.lowerBound].lowercased()) else {
      return false
    }
    // The code that uses the origin parses the rest. Here it only has to be non-empty and on one line.
    let rest = text[mark.upperBound...].utf8
    return !rest.isEmpty && rest.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

// The kernel splits paths by bytes. A `Character` comparison would miss a slash before a combining accent.
extension String {
  /// The components between slashes.
  package var pathSegments: [Substring] { utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) } }

  package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

  /// Whether a component is `..`.
  package var leadsUp: Bool { pathSegments.contains("..") }
}
