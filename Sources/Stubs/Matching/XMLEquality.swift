package import Basics
import Cassettes

/// Compares XML as `equalToXml` does: attributes and elements of different names in any order, without comments, white space
/// around texts and namespace prefixes.
///
/// ```swift
/// let equality = try XMLEquality(Array("<id>${xmlunit.isNumber}</id>".utf8), placeholders: .init())
/// try equality.matches(Array("<id>7</id>".utf8))  // true
/// ```
package struct XMLEquality: Sendable {
  /// The comparisons of XMLUnit, as in `exemptedComparisons`.
  package enum Comparison: String, Sendable, CaseIterable {
    case nodeType = "NODE_TYPE"
    case namespaceURI = "NAMESPACE_URI"
    case textValue = "TEXT_VALUE"
    case instructionTarget = "PROCESSING_INSTRUCTION_TARGET"
    case instructionData = "PROCESSING_INSTRUCTION_DATA"
    case elementName = "ELEMENT_TAG_NAME"
    case attributeCount = "ELEMENT_NUM_ATTRIBUTES"
    case attributeValue = "ATTR_VALUE"
    case attributeName = "ATTR_NAME_LOOKUP"
    case childCount = "CHILD_NODELIST_LENGTH"
    case child = "CHILD_LOOKUP"
    // Never compared, so that exempting them has no effect.
    case xmlVersion = "XML_VERSION"
    case xmlStandalone = "XML_STANDALONE"
    case xmlEncoding = "XML_ENCODING"
    case hasDoctype = "HAS_DOCTYPE_DECLARATION"
    case doctypeName = "DOCTYPE_NAME"
    case doctypePublicID = "DOCTYPE_PUBLIC_ID"
    case doctypeSystemID = "DOCTYPE_SYSTEM_ID"
    case schemaLocation = "SCHEMA_LOCATION"
    case noNamespaceSchemaLocation = "NO_NAMESPACE_SCHEMA_LOCATION"
    case namespacePrefix = "NAMESPACE_PREFIX"
    case attributeIsSpecified = "ATTR_VALUE_EXPLICITLY_SPECIFIED"
    case childSequence = "CHILD_NODELIST_SEQUENCE"
  }

  /// How placeholders such as `${xmlunit.ignore}` are written.
  package struct Placeholders: Sendable {
    /// Regular expressions.
    package var opening: String
    package var closing: String

    package init(opening: String = #"\$\{"#, closing: String = #"\}"#) {
      self.opening = opening
      self.closing = closing
    }
  }

  private let expected: Expected
  private let exempted: Set<Comparison>
  private let ignoresOrderOfSameNames: Bool

  /// - Parameters:
  ///   - expected: the expected document.
  ///   - placeholders: how placeholders are written; nil for none.
  ///   - exempted: the comparisons whose differences do not count.
  ///   - ignoresOrderOfSameNames: whether elements with the same name may come in any order, sorted by their texts.
  /// - Throws: ``CodedError`` if the document is not XML, or a placeholder is not valid or not a whole text.
  package init(
    _ expected: [UInt8], placeholders: Placeholders? = nil, exempted: Set<Comparison> = [],
    ignoresOrderOfSameNames: Bool = false
  ) throws(CodedError) {
    let reader = try placeholders.map { (style) throws(CodedError) in try PlaceholderReader(style) }
    self.expected = try Expected(try XMLDocument(expected).tree, reader)
    self.exempted = exempted
    self.ignoresOrderOfSameNames = ignoresOrderOfSameNames
  }

  /// Whether a document equals the expected one; false if it is not XML.
  package func matches(_ actual: [UInt8]) -> Bool {
    guard let document = try? XMLDocument(actual) else { return false }
    var tally = Tally(exempted: exempted, stopsAtFirst: true)
    tally.order = ignoresOrderOfSameNames ? .nameAndText : .name
    tally.compare(expected, document.tree)
    return tally.differences == 0
  }

  /// How far a document is from the expected one: the share of XMLUnit's comparisons that differ; 1 if it is not XML.
  ///
  /// As in WireMock, elements in another order count as differences here.
  package func distance(to actual: [UInt8]) -> Double {
    guard let document = try? XMLDocument(actual) else { return 1 }
    var tally = Tally(exempted: exempted, stopsAtFirst: false)
    tally.compare(expected, document.tree)
    return Double(tally.differences) / Double(max(1, tally.comparisons))
  }

  // MARK: The expected document

  fileprivate struct Expected: Sendable {
    let tree: XMLTree
    let children: [Expected]
    /// The placeholder that is the text.
    let placeholder: Placeholder?
    /// The placeholders that are the values of attributes.
    let attributes: [String: Placeholder]

    init(_ tree: XMLTree, _ reader: PlaceholderReader?) throws(CodedError) {
      self.tree = tree
      var children: [Expected] = []
      for child in tree.children { children.append(try Expected(child, reader)) }
      self.children = children
      var attributes: [String: Placeholder] = [:]
      var placeholder: Placeholder?
      if let reader {
        switch tree.kind {
        case .text(let text): placeholder = try reader.placeholder(text)
        case .element(_, _, let list):
          for attribute in list { attributes[attribute.name] = try reader.placeholder(attribute.value) }
        default: break
        }
      }
      self.attributes = attributes
      self.placeholder = placeholder
    }
  }

  fileprivate enum Placeholder: Sendable {
    case ignore
    case isNumber
    /// The pattern of Java's `SimpleDateFormat`; nil for ISO 8601.
    case isDateTime(DateTimeFormat?)
    case regex(TextPattern)

    /// Whether it stands for a text; nil if there is none.
    func accepts(_ text: String?) -> Bool {
      switch self {
      case .ignore: return true
      case .isNumber: return text?.wholeMatch(of: /[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?/) != nil
      case .isDateTime(nil):
        // Java's formats read a part of the text, and numbers of any length.
        return text?.prefixMatch(of: /-?[0-9]+-[0-9]+-[0-9]+|[0-9]+\/[0-9]+\/[0-9]+/) != nil
      case .isDateTime(let format?): return text.map { format.matchesPrefix(of: $0) } ?? false
      case .regex(let pattern):
        return text.map { (try? pattern.matches($0, PatternBudget())) ?? false } ?? false
      }
    }
  }

  fileprivate struct PlaceholderReader {
    private let beginning: Pattern
    private let end: Pattern

    init(_ style: Placeholders) throws(CodedError) {
      beginning = try Pattern("(?:\(style.opening))\\s*xmlunit\\.")
      end = try Pattern("(?:\(style.closing))")
    }

    func placeholder(_ text: String) throws(CodedError) -> Placeholder? {
      let bytes = Array(text.utf8)
      let budget = PatternBudget()
      guard let first = try? beginning.matches(in: bytes, budget).first,
        let last = try? end.matches(in: bytes, budget).last, last.lowerBound > first.upperBound
      else { return nil }
      let content = String(decoding: bytes[first.upperBound..<last.lowerBound], as: UTF8.self)
      let parts = content.split(separator: "(", maxSplits: 1)
      let keyword = parts[0].filter { !$0.isWhitespace }
      let hasArgument = parts.count == 2 && parts[1].last == ")"
      let argument = hasArgument ? String(parts[1].dropLast()) : ""
      let placeholder: Placeholder
      switch keyword {
      case "ignore": placeholder = .ignore
      case "isNumber": placeholder = .isNumber
      case "isDateTime": placeholder = .isDateTime(hasArgument ? try DateTimeFormat(argument) : nil)
      case "matchesRegex": placeholder = .regex(try TextPattern(argument, isWhole: false))
      default: return nil
      }
      guard first.lowerBound == 0, last.upperBound == bytes.count else {
        throw CodedError(.broken, "the placeholder in '\(text.prefix(80))' must be the whole text")
      }
      return placeholder
    }
  }

  // MARK: Comparing

  private enum Order {
    case document, name, nameAndText
  }

  /// Counts comparisons and differences as XMLUnit's engine does.
  ///
  /// WireMock ignores comparisons whose expected side has no value, such as an additional attribute's name.
  private struct Tally {
    let exempted: Set<Comparison>
    let stopsAtFirst: Bool
    var order = Order.document
    private(set) var comparisons = 0
    private(set) var differences = 0

    init(exempted: Set<Comparison>, stopsAtFirst: Bool) {
      self.exempted = exempted
      self.stopsAtFirst = stopsAtFirst
    }

    private mutating func count(_ comparison: Comparison, _ areEqual: Bool) {
      comparisons += 1
      if !areEqual, !exempted.contains(comparison) { differences += 1 }
    }

    mutating func compare(_ expected: Expected, _ actual: XMLTree) {
      if stopsAtFirst, differences > 0 { return }
      count(.nodeType, true)
      if case .element(_, let namespace?, _) = expected.tree.kind, case .element(_, let other, _) = actual.kind {
        count(.namespaceURI, namespace == other)
      }
      var isSameCount = expected.children.count == actual.children.count
      if expected.children.count == 1, actual.children.isEmpty, let placeholder = expected.children[0].placeholder {
        isSameCount = placeholder.accepts(nil)
      }
      count(.childCount, isSameCount)
      switch (expected.tree.kind, actual.kind) {
      case (.element(let name, _, let attributes), .element(let other, _, let others)):
        count(.elementName, name == other)
        compare(attributes, others, expected.attributes)
      case (.text(let text), .text(let other)):
        count(.textValue, text.hasSameBytes(as: other) || expected.placeholder?.accepts(other) == true)
      case (.instruction(let target, let data), .instruction(let other, let otherData)):
        count(.instructionTarget, target == other)
        count(.instructionData, data == otherData)
      default: break
      }
      compareChildren(expected.children, actual.children)
    }

    private mutating func compare(
      _ attributes: [(name: String, value: String)], _ others: [(name: String, value: String)],
      _ placeholders: [String: Placeholder]
    ) {
      let values = Dictionary(others.map { ($0.name, $0.value) }) { first, _ in first }
      let missing = attributes.filter { values[$0.name] == nil }
      let mayBeMissing = missing.allSatisfy { placeholders[$0.name]?.accepts(nil) == true }
      let found = attributes.count - missing.count
      count(.attributeCount, attributes.count == others.count || mayBeMissing && found == others.count)
      for (name, value) in attributes {
        guard let other = values[name] else {
          count(.attributeName, placeholders[name]?.accepts(nil) == true)
          continue
        }
        count(.attributeName, true)
        count(.nodeType, true)
        count(.attributeValue, value.hasSameBytes(as: other) || placeholders[name]?.accepts(other) == true)
      }
    }

    /// Compares each child with the first of the same kind that is left, after sorting.
    private mutating func compareChildren(_ children: [Expected], _ others: [XMLTree]) {
      let children = sorted(children, by: \.tree)
      let others = sorted(others, by: \.self)
      var left: [Int: ArraySlice<XMLTree>] = [:]
      for (kind, trees) in Dictionary(grouping: others, by: { Self.number($0.kind) }) { left[kind] = trees[...] }
      for child in children {
        if stopsAtFirst, differences > 0 { return }
        if let other = left[Self.number(child.tree.kind)]?.popFirst() {
          compare(child, other)
        } else {
          count(.child, child.placeholder?.accepts(nil) == true)
        }
      }
    }

    private func sorted<Element>(_ nodes: [Element], by tree: (Element) -> XMLTree) -> [Element] {
      guard order != .document, nodes.count > 1 else { return nodes }
      let keys = nodes.map { node in
        let tree = tree(node)
        let name = if case .element(let name, _, _) = tree.kind { name } else { "" }
        return (name, order == .nameAndText ? tree.text : "")
      }
      // With the index, since `sort` need not be stable.
      return nodes.indices.sorted { (keys[$0].0, keys[$0].1, $0) < (keys[$1].0, keys[$1].1, $1) }.map { nodes[$0] }
    }

    private static func number(_ kind: XMLTree.Kind) -> Int {
      switch kind {
      case .document: 0
      case .element: 1
      case .text: 2
      case .instruction: 3
      }
    }
  }
}
