package import Basics
import LaunchContract

extension Schema {
  /// Returns the first problem of a value, with its location, in one line.
  ///
  /// The message doesn't quote strings of the value, since they may be secrets.
  ///
  /// - Parameters:
  ///   - value: the value that was sent.
  ///   - place: the path of the value, such as `clock.rate`; empty for the whole body.
  /// - Returns: nil if the value is valid.
  package func problem(with value: JSON, at place: String = "") -> String? {
    switch self {
    case .anything: return nil
    case .boolean: return value.bool == nil ? mismatch(value, at: place) : nil
    case .integer(let range):
      guard let number = value.int else { return mismatch(value, at: place) }
      return range ~= number
        ? nil : Self.at(place, "\(number) is not between \(range.lowerBound) and \(range.upperBound)")
    case .number(let range):
      guard let number = value.double else { return mismatch(value, at: place) }
      return range ~= number
        ? nil
        : Self.at(
          place,
          "\(Self.text(number)) is not between \(Self.text(range.lowerBound)) and \(Self.text(range.upperBound))")
    case .text(let rule):
      guard let text = value.string else { return mismatch(value, at: place) }
      return rule.problem(with: text).map { Self.at(place, $0) }
    case .array(let element, let count):
      guard let elements = value.array else { return mismatch(value, at: place) }
      guard count ~= elements.count else {
        return Self.at(
          place, "\(elements.count) elements are not between \(count.lowerBound) and \(count.upperBound)")
      }
      return first(elements.enumerated()) { element.problem(with: $0.element, at: "\(place)[\($0.offset)]") }
    case .map(let rule): return problem(with: value, rule, at: place)
    case .object(let rule): return problem(with: value, rule, at: place)
    case .named(_, let schema): return schema().problem(with: value, at: place)
    case .shorthand(let rule, let object):
      if let text = value.string { return rule.problem(with: text).map { Self.at(place, $0) } }
      return problem(with: value, object, at: place)
    case .nullable(let schema): return value == .null ? nil : schema.problem(with: value, at: place)
    }
  }

  /// Without the fraction of a whole number.
  private static func text(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }

  private func problem(with value: JSON, _ rule: MapRule, at place: String) -> String? {
    guard let members = value.object else { return mismatch(value, at: place) }
    guard members.count <= rule.most else {
      return Self.at(place, "\(members.count) members are too many; the maximum is \(rule.most)")
    }
    return repeated(members, at: place)
      ?? first(members) { member in
        let inner = Self.inner(place, member.key)
        return rule.names.problem(with: member.key).map {
          Self.at(inner, rule.names.form == .origin ? $0 : "invalid name: \($0)")
        }
          ?? rule.values.problem(with: member.value, at: inner)
      }
  }

  private func problem(with value: JSON, _ rule: ObjectRule, at place: String) -> String? {
    guard let members = value.object else { return mismatch(value, at: place) }
    if let problem = repeated(members, at: place) { return problem }
    for member in members where !rule.members.contains(where: { $0.name == member.key }) {
      return Self.at(Self.inner(place, member.key), "unknown member; \(rule.advice(on: member.key))")
    }
    for member in rule.members {
      guard let value = value[member.name] else {
        if member.isRequired { return Self.at(place, "'\(member.name)' is missing") }
        continue
      }
      if let problem = member.schema.problem(with: value, at: Self.inner(place, member.name)) { return problem }
    }
    guard !rule.exactlyOne.isEmpty else { return nil }
    let given = rule.exactlyOne.filter { value[$0] != nil }
    let names = rule.exactlyOne.dropLast().joined(separator: ", ") + " and " + (rule.exactlyOne.last ?? "")
    return given.count == 1
      ? nil
      : Self.at(
        place, "give exactly one of \(names)\(given.count == 2 && rule.exactlyOne.count == 2 ? ", not both" : "")")
  }

  /// Refuses repeated members, since parsers differ in which one they use.
  private func repeated(_ members: [JSON.Member], at place: String) -> String? {
    var seen = Set<String>()
    return first(members) {
      seen.insert($0.key).inserted ? nil : Self.at(Self.inner(place, $0.key), "the member is given twice")
    }
  }

  private func first<Elements: Sequence>(_ elements: Elements, _ problem: (Elements.Element) -> String?) -> String? {
    for element in elements {
      if let problem = problem(element) { return problem }
    }
    return nil
  }

  private func mismatch(_ value: JSON, at place: String) -> String {
    Self.at(place, "expected \(kind), not \(value.kind)")
  }

  private static func at(_ place: String, _ problem: String) -> String {
    place.isEmpty ? problem : "\(place): \(problem)"
  }

  /// Appends a name to a path, shortened and on one line.
  private static func inner(_ place: String, _ name: String) -> String {
    let cut = String(name.unicodeScalars.prefix(80).map { $0.value < 0x20 ? " " : Character($0) })
    return place.isEmpty ? cut : "\(place).\(cut)"
  }

  /// For messages such as `expected a number, not a string`.
  private var kind: String {
    switch self {
    case .anything: "anything"
    case .boolean: "true or false"
    case .integer: "a 64-bit integer"
    case .number: "a number"
    case .text: "a string"
    case .array: "an array"
    case .map, .object, .named: "an object"
    case .shorthand: "a string or an object"
    case .nullable(let schema): "\(schema.kind) or null"
    }
  }
}

extension ObjectRule {
  fileprivate func advice(on name: String) -> String {
    let names = members.map(\.name)
    let likely = EditDistance.likely(name, among: names)
    return (likely.map { "did you mean '\($0)'? The" } ?? "the") + " members are \(names.joined(separator: ", "))"
  }
}

extension JSON {
  /// For messages.
  fileprivate var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
