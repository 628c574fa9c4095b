import Basics
import Cassettes
import LaunchContract

/// The rules of a schema that apply to a value itself and not to its members or elements.
struct SchemaRules {
  typealias Node = OpenAPIDocument.Node

  private let patterns: SchemaPatterns

  init(_ patterns: SchemaPatterns) {
    self.patterns = patterns
  }

  func findings(
    _ value: JSON, _ node: Node, at place: String, _ unsupported: inout [OpenAPIDocument.Unsupported]
  ) -> [SchemaCheck.Finding] {
    var findings: [SchemaCheck.Finding] = []
    func add(_ word: String, _ text: String) {
      findings.append(.init(place: place, rule: "\(node.pointer)/\(word)", text: text))
    }
    func shown() -> String {
      Preview.shortened(String(decoding: value.encoded(), as: UTF8.self), to: Preview.usual).escapedForTerminal
    }
    if let allowed = node.json["enum"]?.array, !allowed.contains(where: { CanonicalJSON.areSame($0, value) }) {
      let words = allowed.prefix(8).map { String(decoding: $0.encoded(), as: UTF8.self) }
      add("enum", "is \(shown()), not one of \(words.joined(separator: ", "))\(allowed.count > 8 ? ", …" : "")")
    }
    if let only = node.json["const"], !CanonicalJSON.areSame(only, value) {
      add("const", "is \(shown()), not \(String(decoding: only.encoded(), as: UTF8.self))")
    }
    switch value {
    case .number: number(value, node, shown, add)
    case .string(let text): string(text, node, shown, add, &unsupported)
    case .array(let elements): count(elements.count, node, "Items", "element", add)
    case .object(let members): count(members.count, node, "Properties", "member", add)
    case .null, .bool: break
    }
    if case .array(let elements) = value, node.json["uniqueItems"]?.bool == true {
      let texts = elements.map { String(decoding: $0.encoded(), as: UTF8.self) }
      if Set(texts).count < texts.count { add("uniqueItems", "has equal elements") }
    }
    return findings
  }

  private func number(_ value: JSON, _ node: Node, _ shown: () -> String, _ add: (String, String) -> Void) {
    guard let number = value.double else { return }
    func limit(_ word: String) -> Double? { node.json[word]?.double }
    let isOpenBelow = node.json["exclusiveMinimum"]?.bool == true
    let isOpenAbove = node.json["exclusiveMaximum"]?.bool == true
    if let least = limit("minimum"), isOpenBelow ? number <= least : number < least {
      add("minimum", "is \(shown()), \(isOpenBelow ? "not above" : "below") the minimum")
    }
    if let most = limit("maximum"), isOpenAbove ? number >= most : number > most {
      add("maximum", "is \(shown()), \(isOpenAbove ? "not below" : "above") the maximum")
    }
    if let least = limit("exclusiveMinimum"), number <= least {
      add("exclusiveMinimum", "is \(shown()), not above the minimum")
    }
    if let most = limit("exclusiveMaximum"), number >= most {
      add("exclusiveMaximum", "is \(shown()), not below the maximum")
    }
    if let step = limit("multipleOf"), step > 0 {
      let times = number / step
      if abs(times - times.rounded()) > 1e-9 * max(1, abs(times)) {
        add("multipleOf", "is \(shown()), no multiple of it")
      }
    }
    switch node.json["format"]?.string {
    case "int32": if number < -0x8000_0000 || number > 0x7FFF_FFFF { add("format", "is \(shown()), no int32") }
    case "int64":
      // A Double rounds the largest ones.
      let isWhole = number == number.rounded()
      if isWhole, value.int == nil { add("format", "is \(shown()), no int64") }
    default: break
    }
  }

  private func string(
    _ text: String, _ node: Node, _ shown: () -> String, _ add: (String, String) -> Void,
    _ unsupported: inout [OpenAPIDocument.Unsupported]
  ) {
    count(text.unicodeScalars.count, node, "Length", "character", add)
    if let pattern = node["pattern"], let source = pattern.json.string {
      switch patterns.matches(text, source) {
      case true: break
      case false: add("pattern", "is \(shown()), which does not match \(source.shortened())")
      case nil: unsupported.append(.init(pointer: pattern.pointer, text: "the pattern is not understood"))
      }
    }
    if let format = node.json["format"]?.string, !TextFormat.fits(text, format) {
      add("format", "is \(shown()), no \(format)")
    }
  }

  private func count(_ count: Int, _ node: Node, _ what: String, _ noun: String, _ add: (String, String) -> Void) {
    let given = "\(count) \(noun)\(count == 1 ? "" : "s")"
    if let least = node.json["min\(what)"]?.int, count < least { add("min\(what)", "has \(given), \(least) at least") }
    if let most = node.json["max\(what)"]?.int, count > most { add("max\(what)", "has \(given), \(most) at most") }
  }
}

/// The patterns of schemas, each compiled once, with one limit for all searches.
final class SchemaPatterns {
  private var compiled: [String: TextPattern?] = [:]
  private let budget = PatternBudget()

  /// Whether a pattern matches somewhere in a text; nil if the pattern is not valid, or takes too long.
  func matches(_ text: String, _ pattern: String) -> Bool? {
    if compiled[pattern] == nil { compiled[pattern] = .some(try? TextPattern(pattern, isWhole: false)) }
    return compiled[pattern]??.matchesOrNil(text, budget)
  }
}

extension TextPattern {
  fileprivate func matchesOrNil(_ text: String, _ budget: PatternBudget) -> Bool? { try? matches(text, budget) }
}

/// Lenient checks of string formats. They reject only text that is clearly not in the format.
enum TextFormat {
  static func fits(_ text: String, _ format: String) -> Bool {
    switch format {
    case "date-time": return RFC3339.parse(text) != nil
    case "date": return text.utf8.count == 10 && RFC3339.parse(text + "T00:00:00Z") != nil
    case "uuid":
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      return parts.map(\.count) == [8, 4, 4, 4, 12] && parts.joined().utf8.allSatisfy(\.isHexadecimal)
    case "email":
      let parts = text.split(separator: "@", omittingEmptySubsequences: false)
      return parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty && !text.utf8.contains(0x20)
    case "uri", "url":
      guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return false }
      return !text.utf8.contains(0x20) && (text.first?.isLetter ?? false)
    case "ipv4":
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    default: return true
    }
  }
}

extension UInt8 {
  fileprivate var isHexadecimal: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }
}
