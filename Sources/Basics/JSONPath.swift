/// A JSON path: a subset of RFC 9535.
///
/// `$` followed by any of `.name`, `['name']` (or in double quotes), `[n]` (from 0; negative numbers count from the
/// end), `.*` and `[*]`. Each can follow `..` to match at any depth: `..name`, `..['name']`, `..[n]`, `..*`. Slices,
/// filters and lists are not supported.
///
/// A path is followed from the root, one step at a time, in memory or in a stream:
///
/// ```swift
/// let path = try JSONPath("$..ssn")
/// path.isAtEnd(path.enter(path.start, .name("ssn")))  // true
/// ```
package struct JSONPath: Sendable, Equatable, CustomStringConvertible {
  /// The position of a value in its container.
  package enum Child: Sendable {
    case name(String)
    /// The count is nil while unknown.
    case index(Int, of: Int?)
  }

  /// The state of following a path: bit n is set if its first n steps match here.
  package struct Progress: Sendable {
    fileprivate var bits: UInt64
  }

  enum Selector: Sendable, Equatable {
    case name(String)
    /// From 0; negative numbers count from the end.
    case index(Int)
    case any
  }

  struct Step: Sendable, Equatable {
    var selector: Selector
    /// Whether it matches at any depth below.
    var isDeep: Bool
  }

  /// The path as written.
  package let description: String
  private let steps: [Step]

  /// - Parameter text: a path such as `$.orders[*].sentAt`.
  /// - Throws: ``CodedError`` that explains the problem.
  package init(_ text: String) throws(CodedError) {
    var reader = JSONPathReader(text)
    steps = try reader.steps()
    description = text
  }

  /// Whether the path selects the whole value.
  package var isWhole: Bool { steps.isEmpty }

  /// Whether a step counts from the end, which requires the lengths of arrays.
  package var countsFromEnd: Bool {
    steps.contains { if case .index(let index) = $0.selector { index < 0 } else { false } }
  }

  /// The state at the root.
  package var start: Progress { Progress(bits: 1) }

  /// Descends one step.
  ///
  /// Uses plain loops because every value matched or recorded under a rule passes here, and generic code takes a
  /// process-wide lock in debug builds.
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

  /// Whether the path selects this value.
  package func isAtEnd(_ progress: Progress) -> Bool {
    progress.bits >> UInt64(steps.count) & 1 == 1
  }
}

extension JSONPath.Selector {
  /// Names are compared by bytes, as in JSON.
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
  /// Removes everything that the paths select. A path that selects the whole value has no effect.
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

  /// Nil if the value is removed.
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

/// Parses a JSON path.
struct JSONPathReader {
  /// The number of bits in a ``JSONPath/Progress``, except the one for the root.
  private static let limit = 63
  /// Characters not allowed in an unquoted name: they belong to unsupported parts of RFC 9535, or indicate a mistake.
  private static let special: Set<Unicode.Scalar> = [
    "*", "]", "'", "\"", ",", "(", ")", "?", " ", "\t", "\n", "\r",
  ]

  private let text: String
  private var rest: Substring.UnicodeScalarView

  init(_ text: String) {
    self.text = text
    rest = text.unicodeScalars[...]
  }

  mutating func steps() throws(CodedError) -> [JSONPath.Step] {
    guard rest.popFirst() == "$" else { throw failure("it must begin with $") }
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
        throw failure("'\(first)' found where a dot or a bracket is expected")
      }
      guard steps.count <= Self.limit else { throw failure("it has more than \(Self.limit) steps") }
    }
    return steps
  }

  /// Parses the name after a dot.
  private mutating func name() throws(CodedError) -> JSONPath.Selector {
    let name = rest.prefix { $0 != "." && $0 != "[" }
    rest = rest[name.endIndex...]
    guard !name.isEmpty else { throw failure("a name is missing after a dot") }
    if name.elementsEqual(["*"]) { return .any }
    if let special = name.first(where: { Self.special.contains($0) }) {
      throw failure(
        "a name that contains \(special.properties.isWhitespace ? "white space" : "'\(special)'") must be quoted in brackets"
      )
    }
    return .name(String(name))
  }

  /// Parses a bracket up to the closing one.
  private mutating func bracket() throws(CodedError) -> JSONPath.Selector {
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
          "brackets must contain a quoted name, a number or *, not '\(String(inside).prefix(40))'")
      }
    }
    guard rest.popFirst() == "]" else {
      throw failure("a bracket is not closed after one name or number")
    }
    return selector
  }

  private mutating func quoted(_ quote: Unicode.Scalar) throws(CodedError) -> String {
    var name = ""
    while let scalar = rest.popFirst() {
      if scalar == quote { return name }
      guard scalar == "\\" else {
        name.unicodeScalars.append(scalar)
        continue
      }
      guard let escaped = rest.popFirst(), escaped == quote || escaped == "\\" else {
        throw failure("only the quote and the backslash can be escaped in a name")
      }
      name.unicodeScalars.append(escaped)
    }
    throw failure("a name's closing quote is missing")
  }

  private func failure(_ problem: String) -> CodedError {
    CodedError(
      .usage, "'\(text.prefix(80))' is not a valid JSON path: \(problem); example: $.orders[*].sentAt")
  }
}
