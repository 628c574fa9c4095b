package import Basics
import Cassettes

/// Compares JSON values as `equalToJson` does: members in any order, numbers by value, and JsonUnit's placeholders.
///
/// ```swift
/// let equality = try JSONEquality(try JSON.parse(Array(#"{"id": "${json-unit.any-string}"}"#.utf8)))
/// try equality.matches(body)
/// ```
package struct JSONEquality: Sendable {
  /// The maximum nesting of the expected value, which fits a stack of 512 KiB, as threads have on macOS.
  private static let maximumDepth = 64

  /// A hash of a value: values with different ones are not equal.
  package struct Fingerprint: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// Nil if an object in the value repeats a name, because only the last of those members counts.
    ///
    /// - Parameter value: the value.
    package init?(_ value: JSON) {
      var open = [value]
      while let next = open.popLast() {
        if let elements = next.array { open += elements }
        guard let members = next.object else { continue }
        let sorted = CanonicalJSON.sorted(members)
        guard sorted.lastOfEachName.count == members.count else { return nil }
        open += members.map(\.value)
      }
      var hash = SipHash()
      CanonicalJSON.append(value, to: &hash)
      (high, low) = hash.finish()
    }
  }

  private let expected: Expected
  /// The fingerprint of the only value that is equal; nil if there can be several.
  package let fingerprint: Fingerprint?
  private let ignoreArrayOrder: Bool
  private let ignoreExtraElements: Bool

  /// - Parameters:
  ///   - expected: the value, which may contain the strings `${json-unit.ignore}`, `${json-unit.ignore-element}`,
  ///     `${json-unit.any-string}`, `${json-unit.any-number}`, `${json-unit.any-boolean}` and `${json-unit.regex}…`.
  ///   - ignoreArrayOrder: whether the elements of arrays may come in any order.
  ///   - ignoreExtraElements: whether objects and arrays may have more than is expected.
  /// - Throws: ``CodedError`` for an invalid regular expression, a custom matcher, or too deep nesting.
  package init(
    _ expected: JSON, ignoreArrayOrder: Bool = false, ignoreExtraElements: Bool = false
  ) throws(CodedError) {
    self.expected = try Expected(expected, depth: 0)
    let isOnlyOne = self.expected.isLiteral && !ignoreArrayOrder && !ignoreExtraElements
    fingerprint = isOnlyOne ? Fingerprint(expected) : nil
    self.ignoreArrayOrder = ignoreArrayOrder
    self.ignoreExtraElements = ignoreExtraElements
  }

  /// Whether a value equals the expected one.
  ///
  /// - Throws: ``CodedError`` if arrays in any order take too many comparisons.
  package func matches(_ actual: JSON) throws(CodedError) -> Bool {
    var comparison = comparison
    return try comparison.differences(expected, actual, stopsAtFirst: true) == 0
  }

  /// How far a value is from the expected one: 0 if they are equal, 1 if they have nothing in common.
  ///
  /// As in WireMock, it is the number of different values, missing and extra ones included, divided by the number of values.
  ///
  /// - Throws: ``CodedError`` if arrays in any order take too many comparisons.
  package func distance(to actual: JSON) throws(CodedError) -> Double {
    var comparison = comparison
    let count = try comparison.differences(expected, actual, stopsAtFirst: false)
    return min(1, Double(count) / Double(max(1, Self.size(expected.json), Self.size(actual))))
  }

  private var comparison: Comparison {
    Comparison(ignoreArrayOrder: ignoreArrayOrder, ignoreExtraElements: ignoreExtraElements)
  }

  /// What a value weighs if it differs: like its size, but null members of objects do not count.
  fileprivate static func weight(_ value: JSON) -> Int { max(1, size(value, countsNull: false)) }

  /// WireMock's size of a value: one, and for each child one and, if it has children itself, its size.
  private static func size(_ value: JSON, countsNull: Bool = true) -> Int {
    var size = 1
    var open = [value]
    while let value = open.popLast() {
      let children: [JSON]
      switch value {
      case .array(let elements): children = elements
      case .object(let members): children = members.map(\.value).filter { countsNull || $0 != .null }
      default: continue
      }
      for child in children {
        size += 1
        if child.array != nil || child.object != nil {
          size += 1
          open.append(child)
        }
      }
    }
    return size
  }

  /// An expected value with its placeholders.
  fileprivate struct Expected: Sendable {
    enum Rule: Sendable {
      case ignore, ignoreElement, anyNumber, anyBoolean, anyString
      case regex(TextPattern)
      case scalar
      case array([Expected])
      /// Sorted by name.
      case object([(name: String, value: Expected)])
    }

    let json: JSON
    let rule: Rule
    let weight: Int
    /// Whether it has no placeholders.
    let isLiteral: Bool

    init(_ json: JSON, depth: Int) throws(CodedError) {
      guard depth <= JSONEquality.maximumDepth else {
        throw CodedError(.broken, "the expected JSON is nested more than \(JSONEquality.maximumDepth) deep")
      }
      self.json = json
      weight = JSONEquality.weight(json)
      switch json {
      case .string(let text):
        rule = try Self.rule(text)
        if case .scalar = rule { isLiteral = true } else { isLiteral = false }
      case .array(let elements):
        var items: [Expected] = []
        for element in elements { items.append(try Expected(element, depth: depth + 1)) }
        rule = .array(items)
        isLiteral = items.allSatisfy(\.isLiteral)
      case .object(let members):
        var items: [(name: String, value: Expected)] = []
        for member in CanonicalJSON.sorted(members).lastOfEachName {
          items.append((member.key, try Expected(member.value, depth: depth + 1)))
        }
        rule = .object(items)
        isLiteral = items.allSatisfy(\.value.isLiteral)
      default:
        rule = .scalar
        isLiteral = true
      }
    }

    private static func rule(_ text: String) throws(CodedError) -> Rule {
      guard text.hasPrefix("${json-unit.") || text.hasPrefix("#{json-unit."),
        let end = text.firstIndex(of: "}")
      else { return .scalar }
      let name = text[..<end].dropFirst(12)
      let rest = text[end...].dropFirst()
      switch name {
      case "regex" where !rest.contains(where: \.isNewline): return .regex(try TextPattern(String(rest)))
      case "ignore" where rest.isEmpty: return .ignore
      case "ignore-element" where rest.isEmpty && text.hasPrefix("$"): return .ignoreElement
      case "any-number" where rest.isEmpty: return .anyNumber
      case "any-boolean" where rest.isEmpty: return .anyBoolean
      case "any-string" where rest.isEmpty: return .anyString
      case _ where name.hasPrefix("matches:"):
        throw CodedError(
          .broken, "'\(text.prefix(80))' names a custom matcher, which is not supported; use ${json-unit.regex}…")
      default: return .scalar
      }
    }
  }

  private struct Comparison {
    private static let maximumSteps = 10_000_000

    let ignoreArrayOrder: Bool
    let ignoreExtraElements: Bool
    private var steps = 0
    private var budget: PatternBudget?

    init(ignoreArrayOrder: Bool, ignoreExtraElements: Bool) {
      self.ignoreArrayOrder = ignoreArrayOrder
      self.ignoreExtraElements = ignoreExtraElements
    }

    private mutating func spend(_ count: Int = 1) throws(CodedError) {
      steps += count
      guard steps <= Self.maximumSteps else {
        throw CodedError(
          .broken,
          "equalToJson takes more than \(Self.maximumSteps) comparisons; do not set ignoreArrayOrder for long arrays")
      }
    }

    /// The weight of the differences between two values; only known to be above 0 if it stops at the first.
    mutating func differences(_ expected: Expected, _ actual: JSON, stopsAtFirst: Bool) throws(CodedError) -> Int {
      try spend()
      switch (expected.rule, actual) {
      case (.ignore, _), (.ignoreElement, _), (.anyNumber, .number), (.anyBoolean, .bool), (.anyString, .string):
        return 0
      case (.regex(let pattern), .string(let text)):
        let budget = budget ?? PatternBudget()
        self.budget = budget
        return try pattern.matches(text, budget) ? 0 : 1
      case (.object(let members), .object(let others)):
        return try differences(members, CanonicalJSON.sorted(others).lastOfEachName, stopsAtFirst)
      case (.array(let elements), .array(let others)):
        return ignoreArrayOrder
          ? try unordered(elements, others, stopsAtFirst) : try ordered(elements, others, stopsAtFirst)
      case (.scalar, .null), (.scalar, .bool), (.scalar, .number), (.scalar, .string):
        return CanonicalJSON.areSame(expected.json, actual) ? 0 : 1
      default: return max(expected.weight, JSONEquality.weight(actual))
      }
    }

    private mutating func differences(
      _ members: [(name: String, value: Expected)], _ others: [JSON.Member], _ stopsAtFirst: Bool
    ) throws(CodedError) -> Int {
      var count = 0
      var (left, right) = (0, 0)
      while left < members.count || right < others.count {
        if stopsAtFirst, count > 0 { break }
        if left < members.count, right < others.count, members[left].name.hasSameBytes(as: others[right].key) {
          count += try differences(members[left].value, others[right].value, stopsAtFirst: stopsAtFirst)
          left += 1
          right += 1
        } else if right == others.count
          || left < members.count && members[left].name.utf8.lexicographicallyPrecedes(others[right].key.utf8)
        {
          count += Self.weight(missing: members[left].value)
          left += 1
        } else {
          if !ignoreExtraElements { count += JSONEquality.weight(others[right].value) }
          right += 1
        }
      }
      return count
    }

    /// A missing member may be ignored.
    private static func weight(missing expected: Expected) -> Int {
      if case .ignoreElement = expected.rule { 0 } else { expected.weight }
    }

    private mutating func ordered(
      _ elements: [Expected], _ others: [JSON], _ stopsAtFirst: Bool
    ) throws(CodedError) -> Int {
      let common = min(elements.count, others.count)
      var count = elements[common...].reduce(0) { $0 + $1.weight }
      if !ignoreExtraElements { count += others[common...].reduce(0) { $0 + JSONEquality.weight($1) } }
      for index in 0..<common {
        if stopsAtFirst, count > 0 { break }
        count += try differences(elements[index], others[index], stopsAtFirst: stopsAtFirst)
      }
      return count
    }

    private mutating func unordered(
      _ elements: [Expected], _ others: [JSON], _ stopsAtFirst: Bool
    ) throws(CodedError) -> Int {
      if stopsAtFirst, elements.count > others.count || !ignoreExtraElements && elements.count < others.count {
        return 1
      }
      // Pairs of identical values first: whatever else could be paired with one could also be paired with the other.
      var places: [JSON: [Int]] = [:]
      for (index, other) in others.enumerated().reversed() { places[other, default: []].append(index) }
      var missing: [Expected] = []
      for element in elements where !element.isLiteral || places[element.json]?.popLast() == nil {
        missing.append(element)
      }
      let extra = places.values.flatMap(\.self).sorted().map { others[$0] }
      let (unpaired, unused) = try unpaired(missing, extra)
      if stopsAtFirst { return unpaired.count + (ignoreExtraElements ? 0 : unused.count) }
      if elements.count == others.count, unpaired.count == 1, unused.count == 1 {
        return try differences(unpaired[0], unused[0], stopsAtFirst: false)
      }
      let count = unpaired.reduce(0) { $0 + $1.weight }
      return ignoreExtraElements ? count : count + unused.reduce(0) { $0 + JSONEquality.weight($1) }
    }

    /// What is left after pairing as many elements as possible (Kuhn's algorithm for bipartite matching).
    private mutating func unpaired(
      _ elements: [Expected], _ others: [JSON]
    ) throws(CodedError) -> ([Expected], [JSON]) {
      var candidates: [[Int]] = []
      for element in elements {
        var fitting: [Int] = []
        for (index, other) in others.enumerated()
        where try differences(element, other, stopsAtFirst: true) == 0 { fitting.append(index) }
        candidates.append(fitting)
      }
      var partner = [Int?](repeating: nil, count: others.count)
      var place = [Int?](repeating: nil, count: elements.count)
      var unpaired: [Expected] = []
      for first in elements.indices {
        // Searches for a chain of pairs to change, breadth first.
        var cameFrom = [Int?](repeating: nil, count: others.count)
        var queue = [first]
        var end: Int?
        var head = 0
        search: while head < queue.count {
          let element = queue[head]
          head += 1
          for other in candidates[element] where cameFrom[other] == nil {
            try spend()
            cameFrom[other] = element
            guard let next = partner[other] else {
              end = other
              break search
            }
            queue.append(next)
          }
        }
        guard var other = end else {
          unpaired.append(elements[first])
          continue
        }
        try spend(others.count / 64)
        while let element = cameFrom[other] {
          let previous = place[element]
          partner[other] = element
          place[element] = other
          guard element != first, let previous else { break }
          other = previous
        }
      }
      return (unpaired, others.indices.filter { partner[$0] == nil }.map { others[$0] })
    }
  }
}

extension [JSON.Member] {
  /// For members sorted by name: of those with the same name the last, which is the one that Java's parsers keep.
  fileprivate var lastOfEachName: [JSON.Member] {
    guard count > 1 else { return self }
    return indices.filter { $0 + 1 == count || !self[$0].key.hasSameBytes(as: self[$0 + 1].key) }.map { self[$0] }
  }
}
