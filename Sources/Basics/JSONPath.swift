/// A JSON path: RFC 9535 without slices and filters.
///
/// `$` followed by any of `.name`, `['name']` (or in double quotes), `[n]` (from 0; negative numbers count from the
/// end), `.*` and `[*]`. Each can follow `..` to match at any depth: `..name`, `..['name']`, `..[n]`, `..*`. Brackets
/// can contain several of these, as in `['id', 'token']` or `[0, -1]`.
///
/// A path is followed from the root, one step at a time, in memory or in a stream:
///
/// ```swift
/// let path = try JSONPath("$..ssn")
/// path.isAtEnd(path.enter(path.start, .name("ssn")))  // true
/// ```
package struct JSONPath: Sendable, Equatable, CustomStringConvertible {
  /// The position of a value in its container.
  package enum Child: Sendable, Equatable {
    case name(String)
    /// The count is nil while unknown.
    case index(Int, of: Int?)
  }

  /// The state of following a path: bit n is set if its first n steps match here.
  package struct Progress: Sendable {
    fileprivate var bits: UInt64

    /// Whether the path may select a value here or below.
    package var leadsOn: Bool { bits != 0 }
  }

  enum Selector: Sendable, Equatable {
    case name(String)
    /// From 0; negative numbers count from the end.
    case index(Int)
    case any
    case field(FieldNames)
  }

  struct Step: Sendable, Equatable {
    /// Any of these matches.
    var selectors: [Selector]
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

  /// The text of a path to one value.
  package static func text(_ steps: some Sequence<Child>) -> String {
    steps.reduce(into: "$") { text, step in
      switch step {
      case .index(let index, _): text += "[\(index)]"
      case .name(let name):
        let isPlain = name.unicodeScalars.first.map { !("0"..."9").contains($0) } ?? false
        if isPlain, name.unicodeScalars.allSatisfy(JSONPathReader.isNamePart) {
          text += "." + name
        } else {
          text += "[\(String(decoding: JSON.string(name).encoded(), as: UTF8.self))]"
        }
      }
    }
  }

  /// A path that selects the members with these names at any depth.
  ///
  /// - Parameters:
  ///   - names: the names.
  ///   - description: how to show the path.
  package init(anywhere names: FieldNames, description: String) {
    steps = [Step(selectors: [.field(names)], isDeep: true)]
    self.description = description
  }

  /// Whether the path selects the whole value.
  package var isWhole: Bool { steps.isEmpty }

  /// Whether a step counts from the end, which requires the lengths of arrays.
  package var countsFromEnd: Bool {
    steps.contains { step in
      step.selectors.contains { if case .index(let index) = $0 { index < 0 } else { false } }
    }
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
        var choice = 0
        while choice < step.selectors.count {
          if step.selectors[choice].means(child) { bits |= 1 << UInt64(number + 1) }
          choice += 1
        }
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
    case (.field(let names), .name(let other)): names.contains(other)
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

/// Parses a JSON path by the grammar of RFC 9535.
struct JSONPathReader {
  /// The number of bits in a ``JSONPath/Progress``, except the one for the root.
  private static let limit = 63
  /// The largest integer that every JSON implementation holds exactly (RFC 7493, 2.2).
  private static let largest = (1 << 53) - 1

  private let text: String
  private var rest: Substring.UnicodeScalarView

  init(_ text: String) {
    self.text = text
    rest = text.unicodeScalars[...]
  }

  mutating func steps() throws(CodedError) -> [JSONPath.Step] {
    guard skip("$") else { throw failure("it must begin with $") }
    var steps: [JSONPath.Step] = []
    while !rest.isEmpty {
      skipBlanks()
      guard !rest.isEmpty else { throw failure("it ends with white space") }
      let hasDot = skip(".")
      let isDeep = hasDot && skip(".")
      if rest.first == "[", isDeep || !hasDot {
        steps.append(.init(selectors: try bracket(), isDeep: isDeep))
      } else if hasDot {
        steps.append(.init(selectors: [try name()], isDeep: isDeep))
      } else {
        throw failure("'\(rest[rest.startIndex])' found where a dot or a bracket is expected")
      }
      guard steps.count <= Self.limit else { throw failure("it has more than \(Self.limit) steps") }
    }
    return steps
  }

  /// Parses the name after a dot.
  private mutating func name() throws(CodedError) -> JSONPath.Selector {
    if skip("*") { return .any }
    let name = rest.prefix { Self.isNamePart($0) }
    rest = rest[name.endIndex...]
    if let next = rest.first, !".[ \t\n\r".unicodeScalars.contains(next) {
      throw failure("a name that contains \(Self.shown(next)) must be quoted in brackets")
    }
    guard let first = name.first else { throw failure("a name is missing after a dot") }
    guard !("0"..."9").contains(first) else {
      throw failure(
        "a name that begins with a digit must be quoted in brackets, and an index is written [\(String(name))]")
    }
    return .name(String(name))
  }

  fileprivate static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: scalar.value >= 0x80
    }
  }

  private static func shown(_ scalar: Unicode.Scalar) -> String {
    scalar.value < 0x20 || scalar.value == 0x7F ? "a control character" : "'\(scalar)'"
  }

  /// Parses a bracket with one or more selectors.
  private mutating func bracket() throws(CodedError) -> [JSONPath.Selector] {
    rest.removeFirst()
    var selectors: [JSONPath.Selector] = []
    repeat {
      skipBlanks()
      selectors.append(try selector())
      skipBlanks()
    } while skip(",")
    if rest.first == ":" { throw failure("slices are not supported: list the indexes, or use [*]") }
    guard skip("]") else { throw failure("a bracket is not closed after a name, a number or *") }
    return selectors
  }

  private mutating func selector() throws(CodedError) -> JSONPath.Selector {
    switch rest.first {
    case "'", "\"": return .name(try quoted(rest.removeFirst()))
    case "*":
      rest.removeFirst()
      return .any
    case "?": throw failure("filters are not supported: select by names and indexes")
    case ":": throw failure("slices are not supported: list the indexes, or use [*]")
    default: return .index(try index())
    }
  }

  private mutating func index() throws(CodedError) -> Int {
    let inside = rest.prefix { !"],: \t\n\r".unicodeScalars.contains($0) }
    let digits = inside.first == "-" ? inside.dropFirst() : inside
    guard !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }) else {
      let found = inside.isEmpty ? "" : ", not '\(String(inside).prefix(40))'"
      throw failure("brackets must contain quoted names, numbers or *\(found)")
    }
    guard digits.first != "0" || digits.count == 1 && inside.count == 1 else {
      throw failure("an index is written without leading zeros and without -0, not '\(String(inside).prefix(40))'")
    }
    guard let index = Int(String(inside)), abs(index) <= Self.largest else {
      throw failure("an index is at most 2^53 - 1, not '\(String(inside).prefix(40))'")
    }
    rest = rest[inside.endIndex...]
    return index
  }

  /// Parses a quoted name up to its closing quote.
  private mutating func quoted(_ quote: Unicode.Scalar) throws(CodedError) -> String {
    var name = ""
    while let scalar = rest.popFirst() {
      if scalar == quote { return name }
      guard scalar.value >= 0x20 else {
        throw failure("a name contains a control character, which must be escaped")
      }
      name.unicodeScalars.append(scalar == "\\" ? try escaped(quote) : scalar)
    }
    throw failure("a name's closing quote is missing")
  }

  /// Parses what follows a backslash.
  private mutating func escaped(_ quote: Unicode.Scalar) throws(CodedError) -> Unicode.Scalar {
    switch rest.popFirst() {
    case "b": return "\u{8}"
    case "f": return "\u{C}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "/": return "/"
    case "\\": return "\\"
    case quote?: return quote
    case "u":
      let first = try codeUnit()
      if let scalar = Unicode.Scalar(first) { return scalar }
      guard UTF16.isLeadSurrogate(first), skip("\\"), skip("u") else { break }
      let second = try codeUnit()
      guard UTF16.isTrailSurrogate(second),
        let scalar = Unicode.Scalar(0x10000 + (UInt32(first) & 0x3FF) << 10 + UInt32(second) & 0x3FF)
      else { break }
      return scalar
    default:
      throw failure(#"after a backslash in a name, only \b \f \n \r \t \/ \\ \uXXXX and the quote are allowed"#)
    }
    throw failure("a name contains half of a surrogate pair")
  }

  /// Parses the four hexadecimal digits of `\uXXXX`.
  private mutating func codeUnit() throws(CodedError) -> UInt16 {
    let digits = String(rest.prefix(4))
    guard digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
      throw failure(#"\u in a name must be followed by four hexadecimal digits"#)
    }
    rest = rest.dropFirst(4)
    return unit
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard rest.first == scalar else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func skipBlanks() {
    while let first = rest.first, " \t\n\r".unicodeScalars.contains(first) { rest.removeFirst() }
  }

  private func failure(_ problem: String) -> CodedError {
    CodedError(
      .usage, "'\(text.prefix(80))' is not a valid JSON path: \(problem); example: $.orders[*].sentAt")
  }
}
