/// A part of a Cucumber Expression as the tokenizer reads it.
package struct Token: Sendable, Equatable {
  package enum Kind: String, Sendable {
    case startOfLine = "START_OF_LINE"
    case endOfLine = "END_OF_LINE"
    case whiteSpace = "WHITE_SPACE"
    case beginOptional = "BEGIN_OPTIONAL"
    case endOptional = "END_OPTIONAL"
    case beginParameter = "BEGIN_PARAMETER"
    case endParameter = "END_PARAMETER"
    case alternation = "ALTERNATION"
    case text = "TEXT"

    init(_ scalar: Unicode.Scalar) {
      self =
        switch scalar {
        case "(": .beginOptional
        case ")": .endOptional
        case "{": .beginParameter
        case "}": .endParameter
        case "/": .alternation
        default: scalar.properties.isWhitespace ? .whiteSpace : .text
        }
    }
  }

  package let kind: Kind
  /// The text without escaping backslashes.
  package private(set) var text: String
  /// The place in the expression, in Unicode scalars.
  package private(set) var range: Range<Int>

  /// Splits an expression into tokens.
  ///
  /// - Parameter expression: the Cucumber Expression.
  /// - Returns: the tokens, from `startOfLine` to `endOfLine`.
  /// - Throws: ``ExpressionError`` for a backslash that escapes nothing.
  package static func tokens(of expression: String) throws(ExpressionError) -> [Token] {
    let scalars = Array(expression.unicodeScalars)
    var tokens = [Token(kind: .startOfLine, text: "", range: 0..<0)]
    var index = 0
    while index < scalars.count {
      let start = index
      var kind = Kind(scalars[index])
      if scalars[index] == "\\" {
        index += 1
        guard index < scalars.count else {
          throw ExpressionError(
            "The end of line can not be escaped", #"You can use '\\' to escape the '\'"#, at: start..<index,
            of: expression)
        }
        guard scalars[index] == "\\" || Kind(scalars[index]) != .text else {
          throw ExpressionError(
            #"Only the characters '{', '}', '(', ')', '\', '/' and whitespace can be escaped"#,
            #"If you did mean to use an '\' you can use '\\' to escape it"#, at: index..<index + 1, of: expression)
        }
        kind = .text
      }
      let scalar = scalars[index]
      index += 1
      if let last = tokens.last, last.kind == kind, kind == .text || kind == .whiteSpace {
        tokens[tokens.count - 1].text.unicodeScalars.append(scalar)
        tokens[tokens.count - 1].range = last.range.lowerBound..<index
      } else {
        tokens.append(Token(kind: kind, text: String(scalar), range: start..<index))
      }
    }
    tokens.append(Token(kind: .endOfLine, text: "", range: index..<index))
    return tokens
  }
}
