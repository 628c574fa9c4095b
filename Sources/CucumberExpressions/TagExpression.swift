/// A condition on tags: `@smoke and not (@slow or @wip)`.
///
/// `not` binds tighter than `and`, and `and` tighter than `or`. A backslash escapes parentheses, white space and itself in
/// tags. An empty expression holds for all tags.
///
/// ```swift
/// let expression = try TagExpression("@smoke and not @slow")
/// expression.evaluate(tags: ["@smoke", "@fast"])  // true
/// print(expression)  // ( @smoke and not ( @slow ) )
/// ```
public struct TagExpression: Sendable, Hashable, CustomStringConvertible {
  private enum Term: Hashable {
    case tag(String)
    case not, and, or
    // Only while parsing.
    case open

    /// How tightly it binds.
    var precedence: Int {
      switch self {
      case .or: 1
      case .and: 2
      case .not: 3
      case .tag, .open: 0
      }
    }
  }

  /// The terms in postfix order. There is no tree, which a long expression would make too deep.
  private var terms: [Term] = []

  /// - Parameter text: the expression.
  /// - Throws: ``ExpressionError`` for invalid syntax.
  public init(_ text: String) throws(ExpressionError) {
    func failure(_ problem: String) -> ExpressionError {
      ExpressionError("Tag expression \"\(text)\" could not be parsed because of syntax error: \(problem).")
    }
    /// The operators whose second operand is still to come.
    var operators: [Term] = []
    var expectsOperand = true
    for word in try Self.words(of: text, failure) {
      let isOperand = !["and", "or", ")"].contains(word.source)
      guard isOperand == expectsOperand else { throw failure("Expected \(expectsOperand ? "operand" : "operator")") }
      switch word.source {
      case "(": operators.append(.open)
      case "not": operators.append(.not)
      case ")":
        while operators.last != .open {
          guard let last = operators.popLast() else { throw failure("Unmatched )") }
          terms.append(last)
        }
        operators.removeLast()
      case "and", "or":
        let term: Term = word.source == "and" ? .and : .or
        while let last = operators.last, last.precedence >= term.precedence { terms.append(operators.removeLast()) }
        operators.append(term)
        expectsOperand = true
      default:
        terms.append(.tag(word.tag))
        expectsOperand = false
      }
    }
    while let last = operators.popLast() {
      if last == .open { throw failure("Unmatched (") }
      if expectsOperand { throw failure("Expected operand") }
      terms.append(last)
    }
  }

  /// Whether tags satisfy the expression.
  ///
  /// - Parameter tags: the tags, with `@` if the expression has it.
  /// - Returns: true if they do; always true for an empty expression.
  public func evaluate(tags: some Sequence<String>) -> Bool {
    let tags = Set(tags)
    var values: [Bool] = []
    for term in terms {
      switch term {
      case .tag(let tag): values.append(tags.contains(tag))
      case .not: values.append(!values.removeLast())
      case .and, .or:
        let right = values.removeLast()
        let left = values.removeLast()
        values.append(term == .and ? left && right : left || right)
      case .open: break
      }
    }
    return values.last ?? true
  }

  /// The expression with all parentheses: `( a and not ( b ) )`.
  public var description: String {
    /// How many terms belong to each term, itself included.
    var sizes: [Int] = []
    for (index, term) in terms.enumerated() {
      switch term {
      case .tag, .open: sizes.append(1)
      case .not: sizes.append(1 + sizes[index - 1])
      case .and, .or: sizes.append(1 + sizes[index - 1] + sizes[index - 1 - sizes[index - 1]])
      }
    }
    enum Piece {
      case text(String)
      case term(Int)
    }
    var pieces: [Piece] = terms.isEmpty ? [] : [.term(terms.count - 1)]
    var text = ""
    while let piece = pieces.popLast() {
      switch piece {
      case .text(let part): text += part
      case .term(let index):
        switch terms[index] {
        case .tag(let tag): text += Self.escaped(tag)
        case .not:
          // A binary operator has parentheses of its own.
          let isBinary = [.and, .or].contains(terms[index - 1])
          text += isBinary ? "not " : "not ( "
          pieces += [.text(isBinary ? "" : " )"), .term(index - 1)]
        case .and, .or:
          text += "( "
          pieces += [
            .text(" )"), .term(index - 1), .text(terms[index] == .and ? " and " : " or "),
            .term(index - 1 - sizes[index - 1]),
          ]
        case .open: break
        }
      }
    }
    return text
  }

  /// Splits a text at white space and parentheses.
  ///
  /// - Returns: words as they are written, which tells an operator from a tag, and without backslashes.
  private static func words(
    of text: String, _ failure: (String) -> ExpressionError
  ) throws(ExpressionError) -> [(source: String, tag: String)] {
    var words: [(source: String, tag: String)] = []
    var word = (source: "", tag: "")
    var isEscaped = false
    for scalar in text.unicodeScalars {
      let isSpecial = scalar == "(" || scalar == ")" || scalar.properties.isWhitespace
      if !isEscaped, isSpecial {
        if !word.source.isEmpty { words.append(word) }
        word = ("", "")
        if !scalar.properties.isWhitespace { words.append((String(scalar), "")) }
        continue
      }
      guard !isEscaped || isSpecial || scalar == "\\" else { throw failure("Illegal escape before \"\(scalar)\"") }
      isEscaped = !isEscaped && scalar == "\\"
      word.source.unicodeScalars.append(scalar)
      if !isEscaped { word.tag.unicodeScalars.append(scalar) }
    }
    guard !isEscaped else { throw failure("Illegal escape at the end") }
    if !word.source.isEmpty { words.append(word) }
    return words
  }

  private static func escaped(_ tag: String) -> String {
    var escaped = ""
    for scalar in tag.unicodeScalars {
      if scalar == "(" || scalar == ")" || scalar == "\\" || scalar.properties.isWhitespace { escaped += "\\" }
      escaped.unicodeScalars.append(scalar)
    }
    return escaped
  }
}
