/// An expression that matches the text of steps: a ``CucumberExpression`` or a ``RegularExpression``.
public protocol StepExpression: Sendable {
  /// The expression as it was written.
  var source: String { get }
  /// The regular expression that the whole text must match.
  var regularExpression: String { get }

  /// Matches the text of a step.
  ///
  /// - Parameter text: the text, without the keyword.
  /// - Returns: one argument for each parameter, or nil if the text does not match.
  /// - Throws: ``ExpressionError`` if the search takes too many steps, or if a regular expression is ambiguous.
  func match(_ text: String) throws(ExpressionError) -> [Argument]?
}

/// A Cucumber Expression: `I have {int} cucumber(s) in my belly/stomach`.
///
/// `{int}` is a parameter, `(s)` is optional, and `/` separates alternatives. A backslash escapes these characters.
///
/// ```swift
/// let expression = try CucumberExpression("I have {int} cucumber(s)", ParameterTypeRegistry())
/// let arguments = try expression.match("I have 7 cucumbers")
/// let count = try arguments?[0].decoded(as: Int.self)  // 7
/// ```
public struct CucumberExpression: StepExpression {
  /// The expression as it was written.
  public let source: String
  /// The types of the parameters, in order.
  public let parameterTypes: [AnyParameterType]
  private let pattern: GroupPattern

  /// The regular expression that the whole text must match.
  public var regularExpression: String { pattern.source }

  /// - Parameters:
  ///   - source: the Cucumber Expression.
  ///   - registry: the types that parameters can have.
  /// - Throws: ``ExpressionError`` for invalid syntax or an undefined parameter type.
  public init(_ source: String, _ registry: ParameterTypeRegistry) throws(ExpressionError) {
    var rewriter = Rewriter(source: source, registry: registry)
    let pattern = try rewriter.expression(Node.parse(source))
    self.source = source
    self.pattern = try GroupPattern(pattern)
    parameterTypes = rewriter.parameterTypes
  }

  /// Matches the text of a step.
  ///
  /// - Parameter text: the text, without the keyword.
  /// - Returns: one argument for each parameter, or nil if the text does not match.
  /// - Throws: ``ExpressionError`` if the search takes too many steps.
  public func match(_ text: String) throws(ExpressionError) -> [Argument]? {
    guard let group = try pattern.match(text) else { return nil }
    return zip(group.children, parameterTypes).map(Argument.init)
  }
}

/// Rewrites the nodes of an expression as a regular expression.
private struct Rewriter {
  let source: String
  let registry: ParameterTypeRegistry
  var parameterTypes: [AnyParameterType] = []

  mutating func expression(_ node: Node) throws(ExpressionError) -> String { "^\(try rewritten(node.children))$" }

  private mutating func rewritten(_ nodes: [Node]) throws(ExpressionError) -> String {
    var result = ""
    for node in nodes { result += try rewritten(node) }
    return result
  }

  private mutating func rewritten(_ node: Node) throws(ExpressionError) -> String {
    switch node.kind {
    case .text: node.token.escapedForRegularExpression
    case .optional: try optional(node)
    case .alternation: try alternation(node)
    case .parameter: try parameter(node)
    case .alternative, .expression: try rewritten(node.children)
    }
  }

  private mutating func optional(_ node: Node) throws(ExpressionError) -> String {
    if let parameter = node.children.first(where: { $0.kind == .parameter }) {
      throw ExpressionError(
        "An optional may not contain a parameter type",
        #"If you did not mean to use an parameter type you can use '\{' to escape the '{'"#, at: parameter.range,
        of: source)
    }
    if let optional = node.children.first(where: { $0.kind == .optional }) {
      throw .optionalInOptional(at: optional.range, of: source)
    }
    guard node.hasText else {
      throw ExpressionError(
        "An optional must contain some text",
        #"If you did not mean to use an optional you can use '\(' to escape the '('"#, at: node.range, of: source)
    }
    return "(?:\(try rewritten(node.children)))?"
  }

  private mutating func alternation(_ node: Node) throws(ExpressionError) -> String {
    for alternative in node.children {
      guard !alternative.children.isEmpty else {
        throw ExpressionError(
          "Alternative may not be empty",
          #"If you did not mean to use an alternative you can use '\/' to escape the '/'"#, at: alternative.range,
          of: source)
      }
      guard alternative.hasText else {
        throw ExpressionError(
          "An alternative may not exclusively contain optionals",
          #"If you did not mean to use an optional you can use '\(' to escape the '('"#, at: alternative.range,
          of: source)
      }
    }
    var alternatives: [String] = []
    for alternative in node.children { alternatives.append(try rewritten(alternative)) }
    return "(?:\(alternatives.joined(separator: "|")))"
  }

  private mutating func parameter(_ node: Node) throws(ExpressionError) -> String {
    let name = node.text
    guard let type = registry[name] else {
      throw ExpressionError(
        "Undefined parameter type '\(name)'", "Please register a ParameterType for '\(name)'", at: node.range,
        of: source, undefinedParameterType: name)
    }
    parameterTypes.append(type)
    let regexps = type.regexps
    return regexps.count == 1 ? "(\(regexps[0]))" : "((?:\(regexps.joined(separator: ")|(?:"))))"
  }
}

extension Node {
  fileprivate var hasText: Bool { children.contains { $0.kind == .text } }
}
