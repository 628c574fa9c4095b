/// An error in an expression, a parameter type or an argument.
///
/// The messages about expressions are those of the other implementations of Cucumber Expressions:
///
/// ```swift
/// do { _ = try CucumberExpression("three () mice", ParameterTypeRegistry()) } catch { print(error) }
/// // This Cucumber Expression has a problem at column 7:
/// //
/// // three () mice
/// //       ^^
/// // An optional must contain some text.
/// // If you did not mean to use an optional you can use '\(' to escape the '('
/// ```
public struct ExpressionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The problem, and what to do next; often several lines.
  public let message: String
  /// The name of the parameter type that the expression uses and the registry does not contain.
  public let undefinedParameterType: String?

  /// The message.
  public var description: String { message }

  package init(_ message: String) {
    self.message = message
    undefinedParameterType = nil
  }

  /// An error with a picture that points at a part of the expression.
  ///
  /// - Parameters:
  ///   - problem: the problem, without the full stop.
  ///   - solution: what to do next.
  ///   - range: the part, in Unicode scalars.
  ///   - expression: the whole expression.
  ///   - undefinedParameterType: the name of an undefined parameter type.
  init(
    _ problem: String, _ solution: String, at range: Range<Int>, of expression: String,
    undefinedParameterType: String? = nil
  ) {
    let end = range.count > 1 ? String(repeating: "-", count: range.count - 2) + "^" : ""
    message = """
      This Cucumber Expression has a problem at column \(range.lowerBound + 1):

      \(expression)
      \(String(repeating: " ", count: range.lowerBound))^\(end)
      \(problem).
      \(solution)
      """
    self.undefinedParameterType = undefinedParameterType
  }
}
