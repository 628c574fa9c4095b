import Basics
import Cassettes
import Foundation

/// Generates values for responses from a schema of an OpenAPI document.
///
/// All choices come from `random`, so the same numbers give the same value. Values include optional members unless the
/// schema refers to itself or the value would become too large.
struct SchemaSample {
  /// Draws an integer.
  typealias Random = (ClosedRange<Int>) -> Int

  /// A value would have more parts than allowed.
  private struct TooLarge: Error {}

  /// The maximum size of a value with optional members, and without.
  private static let usualSteps = 4_000
  private static let maximumSteps = 100_000
  /// The maximum nesting of values and combined schemas.
  private static let maximumDepth = 40
  /// How many times a schema may occur within itself.
  private static let maximumRecursion = 2
  /// The maximum length of a text.
  private static let maximumLength = 65_536

  private let document: OpenAPIDocument
  /// Values for members with these names, if their schemas allow them. They apply to the outermost object, or to the
  /// objects in it if it has no such members.
  private let given: [String: String]
  private var givenDepth = 0
  /// Whether to ignore examples and defaults, and to choose optional parts at random.
  private let isDynamic: Bool
  private let random: Random

  private var steps = 0
  private var stepLimit = usualSteps
  /// The depth from which optional parts are left out.
  private var optionalDepth = 0
  /// How many times each reference is being followed.
  private var open: [String: Int] = [:]
  /// The index of the outermost reference in the chain that is being followed, which names the value's schema.
  private var outermost = 0
  /// The first alternative to try, and how many there are.
  private var alternative = 0
  private var alternativeCount = 1
  private var reason: String?
  private let patterns = SchemaPatterns()

  /// - Parameters:
  ///   - document: the document with the schemas.
  ///   - given: values for members of these names.
  ///   - isDynamic: whether to ignore examples and defaults, and to leave out optional members at random.
  ///   - random: draws an integer.
  init(
    _ document: OpenAPIDocument, given: [String: String] = [:], isDynamic: Bool = false, random: @escaping Random
  ) {
    self.document = document
    self.given = given
    self.isDynamic = isDynamic
    self.random = random
  }

  /// A value for a schema.
  ///
  /// - Throws: ``CodedError`` if the schema cannot be met, such as one with an endless circular reference.
  mutating func value(of schema: OpenAPIDocument.Node) throws(CodedError) -> JSON {
    // Large schemas get fewer optional members, equally on all levels.
    for depth in [8, 5, 3, 2, 1, 0] {
      (optionalDepth, steps, open, reason, givenDepth) = (depth, 0, [:], nil, 0)
      stepLimit = depth == 0 ? Self.maximumSteps : Self.usualSteps
      do {
        if let value = try make(schema.json, depth: 0) { return value }
        // Fewer optional members cannot help.
        break
      } catch { reason = "its values would have more than \(Self.maximumSteps) parts" }
    }
    throw CodedError(
      .broken, "no value can be generated for the schema: \(reason ?? "it allows no value"); add an example",
      at: schema.pointer
    )
  }

  /// A value; nil if there is none.
  private mutating func make(_ schema: JSON, depth: Int) throws(TooLarge) -> JSON? {
    guard depth <= Self.maximumDepth else { return none("it is nested too deeply or has a circular reference") }
    if let allows = schema.bool { return allows ? anything(depth) : none("it is false") }
    // If an alternative has no value, the next one may have one.
    var number = 0
    while true {
      var chain: [String] = []
      defer { for reference in chain { open[reference, default: 1] -= 1 } }
      (outermost, alternative, alternativeCount) = (0, number, 1)
      let rules = try flattened(schema, level: 0, &chain)
      let count = alternativeCount
      if let rules, let value = try make(rules, depth) { return value }
      number += 1
      guard number < count else { return nil }
    }
  }

  /// A value for keywords.
  private mutating func make(_ rules: [String: JSON], _ depth: Int) throws(TooLarge) -> JSON? {
    if !isDynamic, let example = try example(rules) { return example }
    if let only = rules["const"] { return only }
    if let all = rules["enum"]?.array {
      guard !all.isEmpty else { return none("its enum is empty") }
      let others = all.filter { $0 != .null }
      return pick(isDynamic || others.isEmpty ? all : others)
    }
    let types = types(rules)
    let isNullable = types.contains("null") || rules["nullable"]?.bool == true
    let others = types.filter { $0 != "null" }
    if isNullable, others.isEmpty && !types.isEmpty || isDynamic && random(0...7) == 0 { return .null }
    let type = others.isEmpty ? Self.implied(by: rules) : isDynamic ? pick(others) : others[0]
    switch type {
    case "object": return try object(rules, depth)
    case "array": return try array(rules, depth)
    case "string": return try text(rules)
    case "integer": return number(rules, isInteger: true)
    case "number": return number(rules, isInteger: false)
    case "boolean": return .bool(random(0...1) == 1)
    case nil: return anything(depth)
    default: return none("it has the unknown type '\((type ?? "").shortened(40))'")
    }
  }

  private mutating func none(_ why: String) -> JSON? {
    reason = why
    return nil
  }

  private mutating func spend(_ count: Int = 1) throws(TooLarge) {
    steps += count
    if steps > stepLimit { throw TooLarge() }
  }

  private func pick<Element>(_ all: [Element]) -> Element { all[random(0...all.count - 1)] }

  private func anything(_ depth: Int) -> JSON { depth == 0 ? .object([JSON.Member]()) : .string(pick(Self.words)) }

  private func types(_ rules: [String: JSON]) -> [String] {
    rules["type"]?.array?.compactMap(\.string) ?? rules["type"]?.string.map { [$0] } ?? []
  }

  /// The type that keywords imply if a schema has none.
  private static func implied(by rules: [String: JSON]) -> String? {
    let words = [
      ("object", ["properties", "required", "additionalProperties", "patternProperties", "minProperties"]),
      ("array", ["items", "prefixItems", "minItems", "uniqueItems"]),
      ("string", ["pattern", "minLength", "maxLength", "format"]),
      ("number", ["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"]),
    ]
    return words.first { $0.1.contains { rules[$0] != nil } }?.0
  }

  /// An example or default of the schema that is valid.
  private mutating func example(_ rules: [String: JSON]) throws(TooLarge) -> JSON? {
    for value in [rules["example"], rules["examples"]?.array?.first, rules["default"]] {
      if let value, try isValid(value, .object(rules)) { return value }
    }
    return nil
  }

  private mutating func isValid(_ value: JSON, _ schema: JSON) throws(TooLarge) -> Bool {
    var check = SchemaCheck(document, .response, patterns: patterns, maximumSteps: stepLimit)
    let findings = check.check(value, against: .init(json: schema, pointer: "#"))
    try spend(check.steps / 4)
    return findings.allSatisfy(\.isUnknown)
  }

  // MARK: Combined schemas

  /// The keywords of a schema merged with those of the schemas it refers to and combines, with an alternative chosen.
  ///
  /// - Parameters:
  ///   - schema: the schema.
  ///   - level: how many schemas it is a part of.
  ///   - chain: the references that were followed, outermost first.
  /// - Returns: the keywords; nil if there is no value.
  /// - Throws: ``TooLarge``.
  private mutating func flattened(
    _ schema: JSON, level: Int, _ chain: inout [String]
  ) throws(TooLarge) -> [String: JSON]? {
    try spend()
    guard level <= Self.maximumDepth else {
      _ = none("its combined schemas refer to each other endlessly")
      return nil
    }
    if let allows = schema.bool { return allows ? [:] : nil }
    var own = schema.dictionary ?? [:]
    try spend((own["properties"]?.object?.count ?? 0) / 8)
    var parts: [[String: JSON]] = []
    if let reference = own.removeValue(forKey: "$ref")?.string {
      guard let target = document[reference] else {
        _ = none("unresolved $ref: \(reference.shortened())")
        return nil
      }
      let count = open[reference, default: 0]
      guard count < Self.maximumRecursion + 1 else {
        _ = none("it has a circular reference")
        return nil
      }
      open[reference] = count + 1
      chain.append(reference)
      guard let rules = try flattened(target.json, level: level + 1, &chain) else { return nil }
      // Version 3.0 ignores the siblings of a reference.
      if document.isOld { return rules }
      parts.append(rules)
    }
    let discriminator = own.removeValue(forKey: "discriminator")
    if let all = own.removeValue(forKey: "allOf")?.array {
      for part in all {
        guard var rules = try flattened(part, level: level + 1, &chain) else { return nil }
        // An example of a part is not an example of the whole.
        if all.count > 1 || own["properties"] != nil { Self.removeExamples(&rules) }
        parts.append(rules)
      }
    }
    for word in ["oneOf", "anyOf"] {
      guard let all = own.removeValue(forKey: word)?.array, !all.isEmpty else { continue }
      guard var rules = try alternative(of: all, level, discriminator, &chain) else { return nil }
      if own["properties"] != nil { Self.removeExamples(&rules) }
      parts.append(rules)
    }
    for part in parts { Self.merge(part, into: &own) }
    if let name = discriminator?["propertyName"]?.string, parts.isEmpty, outermost < chain.count {
      Self.name(chain[outermost], discriminator, name, in: &own)
    }
    return own
  }

  /// The first alternative that has a value, or a random one. Null comes last.
  private mutating func alternative(
    of all: [JSON], _ level: Int, _ discriminator: JSON?, _ chain: inout [String]
  ) throws(TooLarge) -> [String: JSON]? {
    alternativeCount = max(alternativeCount, all.count)
    let first = isDynamic ? random(0...all.count - 1) : 0
    var ordered = Array(all[first...] + all[..<first])
    ordered = ordered.filter { $0["type"]?.string != "null" } + ordered.filter { $0["type"]?.string == "null" }
    let skipped = alternative % all.count
    for choice in ordered[skipped...] + ordered[..<skipped] {
      let before = chain.count
      let outer = outermost
      outermost = before
      defer { outermost = outer }
      if var rules = try flattened(choice, level: level + 1, &chain) {
        if let name = discriminator?["propertyName"]?.string, let reference = choice["$ref"]?.string {
          Self.name(reference, discriminator, name, in: &rules)
        }
        return rules
      }
      for reference in chain[before...] { open[reference, default: 1] -= 1 }
      chain.removeSubrange(before...)
    }
    return nil
  }

  /// Sets the discriminator member to the name of the value's schema.
  private static func name(
    _ reference: String, _ discriminator: JSON?, _ member: String, in rules: inout [String: JSON]
  ) {
    let name = reference.split(separator: "/").last.map(Pointer.unescaped) ?? ""
    let mapped = discriminator?["mapping"]?.object?.first { $0.value.string == reference || $0.value.string == name }
    var properties = rules["properties"]?.object ?? []
    let only = JSON.object([JSON.Member("const", .string(mapped?.key ?? name))])
    let known = properties[member]
    // The schema that has the discriminator may have set its own name.
    guard known?["const"] ?? .string(name) == .string(name), known?["enum"] == nil else { return }
    properties[member] = only
    rules["properties"] = .object(properties)
  }

  private static func removeExamples(_ rules: inout [String: JSON]) {
    for word in ["example", "examples", "default"] { rules[word] = nil }
  }

  /// Adds the keywords of another schema, so that values must satisfy both.
  private static func merge(_ other: [String: JSON], into rules: inout [String: JSON]) {
    for (word, value) in other {
      guard let own = rules[word] else {
        rules[word] = value
        continue
      }
      switch word {
      case "properties":
        var members = own.object ?? []
        let places = Dictionary(members.enumerated().map { ($1.key, $0) }) { first, _ in first }
        for member in value.object ?? [] {
          if let place = places[member.key] {
            members[place].value = both(members[place].value, member.value)
          } else {
            members.append(member)
          }
        }
        rules[word] = .object(members)
      case "required":
        let names = own.array ?? []
        rules[word] = .array(names + (value.array ?? []).filter { !names.contains($0) })
      case "type": rules[word] = common(own, value)
      case "enum":
        rules[word] = .array(
          (own.array ?? []).filter { one in (value.array ?? []).contains { CanonicalJSON.areSame($0, one) } })
      case "items", "additionalProperties": rules[word] = both(own, value)
      case "minimum", "minLength", "minItems", "minProperties":
        if value.double ?? 0 > own.double ?? 0 { rules[word] = value }
      case "maximum", "maxLength", "maxItems", "maxProperties":
        if value.double ?? 0 < own.double ?? 0 { rules[word] = value }
      case "exclusiveMinimum": if value.bool == true || value.double ?? 0 > own.double ?? 0 { rules[word] = value }
      case "exclusiveMaximum": if value.bool == true || value.double ?? 0 < own.double ?? 0 { rules[word] = value }
      case "nullable": if value.bool != true { rules[word] = nil }
      default: break
      }
    }
    if other["nullable"] == nil, !other.isEmpty { rules["nullable"] = nil }
  }

  private static func both(_ left: JSON, _ right: JSON) -> JSON {
    if left == right { return left }
    // One schema for many parts keeps the nesting low.
    let parts = (left.object.flatMap { $0.count == 1 ? left["allOf"]?.array : nil } ?? [left]) + [right]
    return .object([JSON.Member("allOf", .array(parts))])
  }

  private static func common(_ left: JSON, _ right: JSON) -> JSON {
    let right = right.array ?? [right]
    let both = (left.array ?? [left]).compactMap { type -> JSON? in
      if right.contains(type) { return type }
      if type == .string("number"), right.contains(.string("integer")) { return .string("integer") }
      return type == .string("integer") && right.contains(.string("number")) ? type : nil
    }
    return .array(both.isEmpty ? [left] : both)
  }

  // MARK: Objects and arrays

  private mutating func object(_ rules: [String: JSON], _ depth: Int) throws(TooLarge) -> JSON? {
    let required = (rules["required"]?.array ?? []).compactMap(\.string)
    let requiredNames = Set(required)
    let most = rules["maxProperties"]?.int ?? .max
    let properties = rules["properties"]?.object ?? []
    var members: [JSON.Member] = []
    if depth == 0, !properties.contains(where: { given[$0.key] != nil }) { givenDepth = 1 }
    // How many required members are left.
    var missing = required.count
    for property in properties {
      let isRequired = requiredNames.contains(property.key)
      if isRequired { missing -= 1 }
      guard !isOfOtherSide(property.value) else { continue }
      if !isRequired {
        guard depth < optionalDepth, members.count + missing < most, !isDynamic || random(0...3) > 0 else { continue }
      }
      let value: JSON?
      if depth == givenDepth, let text = given[property.key], let own = try givenValue(text, property.value) {
        value = own
      } else {
        value = try make(property.value, depth: depth + 1)
      }
      if let value { members.append(.init(property.key, value)) } else if isRequired { return nil }
    }
    let others = rules["additionalProperties"] ?? .bool(true)
    var names = Set(properties.map(\.key))
    for name in required where names.insert(name).inserted {
      guard let value = try make(others, depth: depth + 1) else { return nil }
      members.append(.init(name, value))
    }
    // A map, whose names are free.
    let isMap = properties.isEmpty && others.object?.isEmpty == false && depth < optionalDepth
    let least = max(rules["minProperties"]?.int ?? 0, isMap ? min(most, 2) : 0)
    var number = 0
    while members.count < least {
      try spend()
      number += 1
      let name = number <= Self.words.count ? Self.words[number - 1] : "member\(number)"
      guard names.insert(name).inserted else { continue }
      guard others != .bool(false), let value = try make(others, depth: depth + 1) else {
        if members.count >= rules["minProperties"]?.int ?? 0 { break }
        return none("it has fewer members than minProperties")
      }
      members.append(.init(name, value))
    }
    return .object(members)
  }

  /// Whether a member only occurs in requests.
  private func isOfOtherSide(_ property: JSON) -> Bool {
    var ignored: [OpenAPIDocument.Unsupported] = []
    let node = OpenAPIDocument.Node(json: property, pointer: "#")
    return property["writeOnly"]?.bool == true || document.resolved(node, &ignored)?.json["writeOnly"]?.bool == true
  }

  /// A given value, converted to the type of a schema; nil if it is not valid.
  private mutating func givenValue(_ text: String, _ schema: JSON) throws(TooLarge) -> JSON? {
    let value = TextValue.json(text, .init(json: schema, pointer: "#"), document, all: [text])
    return try isValid(value, schema) ? value : nil
  }

  private mutating func array(_ rules: [String: JSON], _ depth: Int) throws(TooLarge) -> JSON? {
    let first = rules["prefixItems"]?.array ?? []
    let items = rules["items"] ?? (first.isEmpty ? nil : .bool(false))
    let least = max(0, rules["minItems"]?.int ?? 0)
    let most = max(least, rules["maxItems"]?.int ?? .max)
    let mayBeLong = depth < optionalDepth && (items.map { $0 != .bool(false) } ?? false)
    let wanted = mayBeLong ? random(isDynamic ? 0...4 : 1...3) : 0
    let count = min(max(least, wanted, depth < optionalDepth ? first.count : 0), most)
    let isUnique = rules["uniqueItems"]?.bool == true
    if depth == 0 { givenDepth = 1 }
    var elements: [JSON] = []
    var tries = 0
    while elements.count < count {
      try spend()
      let schema = elements.count < first.count ? first[elements.count] : items ?? .bool(true)
      guard let element = try make(schema, depth: depth + 1) else {
        if elements.count >= least { break }
        return nil
      }
      if isUnique { try spend(elements.count / 16) }
      if isUnique, elements.contains(where: { CanonicalJSON.areSame($0, element) }) {
        tries += 1
        guard tries > 50 else { continue }
        if elements.count >= least { break }
        return none("it needs more unique elements than could be found")
      }
      elements.append(element)
    }
    return .array(elements)
  }

  // MARK: Numbers

  private mutating func number(_ rules: [String: JSON], isInteger: Bool) -> JSON? {
    var least = rules["minimum"]?.double
    var most = rules["maximum"]?.double
    // The step size, which keeps the number of decimals low.
    var given = rules["multipleOf"]?.double ?? 0
    if isInteger, given != given.rounded() { given = 1 }
    let step = given > 0 ? given : isInteger ? 1 : 0.01
    var isOpenBelow = rules["exclusiveMinimum"]?.bool == true
    var isOpenAbove = rules["exclusiveMaximum"]?.bool == true
    if let open = rules["exclusiveMinimum"]?.double, open >= least ?? open { (least, isOpenBelow) = (open, true) }
    if let open = rules["exclusiveMaximum"]?.double, open <= most ?? open { (most, isOpenAbove) = (open, true) }
    if rules["format"]?.string == "int32" {
      least = max(least ?? -0x8000_0000, -0x8000_0000)
      most = min(most ?? 0x7FFF_FFFF, 0x7FFF_FFFF)
      if rules["minimum"] == nil, rules["exclusiveMinimum"] == nil { least = min(1, most ?? 1) }
    }
    let low = least ?? most.map { min(1, $0 - 1000) } ?? 1
    let high = min(most ?? .infinity, max(low, 0) + 1000 * max(1, step))
    guard low <= high else { return none("its minimum is above its maximum") }
    var from = (low / step).rounded(.up)
    var to = (high / step).rounded(.down)
    if isOpenBelow, from * step <= low { from += 1 }
    if isOpenAbove, to * step >= high { to -= 1 }
    guard abs(from) < 9e15, abs(to) < 9e15 else { return low.isFinite ? .number(Self.decimal(low)) : nil }
    guard from <= to else {
      // A narrow range may not contain a multiple of 0.01.
      return isInteger || given > 0
        ? none("no number is between its minimum and maximum") : .double(low / 2 + high / 2)
    }
    let count = random(Int(from)...Int(to))
    // The decimals of the step, so that 7 times 0.01 is 0.07.
    let decimals = (rules["multipleOf"]?.text ?? "0.01").split(separator: ".").dropFirst().first ?? ""
    guard !isInteger, step != step.rounded(), decimals.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), decimals.utf8.count <= 12
    else { return .number(Self.decimal(Double(count) * step)) }
    return .number(String(format: "%.\(decimals.utf8.count)f", Double(count) * step))
  }

  /// A number without an exponent if it is an integer.
  private static func decimal(_ value: Double) -> String { Int(exactly: value).map(String.init) ?? "\(value)" }

  // MARK: Texts

  private static let words = [
    "amber", "birch", "cedar", "delta", "ember", "fern", "grove", "harbor", "iris", "juniper", "kite", "lumen", "maple",
    "north", "olive", "pebble", "quartz", "river", "sage", "timber", "umber", "violet", "willow", "yarrow", "zephyr",
  ]

  private mutating func text(_ rules: [String: JSON]) throws(TooLarge) -> JSON? {
    let least = max(0, rules["minLength"]?.int ?? 0)
    let most = max(least, rules["maxLength"]?.int ?? .max)
    guard least <= Self.maximumLength else {
      return none("its strings must have more than \(Self.maximumLength) characters")
    }
    try spend(1 + least / 64)
    if let pattern = rules["pattern"]?.string {
      return try matching(pattern, least, most, rules["format"]?.string)
    }
    if let format = rules["format"]?.string, let text = formatted(format),
      least...most ~= text.unicodeScalars.count
    {
      return .string(text)
    }
    var text = pick(Self.words)
    if most >= 14 { text += " " + pick(Self.words) }
    while text.utf8.count < least { text += " " + pick(Self.words) }
    // No space at the end.
    text = String(text.prefix(most))
    if text.last == " " { text = text.dropLast() + "s" }
    return .string(text)
  }

  private mutating func matching(
    _ pattern: String, _ least: Int, _ most: Int, _ format: String?
  ) throws(TooLarge) -> JSON? {
    func fits(_ text: String) -> Bool {
      least...most ~= text.unicodeScalars.count && patterns.matches(text, pattern) == true
        && format.map { TextFormat.fits(text, $0) } ?? true
    }
    if let format, let text = formatted(format), fits(text) { return .string(text) }
    if let sample = PatternSample(pattern) {
      // Try the usual length, then longer ones, then many times for assertions.
      for attempt in 0..<60 {
        let isExact = attempt % 3 == 1
        let extra = attempt % 3 == 0 ? 3 : isExact ? least / (attempt / 3 + 1) : 12
        guard let text = sample.text(extra: extra, isExact: isExact, random: random) else { continue }
        try spend(text.utf8.count / 16)
        if fits(text) { return .string(text) }
      }
    }
    return none("no string was found for its pattern \(pattern.shortened(60))")
  }

  /// A text in a format; nil for an unknown one.
  private func formatted(_ format: String) -> String? {
    // Some instant from 2020 to 2029.
    func instant() -> String { RFC3339.format(seconds: 1_577_836_800 + random(0...315_000_000)) }
    func hexadecimal(_ count: Int) -> String {
      String((0..<count).map { _ in "0123456789abcdef".dropFirst(random(0...15)).first ?? "0" })
    }
    let word = pick(Self.words)
    switch format {
    case "date-time": return instant()
    case "date": return String(instant().prefix(10))
    case "time": return String(instant().dropFirst(11))
    case "duration": return "PT\(random(1...59))M"
    case "email", "idn-email": return "\(word)@example.com"
    case "hostname", "idn-hostname": return "\(word).example.com"
    case "ipv4": return "192.0.2.\(random(1...254))"
    case "ipv6": return "2001:db8::\(hexadecimal(4))"
    case "uri", "url", "iri": return "https://example.com/\(word)"
    case "uri-reference", "iri-reference": return "/\(word)"
    case "uri-template": return "/\(word)/{id}"
    case "json-pointer": return "/\(word)"
    case "relative-json-pointer": return "1/\(word)"
    case "regex": return "^\(word)$"
    case "byte": return Base64.encode(Array(word.utf8))
    case "uuid":
      let variant = "89ab".dropFirst(random(0...3)).first ?? "8"
      return "\(hexadecimal(8))-\(hexadecimal(4))-4\(hexadecimal(3))-\(variant)\(hexadecimal(3))-\(hexadecimal(12))"
    default: return nil
    }
  }
}
