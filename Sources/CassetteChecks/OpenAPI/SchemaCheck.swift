import Basics
import Cassettes
import LaunchContract

/// Checks a JSON value against a schema: JSON Schema 2020-12 as in OpenAPI 3.1, or the subset of 3.0.
struct SchemaCheck {
  typealias Node = OpenAPIDocument.Node

  /// A part of a value that the schema does not allow or does not mention.
  struct Finding: Equatable {
    /// A JSON pointer into the value; empty for the whole value.
    var place: String
    /// A JSON pointer into the document.
    var rule: String
    var text: String
    /// Whether the schema merely does not mention it.
    var isUnknown = false
  }

  /// The direction of the message. Clients do not send `readOnly` members, and servers do not send `writeOnly` ones.
  enum Direction {
    case request, response

    var otherSide: String { self == .request ? "readOnly" : "writeOnly" }
  }

  /// The members of an object that some schema mentions.
  private enum Known: Equatable {
    case names(Set<String>)
    case all

    func union(_ other: Known) -> Known {
      guard case .names(let names) = self, case .names(let others) = other else { return .all }
      return .names(names.union(others))
    }
  }

  private struct Outcome {
    var findings: [Finding] = []
    var known = Known.names([])

    mutating func merge(_ other: Outcome) {
      findings += other.findings
      known = known.union(other.known)
    }
  }

  /// The maximum nesting of values, and of schemas for one value.
  private static let maximumDepth = 100
  /// The maximum number of schemas to look at, for documents whose combinations explode.
  private let maximumSteps: Int

  private let document: OpenAPIDocument
  private let direction: Direction
  private(set) var unsupported: [OpenAPIDocument.Unsupported] = []
  /// The schemas being checked, with their places. Ends circular `allOf` references.
  private var open: Set<String> = []
  private(set) var steps = 0
  private let patterns: SchemaPatterns

  init(
    _ document: OpenAPIDocument, _ direction: Direction, patterns: SchemaPatterns = SchemaPatterns(),
    maximumSteps: Int = 200_000
  ) {
    self.document = document
    self.direction = direction
    self.patterns = patterns
    self.maximumSteps = maximumSteps
  }

  /// All findings, in the order of the value.
  mutating func check(_ value: JSON, against schema: Node) -> [Finding] {
    let outcome = check(value, schema, at: "", depth: 0)
    return outcome.findings + unknownMembers(value, schema, outcome.known, at: "")
  }

  /// Checks a value on its own, not as part of another schema, and reports members that no schema mentions.
  private mutating func whole(_ value: JSON, _ schema: Node, at place: String, depth: Int) -> [Finding] {
    let outcome = check(value, schema, at: place, depth: depth)
    return outcome.findings + unknownMembers(value, schema, outcome.known, at: place)
  }

  private func unknownMembers(_ value: JSON, _ schema: Node, _ known: Known, at place: String) -> [Finding] {
    // A schema without properties allows any member.
    guard case .object(let members) = value, case .names(let names) = known, !names.isEmpty else { return [] }
    return members.filter { !names.contains($0.key) }.map { member in
      Finding(
        place: "\(place)/\(Pointer.escaped(member.key))", rule: schema.pointer, text: "is not in the document",
        isUnknown: true)
    }
  }

  private mutating func check(_ value: JSON, _ node: Node, at place: String, depth: Int) -> Outcome {
    if case .bool(let allows) = node.json {
      return Outcome(
        findings: allows ? [] : [Finding(place: place, rule: node.pointer, text: "nothing may stand here")], known: .all
      )
    }
    let key = "\(node.pointer) \(place)"
    guard depth < Self.maximumDepth else {
      unsupported.append(
        .init(pointer: node.pointer, text: "what lies more than \(Self.maximumDepth) deep is not looked at"))
      return Outcome(known: .all)
    }
    steps += 1
    guard steps <= maximumSteps else {
      if steps == maximumSteps + 1 {
        unsupported.append(
          .init(pointer: node.pointer, text: "what comes after \(maximumSteps) steps is not looked at"))
      }
      return Outcome(known: .all)
    }
    guard open.insert(key).inserted else { return Outcome(known: .all) }
    defer { open.remove(key) }
    var outcome = Outcome()
    if node.json["$ref"] != nil {
      guard let target = document.resolved(node, &unsupported) else { return Outcome(known: .all) }
      outcome = check(value, target, at: place, depth: depth + 1)
      // Version 3.0 ignores the siblings of a reference.
      if document.isOld { return outcome }
    }
    note(node)
    if let finding = typeFinding(value, node, at: place) {
      outcome.findings.append(finding)
      outcome.known = .all
      return outcome
    }
    if document.isOld, value == .null, node.json["nullable"]?.bool == true { return outcome }
    outcome.findings += SchemaRules(patterns).findings(value, node, at: place, &unsupported)
    switch value {
    case .object(let members): checkMembers(members, node, at: place, depth, &outcome)
    case .array(let elements): checkElements(elements, node, at: place, depth, &outcome)
    default: break
    }
    checkAlternatives(value, node, at: place, depth, &outcome)
    return outcome
  }

  // MARK: Types

  private func typeFinding(_ value: JSON, _ node: Node, at place: String) -> Finding? {
    guard let type = node["type"] else { return nil }
    var names = type.json.array?.compactMap(\.string) ?? type.json.string.map { [$0] } ?? []
    guard !names.isEmpty else { return nil }
    if document.isOld, node.json["nullable"]?.bool == true { names.append("null") }
    guard !names.contains(where: { value.isOf(type: $0) }) else { return nil }
    return Finding(
      place: place, rule: type.pointer,
      text: "is \(JSONShape(value, depth: JSONShape.maximumDepth).title), not \(names.joined(separator: " or "))")
  }

  // MARK: Objects

  private mutating func checkMembers(
    _ members: [JSON.Member], _ node: Node, at place: String, _ depth: Int, _ outcome: inout Outcome
  ) {
    let properties = node["properties"]
    let named = node["patternProperties"]?.members ?? []
    let others = node["additionalProperties"]
    for name in node["required"]?.elements ?? [] {
      guard let text = name.json.string, !members.contains(where: { $0.key.hasSameBytes(as: text) }) else { continue }
      var property = properties?[text]
      if let found = property { property = document.resolved(found, &unsupported) ?? found }
      guard property?.json[direction.otherSide]?.bool != true else { continue }
      outcome.findings.append(
        Finding(place: "\(place)/\(Pointer.escaped(text))", rule: name.pointer, text: "is required and missing"))
    }
    var known: Set<String> = Set(properties?.members.map(\.name) ?? [])
    for member in members {
      let here = "\(place)/\(Pointer.escaped(member.key))"
      var schemas = properties?[member.key].map { [$0] } ?? []
      for (pattern, schema) in named where patterns.matches(member.key, pattern) == true {
        schemas.append(schema)
      }
      for schema in schemas { outcome.findings += whole(member.value, schema, at: here, depth: depth + 1) }
      guard schemas.isEmpty else {
        known.insert(member.key)
        continue
      }
      guard let others else { continue }
      if others.json == .bool(false) {
        outcome.findings.append(Finding(place: here, rule: others.pointer, text: "is not allowed"))
      } else if others.json.bool == nil {
        outcome.findings += whole(member.value, others, at: here, depth: depth + 1)
      }
    }
    if others != nil {
      outcome.known = .all
    } else {
      outcome.known = outcome.known.union(.names(known))
    }
  }

  // MARK: Arrays

  private mutating func checkElements(
    _ elements: [JSON], _ node: Node, at place: String, _ depth: Int, _ outcome: inout Outcome
  ) {
    let first = node["prefixItems"]?.elements ?? []
    for (index, element) in elements.enumerated() {
      guard let schema = index < first.count ? first[index] : node["items"] else { continue }
      outcome.findings += whole(element, schema, at: "\(place)/\(index)", depth: depth + 1)
    }
  }

  // MARK: Several schemas

  private mutating func checkAlternatives(
    _ value: JSON, _ node: Node, at place: String, _ depth: Int, _ outcome: inout Outcome
  ) {
    for schema in node["allOf"]?.elements ?? [] { outcome.merge(check(value, schema, at: place, depth: depth + 1)) }
    for word in ["anyOf", "oneOf"] {
      guard let alternatives = node[word], !alternatives.elements.isEmpty else { continue }
      let outcomes = alternatives.elements.map { check(value, $0, at: place, depth: depth + 1) }
      let fitting = outcomes.filter { $0.findings.allSatisfy(\.isUnknown) }
      if fitting.isEmpty {
        let nearest = outcomes.min { $0.findings.count < $1.findings.count }
        let why = nearest?.findings.first { !$0.isUnknown }
        outcome.findings.append(
          Finding(
            place: place, rule: alternatives.pointer,
            text: "fits none of \(word)" + (why.map { "; of the nearest, \($0.said(below: place))" } ?? "")))
        outcome.known = .all
      } else if word == "oneOf", fitting.count > 1, fitting.count(where: { $0.findings.isEmpty }) != 1 {
        outcome.findings.append(
          Finding(
            place: place, rule: alternatives.pointer, text: "fits \(fitting.count) of oneOf, and may fit one only"))
      }
      for one in fitting { outcome.known = outcome.known.union(one.known) }
    }
    if let excluded = node["not"], check(value, excluded, at: place, depth: depth + 1).findings.isEmpty,
      steps <= maximumSteps
    {
      outcome.findings.append(Finding(place: place, rule: excluded.pointer, text: "is what may not stand here"))
    }
  }

  /// Notes JSON Schema keywords that are not checked.
  private mutating func note(_ node: Node) {
    for word in Self.unknownWords where node.json[word] != nil {
      unsupported.append(.init(pointer: "\(node.pointer)/\(word)", text: "`\(word)` is not looked at"))
    }
  }

  private static let unknownWords = [
    "if", "dependentRequired", "dependentSchemas", "propertyNames", "contains", "unevaluatedItems",
    "unevaluatedProperties", "$dynamicRef", "contentSchema", "$id", "$anchor",
  ]
}

extension SchemaCheck.Finding {
  /// The finding as part of a sentence, without its place if that equals `place`.
  fileprivate func said(below place: String) -> String { self.place == place ? "it \(text)" : "\(self.place) \(text)" }
}

extension JSON {
  /// Whether the value has a JSON Schema type.
  fileprivate func isOf(type: String) -> Bool {
    switch (self, type) {
    case (.null, "null"), (.bool, "boolean"), (.number, "number"), (.string, "string"), (.array, "array"),
      (.object, "object"):
      true
    case (.number(let text), "integer"): int != nil || Double(text).map { $0.rounded() == $0 } ?? false
    default: false
    }
  }
}
