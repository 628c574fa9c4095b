package import Basics

/// A regular expression that matches a whole text, like Java's `matches`, or part of it, like `find`. A match may be
/// empty.
package struct TextPattern: Sendable {
  private let pattern: Pattern
  private let matchesEmptyText: Bool

  /// - Parameters:
  ///   - text: the expression.
  ///   - flags: any of `imsx`.
  ///   - isWhole: whether it must match the whole text.
  /// - Throws: `CodedError` if the expression is not valid.
  package init(_ text: String, flags: String = "", isWhole: Bool = true) throws(CodedError) {
    // Compile it alone first, so that `a)|(b` is an error.
    _ = try Pattern(text)
    // The line break ends a comment in an expression with the flag x.
    let group = "(?\(flags):\(text)\(flags.contains("x") ? "\n" : ""))"
    // `Pattern` does not report empty matches. So the first character is matched if the expression is found after it.
    pattern = try Pattern(isWhole ? "\\A\(group)\\z" : "\\A(?=(?s:.*?)\(group))(?s:.)")
    matchesEmptyText = try Pattern(isWhole ? "\\A\(group)\\z" : group).matchesEmptyText
  }

  package func matches(_ text: String, _ budget: PatternBudget) throws(CodedError) -> Bool {
    if text.isEmpty { return matchesEmptyText }
    do {
      if try !pattern.matches(in: Array(text.utf8), budget).isEmpty { return true }
    } catch { throw CodedError(.broken, "\(error)") }
    return false
  }
}
