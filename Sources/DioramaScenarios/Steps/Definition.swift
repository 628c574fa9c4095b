import Basics
import CucumberExpressions
import Gherkin
import Testing

/// A step definition: what it matches, where it is, and what it does.
struct Definition {
  enum Pattern {
    /// A Cucumber Expression.
    case expression(String)
    /// Another kind of expression.
    case matcher(any StepExpression)
    /// A Swift regular expression.
    case regex(RegexMatcher)

    /// The expression as it was written.
    var source: String {
      switch self {
      case .expression(let source): source
      case .matcher(let expression): expression.source
      case .regex(let matcher): matcher.source
      }
    }
  }

  let pattern: Pattern
  let place: SourceLocation
  /// The types that the closure takes, without that of a regular expression's match.
  let types: [Any.Type]
  /// Converts the values, so that an error is found before anything runs.
  let bind: (inout StepValues) throws -> () async throws -> Void

  /// The place for messages: `Steps.swift:12`.
  var file: String { place.shortText }

  /// Whether it is written as a Swift regular expression.
  var isRegularExpression: Bool { if case .regex = pattern { true } else { false } }
}

extension SourceLocation {
  /// The place for messages: `Steps.swift:12`.
  var shortText: String { "\(fileName):\(line)" }
}

/// A step definition's match of a step.
struct StepMatch {
  let definition: Definition
  /// One for each parameter; empty for Swift regular expressions.
  let arguments: [Argument]
  /// The places of the captures of a Swift regular expression.
  var groups: [Range<String.Index>?] = []

  /// Converts the values.
  ///
  /// - Returns: the closure that runs the step.
  /// - Throws: ``ScenarioError`` if a value cannot be converted, or the closure takes others.
  func bound(to step: PackedScenario.Step) throws -> () async throws -> Void {
    var values = StepValues(step: step, captures: arguments[...])
    let body = try definition.bind(&values)
    try values.finish()
    return body
  }
}

/// An error of a step definition, a hook or a scenario.
struct ScenarioError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The values of a step, which its closure takes one after the other.
struct StepValues {
  let step: PackedScenario.Step
  private var captures: ArraySlice<Argument>
  private let count: Int
  private var table: [[String]]?
  private var docString: DocString?

  init(step: PackedScenario.Step, captures: ArraySlice<Argument>) {
    self.step = step
    self.captures = captures
    count = captures.count
    table = step.table
    docString = step.docString.map { DocString(content: $0, mediaType: step.mediaType) }
  }

  /// The next value, as a type.
  mutating func next<Value>(_ type: Value.Type) throws -> Value {
    if let capture = captures.popFirst() {
      return try capture.decoded(as: Value.self)
    }
    if let rows = table, type != DocString.self, type != DocString?.self, docString == nil || type != String.self {
      table = nil
      return try DataTable(rows: rows).decoded(as: type)
    }
    if let text = docString {
      docString = nil
      if let value = text as? Value { return value }
      if let value = text.content as? Value { return value }
      if let type = type as? any Decodable.Type, let value = try text.decoded(as: type) as? Value { return value }
    }
    if let empty = (type as? any OptionalValue.Type)?.empty as? Value { return empty }
    let values = count == 1 ? "1 value" : "\(count) values"
    throw ScenarioError(
      "the closure takes more than the step provides: \(values)\(step.table == nil ? "" : " and a table")"
        + "\(step.docString == nil ? "" : " and a doc string"); remove the parameter of type \(type), or add it to the step"
    )
  }

  /// The match of a regular expression.
  mutating func output<Output>(of regex: Regex<Output>) throws -> Output {
    guard let match = try regex.wholeMatch(in: step.text) else { throw ScenarioError("'\(step.text)' does not match") }
    return match.output
  }

  /// - Throws: ``ScenarioError`` if the closure has not taken everything.
  func finish() throws {
    if !captures.isEmpty {
      let rest = captures.map { "'\($0.group.text ?? "")' of \($0.parameterType)" }.joined(separator: ", ")
      throw ScenarioError("the closure takes \(count - captures.count) of \(count) values; add a parameter for \(rest)")
    }
    if table != nil {
      throw ScenarioError("the step has a table, which the closure does not take; add a parameter for it")
    }
    if docString != nil {
      throw ScenarioError("the step has a doc string, which the closure does not take; add a parameter for it")
    }
  }
}

/// An optional. Swift 6.3 crashes when it compiles a cast to `any ExpressibleByNilLiteral.Type` in release mode.
private protocol OptionalValue {
  static var empty: Self { get }
}

extension Optional: OptionalValue {
  fileprivate static var empty: Self { nil }
}

/// Matches a text and no other.
struct ExactText: StepExpression {
  let source: String
  var regularExpression: String { "" }
  func match(_ text: String) -> [Argument]? { text == source ? [] : nil }
}

/// Matches the whole text with a Swift regular expression of any type.
struct RegexMatcher {
  /// The literal, without slashes.
  let source: String
  /// The places of the captures in the text, or nil if it does not match.
  let match: (String) throws -> [Range<String.Index>?]?

  init<Output>(_ regex: Regex<Output>) {
    let erased = Regex<AnyRegexOutput>(regex)
    source = regex._literalPattern ?? "a regular expression"
    match = { text in try erased.wholeMatch(in: text)?.output.dropFirst().map(\.range) }
  }
}
