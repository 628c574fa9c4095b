package import Basics
import Cassettes
import Foundation

/// Validates JSON by a schema as `matchesJsonSchema` does: drafts 4, 6, 7, 2019-09 and 2020-12.
///
/// `CassetteChecks.SchemaCheck` explains recorded traffic by OpenAPI's subset; this type decides, with all keywords.
///
/// ```swift
/// let schema = try JSONSchema(try JSON.parse(Array(#"{"type": "object", "required": ["id"]}"#.utf8)))
/// try schema.matches("{}")  // false
/// ```
package struct JSONSchema: Sendable {
  /// A draft; the raw values are WireMock's.
  package enum Version: String, Sendable, CaseIterable, Comparable {
    case v4 = "V4"
    case v6 = "V6"
    case v7 = "V7"
    case v201909 = "V201909"
    case v202012 = "V202012"

    package static func < (left: Self, right: Self) -> Bool {
      allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
    }

    fileprivate var identifier: String { self == .v4 ? "id" : "$id" }
  }

  /// A part of a value that the schema does not allow.
  package struct Problem: Sendable, Equatable {
    /// A JSON pointer into the value; empty for the whole value.
    package var place: String
    /// The keyword that is not met.
    package var keyword: String

    package init(place: String, keyword: String) {
      self.place = place
      self.keyword = keyword
    }
  }

  fileprivate struct Location: Sendable {
    let schema: JSON
    /// The URI of the schema resource that it is in, or begins.
    let base: String
  }

  private static let drafts = [
    "draft-04": Version.v4, "draft-06": .v6, "draft-07": .v7, "2019-09": .v201909, "2020-12": .v202012,
  ]
  private static let types: Set<String> = ["null", "boolean", "integer", "number", "string", "array", "object"]
  /// The maximum nesting of schemas and of checks, which fits a stack of 512 KiB, as threads have on macOS.
  fileprivate static let maximumDepth = 64

  fileprivate let version: Version
  fileprivate let root: Location
  private var resources: [String: JSON] = [:]
  /// By URI and fragment.
  private var anchors: [String: Location] = [:]
  fileprivate private(set) var dynamicAnchors: Set<String> = []
  fileprivate private(set) var patterns: [String: TextPattern] = [:]

  /// - Parameters:
  ///   - schema: the schema. References have to stay within it.
  ///   - version: the draft if the schema has no `$schema`.
  /// - Throws: ``CodedError`` for an invalid type or pattern, a reference that leads nowhere, or too deep nesting.
  package init(_ schema: JSON, version: Version = .v202012) throws(CodedError) {
    let declared = schema["$schema"]?.string.flatMap { uri in Self.drafts.first { uri.contains($0.key) }?.value }
    self.version = declared ?? version
    let base = Self.base(of: schema, in: "", self.version)
    root = Location(schema: schema, base: base)
    resources[""] = schema
    var references: [(String, String)] = []
    try index(schema, "", 0, &references)
    for (reference, base) in references where resolved(reference, in: base) == nil {
      throw CodedError(
        .broken,
        "the JSON schema's $ref '\(reference.prefix(80))' leads nowhere; copy what it refers to into $defs")
    }
  }

  /// Whether a text matches: JSON that is valid, or a text or scalar that is valid as a string.
  package func matches(_ text: String) throws(CodedError) -> Bool { try problems(in: text).isEmpty }

  /// How far a text is from being valid, as WireMock counts: the number of problems for each property of the schema.
  package func distance(to text: String) throws(CodedError) -> Double {
    let count = try problems(in: text).count
    let properties = Self.properties(root.schema)
    return count == 0 ? 0 : properties == 0 ? 1 : min(1, Double(count) / Double(properties))
  }

  private static func properties(_ schema: JSON) -> Int {
    (schema["properties"]?.object ?? []).reduce(0) { $0 + 1 + properties($1.value) }
  }

  private func problems(in text: String) throws(CodedError) -> [Problem] {
    guard let json = try? JSON.parse(Array(text.utf8)) else { return try problems(in: .string(text)) }
    let problems = try problems(in: json)
    if problems.isEmpty || json.string != nil || json.array != nil || json.object != nil { return problems }
    return try self.problems(in: .string(text))
  }

  /// What the schema does not allow in a value.
  ///
  /// - Throws: ``CodedError`` if the schema is circular without an end, or validating takes too many steps.
  package func problems(in value: JSON) throws(CodedError) -> [Problem] {
    var validation = JSONSchemaValidation(schema: self)
    return try validation.check(value, root, at: "", depth: 0).problems
  }

  // MARK: References

  /// Finds the identifiers, anchors, references and patterns in a schema.
  private mutating func index(
    _ schema: JSON, _ base: String, _ depth: Int, _ references: inout [(String, String)]
  ) throws(CodedError) {
    guard depth <= Self.maximumDepth else {
      throw CodedError(.broken, "the JSON schema is nested more than \(Self.maximumDepth) deep")
    }
    guard let members = schema.object else { return }
    let hidesSiblings = version <= .v7 && schema["$ref"]?.string != nil
    let base = Self.base(of: schema, in: base, version)
    if resources[base] == nil { resources[base] = schema }
    if version <= .v7, !hidesSiblings, let id = schema[version.identifier]?.string, id.hasPrefix("#") {
      anchors[base + id] = Location(schema: schema, base: base)
    }
    for member in members {
      switch (member.key, member.value) {
      case ("$anchor", .string(let name)) where version >= .v201909,
        ("$dynamicAnchor", .string(let name)) where version == .v202012:
        anchors["\(base)#\(name)"] = Location(schema: schema, base: base)
        if member.key == "$dynamicAnchor" { dynamicAnchors.insert("\(base)#\(name)") }
      case ("$ref", .string(let reference)): references.append((reference, base))
      case ("$dynamicRef", .string(let reference)) where version == .v202012: references.append((reference, base))
      case ("pattern", .string(let pattern)): patterns[pattern] = try TextPattern(pattern, isWhole: false)
      case ("type", .string(let name)): try Self.checkType(name)
      case ("type", .array(let names)): for name in names { try Self.checkType(name.string ?? "") }
      case ("additionalItems", let inner), ("additionalProperties", let inner), ("contains", let inner),
        ("else", let inner), ("if", let inner), ("not", let inner), ("propertyNames", let inner), ("then", let inner),
        ("unevaluatedItems", let inner), ("unevaluatedProperties", let inner), ("items", let inner):
        for inner in inner.array ?? [inner] { try index(inner, base, depth + 1, &references) }
      case ("allOf", .array(let list)), ("anyOf", .array(let list)), ("oneOf", .array(let list)),
        ("prefixItems", .array(let list)):
        for inner in list { try index(inner, base, depth + 1, &references) }
      case ("$defs", .object(let map)), ("definitions", .object(let map)), ("properties", .object(let map)),
        ("patternProperties", .object(let map)), ("dependentSchemas", .object(let map)),
        ("dependencies", .object(let map)):
        for inner in map {
          if member.key == "patternProperties" { patterns[inner.key] = try TextPattern(inner.key, isWhole: false) }
          try index(inner.value, base, depth + 1, &references)
        }
      default: break
      }
    }
  }

  private static func checkType(_ name: String) throws(CodedError) {
    guard types.contains(name) else {
      throw CodedError(
        .broken, "'\(name.prefix(40))' is not a type of JSON Schema; use \(types.sorted().joined(separator: ", "))")
    }
  }

  /// The URI of the resource that a schema is in, or begins.
  fileprivate static func base(of schema: JSON, in base: String, _ version: Version) -> String {
    guard let id = schema[version.identifier]?.string, !id.hasPrefix("#"),
      version > .v7 || schema["$ref"]?.string == nil
    else { return base }
    return join(id, base).uri
  }

  /// Resolves a URI reference (RFC 3986, 5.2) and splits off the fragment.
  private static func join(_ reference: String, _ base: String) -> (uri: String, fragment: String) {
    let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let fragment = parts.count == 2 ? String(parts[1]) : ""
    guard let path = parts.first, !path.isEmpty else { return (base, fragment) }
    let isAbsolute = path.prefixMatch(of: /[a-zA-Z][a-zA-Z0-9+.\-]*:/) != nil
    let joined = isAbsolute ? nil : URL(string: String(path), relativeTo: URL(string: base))?.absoluteString
    return (joined ?? String(path), fragment)
  }

  fileprivate func resolved(_ reference: String, in base: String) -> Location? {
    let (uri, encoded) = Self.join(reference, base)
    guard let resource = resources[uri] else { return nil }
    let fragment = encoded.removingPercentEncoding ?? encoded
    if fragment.isEmpty { return Location(schema: resource, base: uri) }
    guard fragment.hasPrefix("/") else { return anchors["\(uri)#\(fragment)"] }
    var schema = resource
    var base = uri
    for step in fragment.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      let name = String(step).replacing("~1", with: "/").replacing("~0", with: "~")
      if let member = schema[name] {
        schema = member
      } else if let index = Int(name), let elements = schema.array, elements.indices.contains(index) {
        schema = elements[index]
      } else {
        return nil
      }
      base = Self.base(of: schema, in: base, version)
    }
    return Location(schema: schema, base: base)
  }

  /// What `$dynamicRef` and `$recursiveRef` mean, for the resources entered so far.
  fileprivate func resolved(dynamic reference: String, in base: String, _ entered: [String]) -> Location? {
    guard let location = resolved(reference, in: base) else { return nil }
    let (uri, fragment) = Self.join(reference, base)
    if version == .v201909 {
      guard location.schema["$recursiveAnchor"]?.bool == true else { return location }
      let outer = entered.first { resources[$0]?["$recursiveAnchor"]?.bool == true }
      return outer.flatMap { resolved("", in: $0) } ?? location
    }
    guard dynamicAnchors.contains("\(uri)#\(fragment)") else { return location }
    return entered.first { dynamicAnchors.contains("\($0)#\(fragment)") }.flatMap { anchors["\($0)#\(fragment)"] }
      ?? location
  }
}

/// One validation of a value.
private struct JSONSchemaValidation {
  typealias Problem = JSONSchema.Problem

  private static let maximumSteps = 1_000_000

  struct Outcome {
    var problems: [Problem] = []
    // What the keywords looked at, for `unevaluatedProperties` and `unevaluatedItems`.
    var names: Set<String> = []
    var indexes: Set<Int> = []

    mutating func merge(_ other: Outcome) {
      problems += other.problems
      names.formUnion(other.names)
      indexes.formUnion(other.indexes)
    }
  }

  let schema: JSONSchema
  private var steps = 0
  /// The resources entered so far, outermost first.
  private var entered: [String] = []
  private let budget = PatternBudget()

  init(schema: JSONSchema) {
    self.schema = schema
  }

  private mutating func spend(_ count: Int = 1) throws(CodedError) {
    steps += count
    guard steps <= Self.maximumSteps else {
      throw CodedError(.broken, "the JSON schema takes more than \(Self.maximumSteps) steps; use fewer alternatives")
    }
  }

  private mutating func check(
    _ value: JSON, _ rules: JSON, in outer: String, at place: String, depth: Int
  ) throws(CodedError) -> Outcome {
    let base = JSONSchema.base(of: rules, in: outer, schema.version)
    return try check(value, JSONSchema.Location(schema: rules, base: base), at: place, depth: depth)
  }

  mutating func check(
    _ value: JSON, _ location: JSONSchema.Location, at place: String, depth: Int
  ) throws(CodedError) -> Outcome {
    let (rules, base) = (location.schema, location.base)
    try spend()
    guard depth <= JSONSchema.maximumDepth else {
      throw CodedError(
        .broken, "the JSON schema refers to itself without an end, or more than \(JSONSchema.maximumDepth) deep")
    }
    if let allows = rules.bool {
      return Outcome(problems: allows ? [] : [Problem(place: place, keyword: "false")])
    }
    guard let members = rules.object else { return Outcome() }
    let entersResource = entered.last != base
    if entersResource { entered.append(base) }
    defer { if entersResource { entered.removeLast() } }
    var outcome = Outcome()
    for target in try references(members, in: base) {
      outcome.merge(try check(value, target, at: place, depth: depth + 1))
      if schema.version <= .v7 { return outcome }
    }
    outcome.problems += try ownKeywords(value, rules).map { Problem(place: place, keyword: $0) }
    switch value {
    case .array(let elements): try checkElements(elements, rules, base, place, depth, &outcome)
    case .object(let members): try checkMembers(members, rules, base, place, depth, &outcome)
    default: break
    }
    try checkAlternatives(value, rules, base, place, depth, &outcome)
    try checkUnevaluated(value, rules, base, place, depth, &outcome)
    return outcome
  }

  /// The schemas that the references of a schema lead to.
  private func references(_ members: [JSON.Member], in base: String) throws(CodedError) -> [JSONSchema.Location] {
    var targets: [JSONSchema.Location] = []
    for member in members {
      let location: JSONSchema.Location?
      switch (member.key, member.value.string) {
      case ("$ref", let reference?): location = schema.resolved(reference, in: base)
      case ("$dynamicRef", let reference?) where schema.version == .v202012,
        ("$recursiveRef", let reference?) where schema.version == .v201909:
        location = schema.resolved(dynamic: reference, in: base, entered)
      default: continue
      }
      guard let location else { throw CodedError(.broken, "a $ref of the JSON schema leads nowhere") }
      targets.append(location)
    }
    return targets
  }

  /// The keywords about the value itself, not its elements and members, that are not met.
  private func ownKeywords(_ value: JSON, _ rules: JSON) throws(CodedError) -> [String] {
    var broken: [String] = []
    if let type = rules["type"], !Self.has(value, type, isNullable: rules["nullable"]?.bool == true, schema.version) {
      broken.append("type")
    }
    if let allowed = rules["enum"]?.array, !allowed.contains(where: { CanonicalJSON.areSame($0, value) }) {
      broken.append("enum")
    }
    if schema.version > .v4, let only = rules["const"], !CanonicalJSON.areSame(only, value) { broken.append("const") }
    switch value {
    case .number(let text): broken += Self.brokenLimits(text, rules)
    case .string(let text): broken += try brokenTextRules(text, rules)
    case .array(let elements):
      if let least = rules["minItems"]?.int, elements.count < least { broken.append("minItems") }
      if let most = rules["maxItems"]?.int, elements.count > most { broken.append("maxItems") }
      if rules["uniqueItems"]?.bool == true, !Self.areUnique(elements) { broken.append("uniqueItems") }
    case .object(let members):
      if let least = rules["minProperties"]?.int, members.count < least { broken.append("minProperties") }
      if let most = rules["maxProperties"]?.int, members.count > most { broken.append("maxProperties") }
      for name in rules["required"]?.array ?? [] where !Self.has(members, name) { broken.append("required") }
      for word in schema.version <= .v7 ? ["dependencies"] : ["dependentRequired"] {
        for dependency in rules[word]?.object ?? [] where members.last(named: dependency.key) != nil {
          for name in dependency.value.array ?? [] where !Self.has(members, name) { broken.append(word) }
        }
      }
    case .null, .bool: break
    }
    return broken
  }

  private static func areUnique(_ elements: [JSON]) -> Bool {
    var seen: [UInt64: [JSON]] = [:]
    for element in elements {
      var hash = SipHash()
      CanonicalJSON.append(element, to: &hash)
      let key = hash.finish().0
      if seen[key]?.contains(where: { CanonicalJSON.areSame($0, element) }) == true { return false }
      seen[key, default: []].append(element)
    }
    return true
  }

  private static func has(_ members: [JSON.Member], _ name: JSON) -> Bool {
    name.string.map { members.last(named: $0) != nil } ?? true
  }

  private static func has(_ value: JSON, _ type: JSON, isNullable: Bool, _ version: JSONSchema.Version) -> Bool {
    (type.array ?? [type]).contains { type in
      switch (value, type.string) {
      case (.null, "null"), (.bool, "boolean"), (.number, "number"), (.string, "string"), (.array, "array"),
        (.object, "object"):
        true
      case (.number(let text), "integer"):
        text.allSatisfy { $0 != "." && $0 != "e" && $0 != "E" }
          || version > .v4 && Double(text).map { $0.rounded() == $0 } ?? false
      case (.null, _): isNullable
      default: false
      }
    }
  }

  // MARK: Numbers and texts

  private static func brokenLimits(_ text: String, _ rules: JSON) -> [String] {
    guard let number = Double(text) else { return [] }
    var broken: [String] = []
    let isOpenBelow = rules["exclusiveMinimum"]?.bool == true
    let isOpenAbove = rules["exclusiveMaximum"]?.bool == true
    if let least = rules["minimum"]?.double, isOpenBelow ? number <= least : number < least { broken.append("minimum") }
    if let most = rules["maximum"]?.double, isOpenAbove ? number >= most : number > most { broken.append("maximum") }
    if let least = rules["exclusiveMinimum"]?.double, number <= least { broken.append("exclusiveMinimum") }
    if let most = rules["exclusiveMaximum"]?.double, number >= most { broken.append("exclusiveMaximum") }
    if let step = rules["multipleOf"]?.double, step > 0 {
      let times = number / step
      // Decimal fractions are not exact. Without any fraction left, the remainder is.
      let isMultiple =
        abs(times) < 1e15
        ? abs(times - times.rounded()) <= 1e-9 * max(1, abs(times))
        : number.truncatingRemainder(dividingBy: step) == 0
          || number.rounded() == number && (1 / step).rounded() == 1 / step
      if !isMultiple { broken.append("multipleOf") }
    }
    return broken
  }

  private func brokenTextRules(_ text: String, _ rules: JSON) throws(CodedError) -> [String] {
    var broken: [String] = []
    let count = text.unicodeScalars.count
    if let least = rules["minLength"]?.int, count < least { broken.append("minLength") }
    if let most = rules["maxLength"]?.int, count > most { broken.append("maxLength") }
    if let pattern = rules["pattern"]?.string, try !matches(text, pattern) { broken.append("pattern") }
    // From 2019-09 on, `format` is an annotation only.
    if schema.version <= .v7, let format = rules["format"]?.string, !JSONSchemaFormat.fits(text, format) {
      broken.append("format")
    }
    return broken
  }

  private func matches(_ text: String, _ source: String) throws(CodedError) -> Bool {
    try schema.patterns[source]?.matches(text, budget) ?? true
  }

  // MARK: Arrays

  private mutating func checkElements(
    _ elements: [JSON], _ rules: JSON, _ base: String, _ place: String, _ depth: Int, _ outcome: inout Outcome
  ) throws(CodedError) {
    let isNew = schema.version == .v202012
    let first = (isNew ? rules["prefixItems"]?.array : rules["items"]?.array) ?? []
    let others = isNew ? rules["items"] : rules["items"]?.array == nil ? rules["items"] : rules["additionalItems"]
    for (index, element) in elements.enumerated() {
      guard let rules = index < first.count ? first[index] : others else { break }
      outcome.problems += try check(element, rules, in: base, at: "\(place)/\(index)", depth: depth + 1).problems
      outcome.indexes.insert(index)
    }
    guard schema.version > .v4, let contained = rules["contains"] else { return }
    var count = 0
    for (index, element) in elements.enumerated()
    where try check(element, contained, in: base, at: place, depth: depth + 1).problems.isEmpty {
      count += 1
      if isNew { outcome.indexes.insert(index) }
    }
    let hasCounts = schema.version >= .v201909
    if count < (hasCounts ? rules["minContains"]?.int ?? 1 : 1) {
      outcome.problems.append(Problem(place: place, keyword: "contains"))
    }
    if hasCounts, let most = rules["maxContains"]?.int, count > most {
      outcome.problems.append(Problem(place: place, keyword: "maxContains"))
    }
  }

  // MARK: Objects

  private mutating func checkMembers(
    _ members: [JSON.Member], _ rules: JSON, _ base: String, _ place: String, _ depth: Int, _ outcome: inout Outcome
  ) throws(CodedError) {
    let properties = rules["properties"]?.object ?? []
    let patterns = rules["patternProperties"]?.object ?? []
    for member in members {
      let here = "\(place)/\(member.key.replacing("~", with: "~0").replacing("/", with: "~1"))"
      var applied = properties.last(named: member.key).map { [$0] } ?? []
      for pattern in patterns where try matches(member.key, pattern.key) { applied.append(pattern.value) }
      if applied.isEmpty, let others = rules["additionalProperties"] { applied = [others] }
      for rules in applied {
        outcome.problems += try check(member.value, rules, in: base, at: here, depth: depth + 1).problems
      }
      if !applied.isEmpty { outcome.names.insert(member.key) }
      if schema.version > .v4, let names = rules["propertyNames"],
        try !check(.string(member.key), names, in: base, at: here, depth: depth + 1).problems.isEmpty
      {
        outcome.problems.append(Problem(place: here, keyword: "propertyNames"))
      }
    }
    let dependencies = rules[schema.version <= .v7 ? "dependencies" : "dependentSchemas"]?.object ?? []
    for dependency in dependencies where dependency.value.array == nil && members.last(named: dependency.key) != nil {
      outcome.merge(try check(.object(members), dependency.value, in: base, at: place, depth: depth + 1))
    }
  }

  // MARK: Several schemas

  private mutating func checkAlternatives(
    _ value: JSON, _ rules: JSON, _ base: String, _ place: String, _ depth: Int, _ outcome: inout Outcome
  ) throws(CodedError) {
    for inner in rules["allOf"]?.array ?? [] {
      outcome.merge(try check(value, inner, in: base, at: place, depth: depth + 1))
    }
    for word in ["anyOf", "oneOf"] {
      guard let alternatives = rules[word]?.array else { continue }
      var fitting = 0
      for inner in alternatives {
        let other = try check(value, inner, in: base, at: place, depth: depth + 1)
        guard other.problems.isEmpty else { continue }
        fitting += 1
        outcome.merge(other)
      }
      if fitting == 0 || word == "oneOf" && fitting > 1 {
        outcome.problems.append(Problem(place: place, keyword: word))
      }
    }
    if let excluded = rules["not"],
      try check(value, excluded, in: base, at: place, depth: depth + 1).problems.isEmpty
    {
      outcome.problems.append(Problem(place: place, keyword: "not"))
    }
    guard schema.version >= .v7, let condition = rules["if"] else { return }
    let tested = try check(value, condition, in: base, at: place, depth: depth + 1)
    if tested.problems.isEmpty { outcome.merge(tested) }
    if let next = rules[tested.problems.isEmpty ? "then" : "else"] {
      outcome.merge(try check(value, next, in: base, at: place, depth: depth + 1))
    }
  }

  private mutating func checkUnevaluated(
    _ value: JSON, _ rules: JSON, _ base: String, _ place: String, _ depth: Int, _ outcome: inout Outcome
  ) throws(CodedError) {
    guard schema.version >= .v201909 else { return }
    if case .array(let elements) = value, let rest = rules["unevaluatedItems"] {
      for (index, element) in elements.enumerated() where !outcome.indexes.contains(index) {
        outcome.problems += try check(element, rest, in: base, at: "\(place)/\(index)", depth: depth + 1).problems
        outcome.indexes.insert(index)
      }
    }
    if case .object(let members) = value, let rest = rules["unevaluatedProperties"] {
      for member in members where !outcome.names.contains(member.key) {
        outcome.problems += try check(member.value, rest, in: base, at: "\(place)/\(member.key)", depth: depth + 1)
          .problems
        outcome.names.insert(member.key)
      }
    }
  }
}

/// The formats of JSON Schema, for drafts in which they are assertions. An unknown format fits.
private enum JSONSchemaFormat {
  static func fits(_ text: String, _ format: String) -> Bool {
    switch format {
    case "date-time": return RFC3339.parse(text) != nil && !text.contains(" ")
    case "date": return text.utf8.count == 10 && RFC3339.parse(text + "T00:00:00Z") != nil
    case "time": return text.utf8.first.map { $0 < 0x3A } ?? false && RFC3339.parse("2000-01-01T" + text) != nil
    case "duration":
      return text.wholeMatch(
        of: /P([0-9]+W|(?=[0-9T])([0-9]+Y)?([0-9]+M)?([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+S)?)?)/)
        != nil
    case "email":
      return text.wholeMatch(
        of: /("[^"]+"|[^\s@"(),:;<>\[\\\].]+(\.[^\s@"(),:;<>\[\\\].]+)*)@(\[[^\]]+\]|[A-Za-z0-9\-]+(\.[A-Za-z0-9\-]+)*)/
      ) != nil
    case "idn-email": return text.wholeMatch(of: /[^\s@]+@[^\s@]+/) != nil
    case "hostname":
      return text.utf8.count <= 253
        && text.wholeMatch(
          of: /[A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?)*/)
          != nil
    case "ipv4": return text.wholeMatch(of: /((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\.(?!$)|$)){4}/) != nil
    case "ipv6":
      var address = in6_addr()
      return !text.contains("%") && text.withCString { inet_pton(AF_INET6, $0, &address) } == 1
    case "uri":
      return text.wholeMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:([^\s<>"{}|\\^`%\u0080-\u{10FFFF}]|%[0-9A-Fa-f]{2})*/) != nil
    case "uri-reference": return text.wholeMatch(of: /([^\s<>"{}|\\^`%\u0080-\u{10FFFF}]|%[0-9A-Fa-f]{2})*/) != nil
    case "iri": return text.wholeMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>"{}|\\^`]*/) != nil
    case "iri-reference": return text.wholeMatch(of: /[^\s<>"{}|\\^`]*/) != nil
    case "uri-template": return text.wholeMatch(of: /([^{}\s"<>\\^`|]|\{[^{}\s]+\})*/) != nil
    case "uuid":
      return text.wholeMatch(of: /[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}/) != nil
    case "json-pointer": return text.wholeMatch(of: /(\/([^~\/]|~[01])*)*/) != nil
    case "relative-json-pointer": return text.wholeMatch(of: /(0|[1-9][0-9]*)(#|(\/([^~\/]|~[01])*)*)/) != nil
    case "regex": return (try? Pattern(text)) != nil
    default: return true
    }
  }
}
