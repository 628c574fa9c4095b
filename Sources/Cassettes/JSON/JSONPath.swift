package import LaunchContract

/// Places in a JSON value: the part of RFC 9535 that names them.
///
/// `$` and then any of `.name`, `['name']` (or in double quotes), `[n]` (from 0, or from -1 backwards), `.*` and `[*]`,
/// each also after `..` for any depth: `..name`, `..['name']`, `..[n]`, `..*`. Slices, filters and lists are refused.
///
/// A value is walked from its root, step by step, whether it lies in memory or streams by:
///
/// ```swift
/// let path = try JSONPath("$..ssn")
/// path.isAtEnd(path.enter(path.start, .name("ssn")))  // true
/// ```
package struct JSONPath: Sendable, Equatable, CustomStringConvertible {
  /// Where a value lies in the one that holds it.
  package enum Child: Sendable {
    case name(String)
    /// The count is nil as long as it is not known.
    case index(Int, of: Int?)
  }

  /// How far a path has come at one place: bit n says that n of its steps lead here.
  package struct Progress: Sendable {
    fileprivate var bits: UInt64
  }

  enum Selector: Sendable, Equatable {
    case name(String)
    /// From 0; below that from the end.
    case index(Int)
    case any
  }

  struct Step: Sendable, Equatable {
    var selector: Selector
    /// Whether it may lie at any depth from here.
    var isDeep: Bool
  }

  /// As it was written.
  package let description: String
  private let steps: [Step]

  /// - Parameter text: as in `$.orders[*].sentAt`.
  /// - Throws: `ContractError` with what is wrong.
  package init(_ text: String) throws(ContractError) {
    var reader = JSONPathReader(text)
    steps = try reader.steps()
    description = text
  }

  /// Whether it means the value as a whole.
  package var isWhole: Bool { steps.isEmpty }

  /// Whether it can only be followed where arrays are known to their ends.
  package var countsFromEnd: Bool {
    steps.contains { if case .index(let index) = $0.selector { index < 0 } else { false } }
  }

  /// At the root.
  package var start: Progress { Progress(bits: 1) }

  /// One step further down.
  ///
  /// With plain loops: all that is recorded or matched under a rule passes here, and what is generic takes a lock of the
  /// whole process in a debug build.
  package func enter(_ progress: Progress, _ child: Child) -> Progress {
    guard progress.bits != 0 else { return progress }
    var bits: UInt64 = 0
    var number = 0
    while number < steps.count {
      if progress.bits >> UInt64(number) & 1 == 1 {
        let step = steps[number]
        if step.isDeep { bits |= 1 << UInt64(number) }
        if step.selector.means(child) { bits |= 1 << UInt64(number + 1) }
      }
      number += 1
    }
    return Progress(bits: bits)
  }

  /// Whether a place is one of those that the path means.
  package func isAtEnd(_ progress: Progress) -> Bool {
    progress.bits >> UInt64(steps.count) & 1 == 1
  }
}

extension JSONPath.Selector {
  /// Names by bytes, as JSON's are compared.
  fileprivate func means(_ child: JSONPath.Child) -> Bool {
    switch (self, child) {
    case (.any, _): true
    case (.name(let name), .name(let other)): name.hasSameBytes(as: other)
    case (.index(let index), .index(let other, let count)):
      index == other || index < 0 && count.map { index == other - $0 } ?? false
    default: false
    }
  }
}

extension [JSONPath] {
  /// The value without all that the paths mean. A path that means the whole leaves it as it is.
  package func removed(from value: JSON) -> JSON {
    isEmpty ? value : removed(from: value, map(\.start))
  }

  private func removed(from value: JSON, _ progress: [JSONPath.Progress]) -> JSON {
    switch value {
    case .object(let members):
      var kept: [JSON.Member] = []
      for member in members {
        if let value = self.kept(member.value, .name(member.key), progress) {
          kept.append(.init(member.key, value))
        }
      }
      return .object(kept)
    case .array(let elements):
      var kept: [JSON] = []
      var index = 0
      while index < elements.count {
        if let value = self.kept(elements[index], .index(index, of: elements.count), progress) {
          kept.append(value)
        }
        index += 1
      }
      return .array(kept)
    default: return value
    }
  }

  /// Nil for what goes.
  private func kept(_ value: JSON, _ child: JSONPath.Child, _ progress: [JSONPath.Progress])
    -> JSON?
  {
    var next: [JSONPath.Progress] = []
    var leadsOn = false
    var number = 0
    while number < count {
      let entered = self[number].enter(progress[number], child)
      if self[number].isAtEnd(entered) { return nil }
      leadsOn = leadsOn || entered.bits != 0
      next.append(entered)
      number += 1
    }
    return leadsOn ? removed(from: value, next) : value
  }
}

/// Reads a JSON path.
struct JSONPathReader {
  /// As many steps as there are bits for in a ``JSONPath/Progress``, but for the start.
  private static let limit = 63
  /// What no name without quotes has in it: it stands for a part of RFC 9535 that is not known here, or for a mistake.
  private static let special: Set<Unicode.Scalar> = [
    "*", "]", "'", "\"", ",", "(", ")", "?", " ", "\t", "\n", "\r",
  ]

  private let text: String
  private var rest: Substring.UnicodeScalarView

  init(_ text: String) {
    self.text = text
    rest = text.unicodeScalars[...]
  }

  mutating func steps() throws(ContractError) -> [JSONPath.Step] {
    guard rest.popFirst() == "$" else { throw failure("it begins with $") }
    var steps: [JSONPath.Step] = []
    while let first = rest.popFirst() {
      let isDeep = first == "." && rest.first == "."
      if isDeep { rest.removeFirst() }
      if first == "[" || isDeep && rest.first == "[" {
        if isDeep { rest.removeFirst() }
        steps.append(.init(selector: try bracket(), isDeep: isDeep))
      } else if first == "." {
        steps.append(.init(selector: try name(), isDeep: isDeep))
      } else {
        throw failure("'\(first)' stands where a dot or a bracket belongs")
      }
      guard steps.count <= Self.limit else { throw failure("it has more than \(Self.limit) steps") }
    }
    return steps
  }

  /// What follows a dot.
  private mutating func name() throws(ContractError) -> JSONPath.Selector {
    let name = rest.prefix { $0 != "." && $0 != "[" }
    rest = rest[name.endIndex...]
    guard !name.isEmpty else { throw failure("a name is missing after a dot") }
    if name.elementsEqual(["*"]) { return .any }
    if let special = name.first(where: { Self.special.contains($0) }) {
      throw failure(
        "a name with \(special.properties.isWhitespace ? "white space" : "'\(special)'") in it stands in brackets and quotes"
      )
    }
    return .name(String(name))
  }

  /// What follows a bracket, up to the closing one.
  private mutating func bracket() throws(ContractError) -> JSONPath.Selector {
    let selector: JSONPath.Selector
    if let quote = rest.first, quote == "'" || quote == "\"" {
      rest.removeFirst()
      selector = .name(try quoted(quote))
    } else {
      let inside = rest.prefix { $0 != "]" }
      rest = rest[inside.endIndex...]
      if inside.elementsEqual(["*"]) {
        selector = .any
      } else if let index = Int32(String(inside)) {
        selector = .index(Int(index))
      } else {
        throw failure(
          "in brackets stands a quoted name, a number or *, not '\(String(inside).prefix(40))'")
      }
    }
    guard rest.popFirst() == "]" else {
      throw failure("a bracket is not closed after one name or number")
    }
    return selector
  }

  private mutating func quoted(_ quote: Unicode.Scalar) throws(ContractError) -> String {
    var name = ""
    while let scalar = rest.popFirst() {
      if scalar == quote { return name }
      guard scalar == "\\" else {
        name.unicodeScalars.append(scalar)
        continue
      }
      guard let escaped = rest.popFirst(), escaped == quote || escaped == "\\" else {
        throw failure("in a name only the quote and the backslash are escaped")
      }
      name.unicodeScalars.append(escaped)
    }
    throw failure("a name's closing quote is missing")
  }

  private func failure(_ problem: String) -> ContractError {
    ContractError("'\(text.prefix(80))' is no JSON path: \(problem), as in $.orders[*].sentAt")
  }
}
