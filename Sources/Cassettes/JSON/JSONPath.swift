package import LaunchContract

/// Places in a JSON value, in a subset of RFC 9535: `$`, `.name`, `['name']`, `[0]`, `.*`, `[*]`, and each of them after
/// `..`, which looks at all depths.
///
/// ```swift
/// try JSONPath("$..ssn").places(in: value)  // [[.name("user"), .name("ssn")]]
/// ```
package struct JSONPath: Sendable, Equatable, CustomStringConvertible {
  /// One step down in a value.
  package enum Step: Sendable, Equatable {
    case name(String)
    case index(Int)
  }

  /// How far a path has come at one place: bit n says that n of its segments lead here.
  package struct Progress: Sendable {
    fileprivate var bits: UInt64
  }

  struct Segment: Sendable, Equatable {
    /// Nil: any.
    var step: Step?
    var isDescendant: Bool
  }

  /// As it was written.
  package let description: String
  private let segments: [Segment]

  /// Reads a path.
  ///
  /// - Throws: ``JSONPathError``, for what is none, and for what the subset leaves out: slices, filters, several
  ///   selectors, indices from the end.
  package init(_ text: String) throws(JSONPathError) {
    var reader = JSONPathReader(text)
    segments = try reader.segments()
    description = text
  }

  /// At the root.
  package var start: Progress { Progress(bits: 1) }

  /// One step further down.
  package func enter(_ progress: Progress, _ step: Step) -> Progress {
    var bits: UInt64 = 0
    for (number, segment) in segments.enumerated() where progress.bits >> UInt64(number) & 1 == 1 {
      if segment.isDescendant { bits |= 1 << UInt64(number) }
      if segment.step == nil || segment.step == step { bits |= 1 << UInt64(number + 1) }
    }
    return Progress(bits: bits)
  }

  /// Whether a place is one of those that the path means.
  package func isAtEnd(_ progress: Progress) -> Bool { progress.bits >> UInt64(segments.count) & 1 == 1 }

  /// The places in a value, in its order.
  package func places(in value: JSON) -> [[Step]] {
    var found: [[Step]] = []
    // A stack stands in for recursion, for which some threads have no room.
    var open: [(value: JSON, steps: [Step], progress: Progress)] = [(value, [], start)]
    while let (value, steps, progress) = open.popLast() {
      if isAtEnd(progress) { found.append(steps) }
      guard progress.bits != 0 else { continue }
      switch value {
      case .array(let elements):
        for (index, element) in elements.enumerated().reversed() {
          open.append((element, steps + [.index(index)], enter(progress, .index(index))))
        }
      case .object(let members):
        for member in members.reversed() {
          open.append((member.value, steps + [.name(member.key)], enter(progress, .name(member.key))))
        }
      default: break
      }
    }
    return found
  }
}

/// Why a text is no JSON path.
package struct JSONPathError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong, and what there is.
  package let description: String
}

private struct JSONPathReader {
  /// As many as there are bits for.
  private static let limit = 63
  private let text: String
  private var rest: Substring

  init(_ text: String) {
    self.text = text
    rest = text[...]
  }

  mutating func segments() throws(JSONPathError) -> [JSONPath.Segment] {
    guard take("$") else { throw failure("it does not begin with $") }
    var segments: [JSONPath.Segment] = []
    while !rest.isEmpty {
      let isDescendant = take("..")
      if take("[") {
        segments.append(.init(step: try bracket(), isDescendant: isDescendant))
      } else {
        guard isDescendant || take(".") else { throw failure("'\(rest.prefix(10))' is neither .name nor [0]") }
        segments.append(.init(step: try name(), isDescendant: isDescendant))
      }
      guard segments.count <= Self.limit else { throw failure("it has more than \(Self.limit) steps") }
    }
    return segments
  }

  private mutating func take(_ word: String) -> Bool {
    guard rest.hasPrefix(word) else { return false }
    rest = rest.dropFirst(word.count)
    return true
  }

  /// What follows a dot; nil for `*`.
  private mutating func name() throws(JSONPathError) -> JSONPath.Step? {
    if take("*") { return nil }
    let name = rest.prefix { $0 == "_" || $0 == "-" || $0.isLetter || $0.isNumber || !$0.isASCII }
    guard !name.isEmpty else { throw failure("a name is missing after a dot") }
    rest = rest.dropFirst(name.count)
    return .name(String(name))
  }

  /// What follows a bracket, up to the closing one; nil for `*`.
  private mutating func bracket() throws(JSONPathError) -> JSONPath.Step? {
    let step: JSONPath.Step?
    if take("*") {
      step = nil
    } else if let quote = rest.first, quote == "'" || quote == "\"" {
      rest = rest.dropFirst()
      step = .name(try quoted(quote))
    } else {
      let digits = rest.prefix { ("0"..."9").contains($0) }
      guard let index = Int(digits) else { throw failure("after [ come *, a number from 0, or a name in quotes") }
      rest = rest.dropFirst(digits.count)
      step = .index(index)
    }
    guard take("]") else { throw failure("a ] is missing; several selectors, slices and filters are not known here") }
    return step
  }

  private mutating func quoted(_ quote: Character) throws(JSONPathError) -> String {
    var name = ""
    while let character = rest.popFirst() {
      if character == quote { return name }
      guard character == "\\" else {
        name.append(character)
        continue
      }
      guard let escaped = rest.popFirst(), escaped == quote || escaped == "\\" else {
        throw failure("after a backslash comes a quote or a backslash")
      }
      name.append(escaped)
    }
    throw failure("a name's closing quote is missing")
  }

  private func failure(_ problem: String) -> JSONPathError {
    JSONPathError(
      description:
        "'\(text.prefix(80))' is no JSON path: \(problem); write as in $.user.password, $..ssn, $.items[*].pin")
  }
}
