import Basics
import Cassettes

/// One evaluation of a ``JSONPathQuery``.
struct JSONPathEvaluation {
  typealias Query = JSONPathQuery

  /// The maximum number of values looked at, which ends queries such as `$..[*]..[*]..[*]`.
  private static let maximumSteps = 5_000_000
  private static let maximumPatterns = 1_000

  private let root: JSON
  private let isLenient: Bool
  private let description: String
  private var steps = 0
  /// Whether an operator of Jayway got a value that it does not take, which drops the value being tested.
  private var hasFailed = false
  private var budget: PatternBudget?
  /// Patterns from the document, with whether each has to match the whole text.
  private var patterns: [String: TextPattern?] = [:]

  init(_ root: JSON, _ dialect: Query.Dialect, _ description: String) {
    self.root = root
    isLenient = dialect == .wireMock
    self.description = description
  }

  private mutating func spend(_ count: Int = 1) throws(CodedError) {
    steps += count
    guard steps <= Self.maximumSteps else {
      throw CodedError(
        .broken,
        "the JSON path '\(description.prefix(80))' takes more than \(Self.maximumSteps) steps; use fewer '..' and '*'")
    }
  }

  // MARK: Paths

  /// The result as Jayway gives it; nil if there is none.
  mutating func value(_ path: Query.Path, from current: JSON) throws(CodedError) -> JSON? {
    guard let nodes = try nodes(path, from: current) else { return nil }
    return path.isDefinite ? nodes.last : .array(nodes)
  }

  /// The selected values; nil if the path is definite, or begins so, and that part selects nothing. If strict, every property
  /// has to exist, as in Jayway's tests of existence.
  mutating func nodes(
    _ path: Query.Path, from current: JSON, isStrict: Bool = false
  ) throws(CodedError) -> [JSON]? {
    var nodes = [path.isRelative ? current : root]
    var isDefinite = true
    for segment in path.segments {
      var next: [JSON] = []
      switch segment {
      case .child(let selectors):
        for node in nodes {
          var mismatches = 0
          for selector in selectors {
            try spend()
            switch try select(selector, node, isStrict: isStrict, into: &next) {
            case .selected: break
            case .absent: if isLenient, isStrict || isDefinite && segment.isDefinite { return nil }
            case .mismatched: mismatches += 1
            }
          }
          if isLenient, isDefinite, mismatches == selectors.count {
            if case .itemFilter = selectors[0] { hasFailed = true }
            return nil
          }
        }
      case .descendant(let selectors):
        for node in nodes { try selectBelow(node, selectors, into: &next) }
      case .call(let name, let arguments):
        for node in nodes {
          guard let result = try call(name, arguments, on: node, from: current) else { return nil }
          next.append(result)
        }
      }
      isDefinite = isDefinite && segment.isDefinite
      nodes = next
    }
    return isDefinite && nodes.isEmpty ? nil : nodes
  }

  private enum Selection {
    case selected
    /// The object does not have the member.
    case absent
    /// The value is not of the kind that the selector needs.
    case mismatched
  }

  /// Appends what a selector selects.
  private mutating func select(
    _ selector: Query.Selector, _ node: JSON, isStrict: Bool = false, into nodes: inout [JSON]
  ) throws(CodedError) -> Selection {
    switch (selector, node) {
    case (.name(let name), .object(let members)):
      try spend(members.count / 8)
      guard let value = members.last(named: name) else { return .absent }
      nodes.append(value)
    case (.merged(let names), .object(let members)):
      if isStrict, names.contains(where: { members.last(named: $0) == nil }) { return .absent }
      nodes.append(.object(names.compactMap { name in members.last(named: name).map { .init(name, $0) } }))
    case (.index(let index), .array(let elements)):
      let index = index < 0 ? elements.count + index : index
      if elements.indices.contains(index) { nodes.append(elements[index]) }
    case (.slice(let start, let end, let step), .array(let elements)):
      for index in Self.slice(start, end, step, elements.count) {
        try spend()
        nodes.append(elements[index])
      }
    case (.wildcard, .object(let members)):
      try spend(members.count)
      nodes += members.map(\.value)
    case (.wildcard, .array(let elements)):
      try spend(elements.count)
      nodes += elements
    case (.wildcard, _): break
    case (.filter(let expression), .object(let members)):
      for member in members where try holds(expression, member.value) { nodes.append(member.value) }
    case (.filter(let expression), .array(let elements)):
      for element in elements where try holds(expression, element) { nodes.append(element) }
    case (.filter, _): break
    case (.itemFilter(let expression), .array(let elements)):
      for element in elements where try accepts(expression, element) { nodes.append(element) }
    case (.itemFilter(let expression), .object):
      if try accepts(expression, node) { nodes.append(node) }
    default: return .mismatched
    }
    return .selected
  }

  /// Applies selectors to a value and to everything in it, outer values first.
  private mutating func selectBelow(
    _ node: JSON, _ selectors: [Query.Selector], into nodes: inout [JSON]
  ) throws(CodedError) {
    // Not recursive, since values can be nested deeply and some threads have a small stack.
    var open = [node]
    while let node = open.popLast() {
      try spend()
      for selector in selectors {
        switch (selector, node) {
        case (.merged(let names), .object(let members)):
          // Jayway skips objects that lack one of the names.
          if names.contains(where: { members.last(named: $0) == nil }) { continue }
        case (.itemFilter(let expression), .array):
          // Jayway looks at the elements of an array only if the array itself fits; objects in it come later anyway.
          guard try accepts(expression, node) else { continue }
        default: break
        }
        _ = try select(selector, node, into: &nodes)
      }
      switch node {
      case .object(let members):
        try spend(members.count)
        for member in members.reversed() { open.append(member.value) }
      case .array(let elements):
        try spend(elements.count)
        open += elements.reversed()
      default: break
      }
    }
  }

  /// The indexes of a slice (RFC 9535, 2.3.4.2.2).
  private static func slice(_ start: Int?, _ end: Int?, _ step: Int, _ count: Int) -> StrideTo<Int> {
    func normal(_ index: Int) -> Int { index < 0 ? count + index : index }
    guard step != 0 else { return stride(from: 0, to: 0, by: 1) }
    if step > 0 {
      return stride(
        from: min(max(normal(start ?? 0), 0), count), to: min(max(normal(end ?? count), 0), count), by: step)
    }
    return stride(
      from: min(max(start.map(normal) ?? count - 1, -1), count - 1),
      to: min(max(end.map(normal) ?? -1, -1), count - 1), by: step)
  }

  // MARK: Conditions

  private mutating func accepts(_ expression: Query.Expression, _ node: JSON) throws(CodedError) -> Bool {
    let hadFailed = hasFailed
    hasFailed = false
    defer { hasFailed = hadFailed }
    return try holds(expression, node) && !hasFailed
  }

  private mutating func holds(_ expression: Query.Expression, _ node: JSON) throws(CodedError) -> Bool {
    try spend()
    switch expression {
    case .or(let terms):
      for term in terms where try holds(term, node) { return true }
      return false
    case .and(let terms):
      for term in terms where try !holds(term, node) { return false }
      return true
    case .not(let term): return try !holds(term, node)
    case .exists(let path):
      guard isLenient else { return try nodes(path, from: node)?.isEmpty == false }
      // Jayway's rule: an indefinite path exists, even if it selects nothing.
      guard let found = try nodes(path, from: node, isStrict: true) else { return false }
      return !path.isDefinite || !found.isEmpty
    case .comparison(let left, let comparison, let right):
      if isLenient { return try jaywayComparison(left, comparison, right, node) }
      return Self.standardComparison(try value(left, node), comparison, try value(right, node))
    case .test(let function, let arguments):
      guard case .string(let text) = try value(arguments[0], node),
        case .string(let pattern) = try value(arguments[1], node)
      else { return false }
      return try matches(text, pattern, isWhole: function == .match)
    }
  }

  /// The value of an operand; nil for nothing.
  private mutating func value(_ operand: Query.Operand, _ node: JSON) throws(CodedError) -> JSON? {
    switch operand {
    case .literal(let value): return value
    case .pattern: return nil
    case .path(let path):
      return isLenient ? try value(path, from: node) : try nodes(path, from: node)?.first
    case .call(let function, let arguments):
      if function.takesNodes, case .path(let path) = arguments[0] {
        let nodes = try nodes(path, from: node) ?? []
        return function == .count ? .int(nodes.count) : nodes.count == 1 ? nodes[0] : nil
      }
      switch try value(arguments[0], node) {
      case .string(let text): return .int(text.unicodeScalars.count)
      case .array(let elements): return .int(elements.count)
      case .object(let members): return .int(members.count)
      default: return nil
      }
    }
  }

  /// RFC 9535, 2.3.5.2.2.
  private static func standardComparison(_ left: JSON?, _ comparison: Query.Operator, _ right: JSON?) -> Bool {
    switch comparison {
    case .equal: areEqual(left, right)
    case .unequal: !areEqual(left, right)
    case .less: isLess(left, right)
    case .greater: isLess(right, left)
    case .lessOrEqual: isLess(left, right) || areEqual(left, right)
    case .greaterOrEqual: isLess(right, left) || areEqual(left, right)
    default: false
    }
  }

  private static func areEqual(_ left: JSON?, _ right: JSON?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return CanonicalJSON.areSame(left, right)
  }

  private static func isLess(_ left: JSON?, _ right: JSON?) -> Bool {
    switch (left, right) {
    case (.number(let left), .number(let right)):
      !CanonicalJSON.areSame(.number(left), .number(right)) && (Double(left) ?? 0) < (Double(right) ?? 0)
    case (.string(let left), .string(let right)):
      left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars)
    default: false
    }
  }

  private mutating func jaywayComparison(
    _ left: Query.Operand, _ comparison: Query.Operator, _ right: Query.Operand, _ node: JSON
  ) throws(CodedError) -> Bool {
    if comparison == .matches {
      switch (left, right) {
      case (.pattern(let pattern), let other), (let other, .pattern(let pattern)):
        if case .pattern = other { return false }
        return try matches(Self.text(try value(other, node)), pattern)
      default: return false
      }
    }
    let left = try value(left, node)
    let right = try value(right, node)
    switch comparison {
    case .equal: return Self.areLooselyEqual(left, right)
    case .unequal: return !Self.areLooselyEqual(left, right)
    case .identical: return Self.haveSameType(left, right) && Self.areLooselyEqual(left, right)
    case .unidentical: return !(Self.haveSameType(left, right) && Self.areLooselyEqual(left, right))
    case .less: return Self.isLess(left, right)
    case .greater: return Self.isLess(right, left)
    case .lessOrEqual: return Self.isOrdered(left, right) && !Self.isLess(right, left)
    case .greaterOrEqual: return Self.isOrdered(left, right) && !Self.isLess(left, right)
    case .size:
      switch (left, right?.double) {
      case (.string(let text), let size?): return Double(text.utf16.count) == size.rounded(.towardZero)
      case (.array(let elements), let size?): return Double(elements.count) == size.rounded(.towardZero)
      default: return false
      }
    case .empty:
      guard let expected = right?.bool else { return fail() }
      switch left {
      case .string(let text): return text.isEmpty == expected
      case .array(let elements): return elements.isEmpty == expected
      case .object(let members): return members.isEmpty == expected
      default: return false
      }
    case .contains:
      if case .string(let text) = left, case .string(let part) = right {
        return text.utf8.contains(part.utf8)
      }
      return Self.contains(left?.array ?? [], right)
    case .isIn, .isNotIn:
      guard let list = right?.array else { return right?.object == nil ? fail() : comparison == .isNotIn }
      try spend(list.count)
      return Self.contains(list, left) == (comparison == .isIn)
    case .all, .subsetof, .anyof, .noneof:
      guard let left = left?.array, let right = right?.array else {
        return left?.object == nil && left?.array == nil || right?.object == nil && right?.array == nil ? fail() : false
      }
      try spend(left.count * right.count)
      switch comparison {
      case .all: return right.allSatisfy { Self.contains(left, $0) }
      case .subsetof: return left.allSatisfy { Self.contains(right, $0) }
      case .anyof: return left.contains { Self.contains(right, $0) }
      default: return !left.contains { Self.contains(right, $0) }
      }
    case .matches: return false
    }
  }

  private mutating func fail() -> Bool {
    hasFailed = true
    return false
  }

  /// Jayway's equality: numbers equal strings of the same value, and what is missing equals nothing.
  private static func areLooselyEqual(_ left: JSON?, _ right: JSON?) -> Bool {
    switch (left, right) {
    case (nil, _), (_, nil): false
    case (.string(let text), .number(let number)): text.hasSameBytes(as: number)
    case (.number, .string(let text)): (try? JSON.parse(Array(text.utf8))).map { areEqual(left, $0) } ?? false
    default: areEqual(left, right)
    }
  }

  private static func contains(_ list: [JSON], _ value: JSON?) -> Bool { list.contains { areLooselyEqual($0, value) } }

  private static func haveSameType(_ left: JSON?, _ right: JSON?) -> Bool {
    switch (left, right) {
    case (.null, .null), (.bool, .bool), (.number, .number), (.string, .string): true
    case (.array, .array), (.object, .object), (.array, .object), (.object, .array): true
    default: false
    }
  }

  private static func isOrdered(_ left: JSON?, _ right: JSON?) -> Bool {
    switch (left, right) {
    case (.number, .number), (.string, .string): true
    default: false
    }
  }

  /// What `=~` is applied to.
  private static func text(_ value: JSON?) -> String {
    switch value {
    case .string(let text), .number(let text): text
    case .bool(let value): "\(value)"
    default: ""
    }
  }

  // MARK: Patterns

  private mutating func matches(_ text: String, _ source: String, isWhole: Bool) throws(CodedError) -> Bool {
    let key = (isWhole ? "w" : "p") + source
    if patterns.count > Self.maximumPatterns { patterns = [:] }
    let pattern = patterns[key] ?? IRegexp.translated(source).flatMap { try? TextPattern($0, isWhole: isWhole) }
    patterns[key] = .some(pattern)
    guard let pattern else { return false }
    return try matches(text, pattern)
  }

  private mutating func matches(_ text: String, _ pattern: TextPattern) throws(CodedError) -> Bool {
    try spend(1 + text.utf8.count / 8)
    let budget = budget ?? PatternBudget()
    self.budget = budget
    return try pattern.matches(text, budget)
  }

  // MARK: Functions at the end of a path

  /// The result of a function; nil if it is an error in Jayway.
  private mutating func call(
    _ name: String, _ arguments: [Query.Operand], on node: JSON, from current: JSON
  ) throws(CodedError) -> JSON? {
    if name == "length" || name == "size" {
      // The number of children of what the argument selects.
      if case .path(var path)? = arguments.first {
        let isCall = if case .call? = path.segments.last { true } else { false }
        if !isCall { path.segments.append(.child([.wildcard])) }
        if let counted = try value(path, from: current)?.array { return .int(counted.count) }
      }
      return (node.array?.count ?? node.object?.count).map { .int($0) } ?? .null
    }
    var values: [JSON] = []
    for argument in arguments { if let value = try value(argument, current) { values.append(value) } }
    let all = (node.array ?? []) + values.flatMap { $0.array ?? [$0] }
    try spend(all.count)
    switch name {
    case "keys": return node.object.map { .array($0.map { .string($0.key) }) } ?? .null
    case "append": return node.array.map { .array($0 + values) } ?? node
    case "concat":
      let own = (node.array ?? []).compactMap(\.string)
      return .string((own + values.flatMap { $0.array ?? [$0] }.filter { $0 != .null }.map(\.text)).joined())
    case "first": return node.array?.first
    case "last": return node.array?.last
    case "index":
      guard let elements = node.array, let index = values.first?.int else { return nil }
      let place = index < 0 ? elements.count + index : index
      return elements.indices.contains(place) ? elements[place] : nil
    default:
      let numbers = all.compactMap(\.double)
      guard let first = numbers.first else { return nil }
      let sum = numbers.reduce(0, +)
      let mean = sum / Double(numbers.count)
      switch name {
      case "min": return .double(numbers.reduce(first, min))
      case "max": return .double(numbers.reduce(first, max))
      case "sum": return .double(sum)
      case "avg": return .double(mean)
      default:
        let squares = numbers.reduce(0) { $0 + $1 * $1 } / Double(numbers.count)
        return .double(max(0, squares - mean * mean).squareRoot())
      }
    }
  }
}

extension [JSON.Member] {
  /// The value of the last member with a name, which is the one that Java's parsers keep.
  func last(named name: String) -> JSON? { last { $0.key.hasSameBytes(as: name) }?.value }
}
