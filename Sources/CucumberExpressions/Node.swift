/// A node in the syntax tree of a Cucumber Expression.
package struct Node: Sendable, Equatable {
  package enum Kind: String, Sendable {
    case text = "TEXT_NODE"
    case optional = "OPTIONAL_NODE"
    case alternation = "ALTERNATION_NODE"
    case alternative = "ALTERNATIVE_NODE"
    case parameter = "PARAMETER_NODE"
    case expression = "EXPRESSION_NODE"
  }

  package let kind: Kind
  /// The place in the expression, in Unicode scalars.
  package let range: Range<Int>
  /// The parts; empty for text.
  package var children: [Node] = []
  /// The text of a text node.
  package var token = ""

  /// The text of the node and of all nodes in it.
  var text: String { token + children.map(\.text).joined() }

  /// Parses an expression.
  ///
  /// - Parameter expression: the Cucumber Expression.
  /// - Returns: the root, of kind `expression`.
  /// - Throws: ``ExpressionError`` for invalid syntax.
  package static func parse(_ expression: String) throws(ExpressionError) -> Node {
    var parser = Parser(expression: expression, tokens: try Token.tokens(of: expression))
    return try parser.root()
  }
}

/// A recursive-descent parser of this grammar:
///
///     expression  := ( alternation | optional | parameter | text )*
///     alternation := (?<=left-boundary) alternative* ( '/' alternative* )+ (?=right-boundary)
///     alternative := optional | text
///     optional    := '(' ( optional | parameter | text )* ')'
///     parameter   := '{' name* '}'
///
/// White space, `}` and the start of the line are left boundaries; white space, `{` and the end of the line are right
/// ones.
private struct Parser {
  /// Deeper optionals are reported at once: an optional in an optional is invalid in any case, and a text such as `((((`
  /// must not overflow the stack.
  private static let maximumDepth = 32

  let expression: String
  let tokens: [Token]
  // The last token, endOfLine, is never consumed.
  private var position = 1
  /// The end of a stretch of tokens that are known to contain no alternation, which makes parsing linear.
  private var plainEnd = 0

  init(expression: String, tokens: [Token]) {
    self.expression = expression
    self.tokens = tokens
  }

  private var token: Token { tokens[position] }

  mutating func root() throws(ExpressionError) -> Node {
    var children: [Node] = []
    while token.kind != .endOfLine {
      if let alternation = try alternation() {
        children.append(alternation)
      } else {
        children.append(try part())
      }
    }
    return Node(kind: .expression, range: 0..<token.range.upperBound, children: children)
  }

  private mutating func alternation() throws(ExpressionError) -> Node? {
    guard position >= plainEnd, [.startOfLine, .whiteSpace, .endParameter].contains(tokens[position - 1].kind) else {
      return nil
    }
    let first = position
    var start = token.range.lowerBound
    let whole = start
    var alternatives: [Node] = []
    var children: [Node] = []
    while ![.whiteSpace, .endOfLine, .beginParameter].contains(token.kind) {
      if token.kind == .alternation {
        alternatives.append(Node(kind: .alternative, range: start..<token.range.lowerBound, children: children))
        start = token.range.upperBound
        children = []
        position += 1
      } else {
        children.append(try part())
      }
    }
    guard !alternatives.isEmpty else {
      plainEnd = position
      position = first
      return nil
    }
    let end = token.range.lowerBound
    alternatives.append(Node(kind: .alternative, range: start..<end, children: children))
    return Node(kind: .alternation, range: whole..<end, children: alternatives)
  }

  private mutating func part(depth: Int = 0) throws(ExpressionError) -> Node {
    switch token.kind {
    case .beginOptional:
      guard depth < Self.maximumDepth else { throw .optionalInOptional(at: token.range, of: expression) }
      return try between(.optional, .endOptional, depth: depth + 1)
    case .beginParameter: return try between(.parameter, .endParameter, depth: depth)
    case .alternation:
      throw ExpressionError(
        "An alternation can not be used inside an optional",
        #"If you did not mean to use an alternation you can use '\/' to escape the '/'. Otherwise rephrase your "#
          + "expression or consider using a regular expression instead.",
        at: token.range, of: expression)
    default: return text()
    }
  }

  /// Reads from a bracket to the one that closes it.
  private mutating func between(_ kind: Node.Kind, _ end: Token.Kind, depth: Int) throws(ExpressionError) -> Node {
    let begin = token
    position += 1
    var children: [Node] = []
    while token.kind != end {
      guard token.kind != .endOfLine else {
        let purpose = kind == .optional ? "optional text" : "a parameter"
        throw ExpressionError(
          "The '\(begin.text)' does not have a matching '\(kind == .optional ? ")" : "}")'",
          "If you did not intend to use \(purpose) you can use '\\\(begin.text)' to escape the \(purpose)",
          at: begin.range, of: expression)
      }
      if kind == .optional {
        children.append(try part(depth: depth))
      } else {
        guard token.kind == .text || token.kind == .whiteSpace else {
          throw ExpressionError(
            #"Parameter names may not contain '{', '}', '(', ')', '\' or '/'"#,
            "Did you mean to use a regular expression?", at: token.range, of: expression)
        }
        children.append(text())
      }
    }
    position += 1
    return Node(
      kind: kind, range: begin.range.lowerBound..<tokens[position - 1].range.upperBound, children: children)
  }

  private mutating func text() -> Node {
    defer { position += 1 }
    return Node(kind: .text, range: token.range, token: token.text)
  }
}

extension ExpressionError {
  static func optionalInOptional(at range: Range<Int>, of expression: String) -> Self {
    Self(
      "An optional may not contain an other optional",
      #"If you did not mean to use an optional type you can use '\(' to escape the '('. For more complicated "#
        + "expressions consider using a regular expression instead.",
      at: range, of: expression)
  }
}
