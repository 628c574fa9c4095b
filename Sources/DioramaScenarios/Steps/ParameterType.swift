import CucumberExpressions
import Testing

/// A parameter type as it was declared; it may turn out to be invalid.
struct ParameterTypeDefinition {
  let name: String
  let place: SourceLocation
  let define: (inout ParameterTypeRegistry) throws -> Void
}

/// Declares a parameter type for the expressions of steps.
///
/// ```swift
/// @StepsBuilder var steps: [Step] {
///   ParameterType("amount", #"\d+ (?:euros|pounds)"#) { Amount($0) }
///   Given("a price of {amount}") { (amount: Amount) in … }
/// }
/// ```
///
/// Enums and `Decodable` types need no declaration: a closure that takes a `Vehicle` makes `{vehicle}` a parameter, written as a
/// case of the enum or as JSON.
public struct ParameterType: StepDefinitions {
  /// The parameter type alone.
  public let steps: [Step]

  /// Declares a type by the text that it matches, or by that of its only capture group.
  ///
  /// - Parameters:
  ///   - name: the name in expressions, without braces.
  ///   - regexps: regular expressions; a parameter matches any of them.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - transform: makes the value.
  public init<Value>(
    _ name: String, _ regexps: String..., fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, transform: @escaping @Sendable (String) throws -> Value
  ) {
    self.init(name, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)) { registry in
      try registry.define(CucumberExpressions.ParameterType(name, regexps, transform: transform))
    }
  }

  /// Declares a type by the texts of its capture groups.
  ///
  /// - Parameters:
  ///   - name: the name in expressions, without braces.
  ///   - regexps: regular expressions; a parameter matches any of them.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - transform: makes the value of the groups of all regular expressions; nil for groups that took no part in the match.
  public init<Value>(
    _ name: String, capturing regexps: String..., fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, transform: @escaping @Sendable ([String?]) throws -> Value
  ) {
    self.init(name, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)) { registry in
      try registry.define(CucumberExpressions.ParameterType(name, capturing: regexps, transform: transform))
    }
  }

  /// Declares a type of an enum's cases, under another name than that of the enum.
  ///
  /// - Parameters:
  ///   - name: the name in expressions, without braces.
  ///   - cases: the enum.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  public init<Value: CaseIterable & SendableMetatype>(
    _ name: String, _ cases: Value.Type, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column
  ) {
    self.init(name, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)) { registry in
      try registry.define(CucumberExpressions.ParameterType(name, cases))
    }
  }

  /// Declares a type that matches so much that it is no good suggestion for steps to come.
  init<Value>(
    unsuggested name: String, _ regexp: String, fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, transform: @escaping @Sendable (String) throws -> Value
  ) {
    self.init(name, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)) { registry in
      try registry.define(
        CucumberExpressions.ParameterType(name, regexp, useForSnippets: false, transform: transform))
    }
  }

  private init(
    _ name: String, _ place: SourceLocation, _ define: @escaping (inout ParameterTypeRegistry) throws -> Void
  ) {
    steps = [Step(kind: .parameterType(ParameterTypeDefinition(name: name, place: place, define: define)))]
  }
}
