/// A regular expression that matches the text of steps, for what a ``CucumberExpression`` cannot express.
///
/// The whole text must match, even without `^` and `$`. Each outermost capture group is an argument. A group whose source
/// is that of a parameter type has this type; all others are strings. The syntax is that of `NSRegularExpression`.
///
/// ```swift
/// let expression = try RegularExpression(#"I have (\d+) cukes? in my (\w+) now"#, ParameterTypeRegistry())
/// let arguments = try expression.match("I have 7 cukes in my belly now")
/// let place = try arguments?[1].decoded(as: String.self)  // belly
/// ```
public struct RegularExpression: StepExpression {
  private let pattern: GroupPattern
  private let registry: ParameterTypeRegistry

  /// The regular expression as it was written.
  public var source: String { pattern.source }
  /// The same as ``source``.
  public var regularExpression: String { pattern.source }

  /// - Parameters:
  ///   - source: the regular expression.
  ///   - registry: the types that groups can have.
  /// - Throws: ``ExpressionError`` if it is not valid.
  public init(_ source: String, _ registry: ParameterTypeRegistry) throws(ExpressionError) {
    pattern = try GroupPattern(source)
    self.registry = registry
  }

  /// Matches the text of a step.
  ///
  /// - Parameter text: the text, without the keyword.
  /// - Returns: one argument for each outermost capture group, or nil if the text does not match.
  /// - Throws: ``ExpressionError`` if the search takes too many steps, or if several parameter types have the same
  ///   source and none is preferential.
  public func match(_ text: String) throws(ExpressionError) -> [Argument]? {
    guard let group = try pattern.match(text) else { return nil }
    var arguments: [Argument] = []
    for (child, source) in zip(group.children, pattern.groups.map(\.source)) {
      let type = try registry.type(regexp: source, in: self.source, text: text)
      arguments.append(Argument(child, type ?? .anonymous(source)))
    }
    return arguments
  }
}

extension ParameterTypeRegistry {
  /// Makes a regular expression of a text in slashes (`/I have (\d+)/`) or with an anchor (`^I have (\d+)$`), and a
  /// Cucumber Expression of all others.
  ///
  /// ```swift
  /// let expression = try ParameterTypeRegistry().expression("I have {int} cucumber(s)")
  /// ```
  ///
  /// - Parameter text: the expression.
  /// - Returns: the expression.
  /// - Throws: ``ExpressionError`` for invalid syntax or an undefined parameter type.
  public func expression(_ text: String) throws(ExpressionError) -> any StepExpression {
    if text.count > 1, text.hasPrefix("/"), text.hasSuffix("/") {
      return try RegularExpression(String(text.dropFirst().dropLast()), self)
    }
    guard text.hasPrefix("^") || text.hasSuffix("$") else { return try CucumberExpression(text, self) }
    do { return try RegularExpression(text, self) } catch {
      guard text.contains(/\{[^}]*\}/) else { throw error }
      throw ExpressionError(
        "You cannot use anchors (^ or $) in Cucumber Expressions. Please remove them from \(text)")
    }
  }
}
