import CucumberExpressions
import Gherkin
import Testing

/// Step definitions as XCTest-Gherkin spells them, with regular expressions.
///
/// ```swift
/// final class SomeStepDefinitions: StepDefiner {
///   override func defineSteps() {
///     step("This value should be ([0-9]*)") { (match: Int) in XCTAssertEqual(match, 100) }
///   }
/// }
/// ```
///
/// A regular expression ignores case and matches a part of the step's text, unless it has `^` and `$`. Closures take the
/// captures of its groups, of any type that conforms to ``MatchedStringRepresentable``.
///
/// List its ``steps`` in ``ScenarioTestCase/makeSteps()``, or the object in `Features`. For new steps, prefer
/// ``StepDefinitions`` with Cucumber Expressions: they match the whole text, and take tables and doc strings.
open class StepDefiner: StepDefinitions {
  private var defined: [Step] = []

  /// Creates the object, with state of its own for one scenario.
  public init() {}

  /// Defines the steps: override it, and call `step` for each.
  open func defineSteps() {}

  /// The steps of ``defineSteps()``.
  public var steps: [Step] {
    defined = []
    defineSteps()
    defer { defined = [] }
    return defined
  }

  private func add(
    _ expression: any StepDefinerExpression, _ place: SourceLocation,
    _ bind: @escaping ([SearchedExpression.Capture]) throws -> () async throws -> Void
  ) {
    let definition = Definition(pattern: .matcher(expression), place: place, types: []) { values in
      try bind(expression.captures(of: values.step.text))
    }
    defined.append(Step(kind: .definition(definition)))
  }

  private func addTyped(
    _ count: Int, _ source: String, _ place: SourceLocation,
    _ bind: @escaping ([SearchedExpression.Capture]) throws -> () async throws -> Void
  ) {
    add(SearchedExpression(source), place) { captures in
      guard captures.count >= count else {
        let values = count == 1 ? "1 value" : "\(count) values"
        let groups = captures.count == 1 ? "1 group" : "\(captures.count) groups"
        throw ScenarioError("the closure takes \(values), but the regular expression '\(source)' has \(groups)")
      }
      return try bind(captures)
    }
  }

  // MARK: Defining steps

  /// Defines a step whose closure takes no captures.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    add(SearchedExpression(expression), place) { _ in body }
  }

  /// Defines a step with exactly this text, in which no character is special.
  ///
  /// If regular expressions match the text as well, this step is used.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step(
    exactly text: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    add(ExactText(source: text), place) { _ in body }
  }

  /// Defines a step whose closure takes the texts that all groups capture; a group that takes no part in the match is empty.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping ([String]) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    add(SearchedExpression(expression), place) { captures in { try await body(captures.map { $0.text ?? "" }) } }
  }

  /// Defines a step whose closure takes the captures by the names and indices of their groups.
  ///
  /// The name of a group, as words, replaces its text in logs: `aRegisteredUser` is `a registered user`.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<Value: MatchedStringRepresentable>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (StepMatches<Value>) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    add(SearchedExpression(expression), place) { captures in
      let matches = try StepMatches<Value>(captures)
      return { try await body(matches) }
    }
  }

  /// Defines a step whose closure takes the first capture.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<A1: MatchedStringRepresentable>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (A1) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    addTyped(1, expression, place) { captures in
      let value1 = try captures[0].value(A1.self)
      return { try await body(value1) }
    }
  }

  /// Defines a step whose closure takes the first 2 captures.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<A1: MatchedStringRepresentable, A2: MatchedStringRepresentable>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (A1, A2) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    addTyped(2, expression, place) { captures in
      let value1 = try captures[0].value(A1.self)
      let value2 = try captures[1].value(A2.self)
      return { try await body(value1, value2) }
    }
  }

  /// Defines a step whose closure takes the first 3 captures.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<A1: MatchedStringRepresentable, A2: MatchedStringRepresentable, A3: MatchedStringRepresentable>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (A1, A2, A3) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    addTyped(3, expression, place) { captures in
      let value1 = try captures[0].value(A1.self)
      let value2 = try captures[1].value(A2.self)
      let value3 = try captures[2].value(A3.self)
      return { try await body(value1, value2, value3) }
    }
  }

  /// Defines a step whose closure takes the first 4 captures.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<
    A1: MatchedStringRepresentable, A2: MatchedStringRepresentable, A3: MatchedStringRepresentable,
    A4: MatchedStringRepresentable
  >(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (A1, A2, A3, A4) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    addTyped(4, expression, place) { captures in
      let value1 = try captures[0].value(A1.self)
      let value2 = try captures[1].value(A2.self)
      let value3 = try captures[2].value(A3.self)
      let value4 = try captures[3].value(A4.self)
      return { try await body(value1, value2, value3, value4) }
    }
  }

  /// Defines a step whose closure takes the first 5 captures.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<
    A1: MatchedStringRepresentable, A2: MatchedStringRepresentable, A3: MatchedStringRepresentable,
    A4: MatchedStringRepresentable, A5: MatchedStringRepresentable
  >(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (A1, A2, A3, A4, A5) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    addTyped(5, expression, place) { captures in
      let value1 = try captures[0].value(A1.self)
      let value2 = try captures[1].value(A2.self)
      let value3 = try captures[2].value(A3.self)
      let value4 = try captures[3].value(A4.self)
      let value5 = try captures[4].value(A5.self)
      return { try await body(value1, value2, value3, value4, value5) }
    }
  }

  /// Defines a step whose closure takes the first 6 captures.
  ///
  /// - Parameters:
  ///   - expression: a regular expression, which ignores case and matches a part of the text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public func step<
    A1: MatchedStringRepresentable, A2: MatchedStringRepresentable, A3: MatchedStringRepresentable,
    A4: MatchedStringRepresentable, A5: MatchedStringRepresentable, A6: MatchedStringRepresentable
  >(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping (A1, A2, A3, A4, A5, A6) async throws -> Void
  ) {
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    addTyped(6, expression, place) { captures in
      let value1 = try captures[0].value(A1.self)
      let value2 = try captures[1].value(A2.self)
      let value3 = try captures[2].value(A3.self)
      let value4 = try captures[3].value(A4.self)
      let value5 = try captures[4].value(A5.self)
      let value6 = try captures[5].value(A6.self)
      return { try await body(value1, value2, value3, value4, value5, value6) }
    }
  }

  /// Runs another step, from the closure of a step.
  ///
  /// ```swift
  /// step("This step should call another step") { try await self.step("This is another step") }
  /// ```
  ///
  /// - Parameter text: the step's text, without a keyword.
  /// - Throws: the step's error, or one that says that no step, or several, match the text.
  public func step(_ text: String) async throws { try await perform(text) }
}

/// What a ``StepDefiner`` matches steps with.
private protocol StepDefinerExpression: StepExpression {
  func captures(of text: String) -> [SearchedExpression.Capture]
}

extension SearchedExpression: StepDefinerExpression {}

extension ExactText: StepDefinerExpression {
  fileprivate func captures(of text: String) -> [SearchedExpression.Capture] { [] }
}
