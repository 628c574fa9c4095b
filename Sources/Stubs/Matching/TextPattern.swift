import Basics
import Cassettes

/// A regular expression that matches a whole text, as Java's `matches`, or is found in it, as `find`; also by an empty match.
struct TextPattern: Sendable {
  private let pattern: Pattern
  private let matchesEmptyText: Bool

  /// - Parameters:
  ///   - text: the expression.
  ///   - flags: any of `imsx`.
  ///   - isWhole: whether it has to match the whole text.
  /// - Throws: `CodedError` if the expression is not valid.
  init(_ text: String, flags: String = "", isWhole: Bool = true) throws(CodedError) {
    // On its own first, so that `a)|(b` is an error.
    _ = try Pattern(text)
    // The line break ends a comment in an expression with the flag x.
    let group = "(?\(flags):\(text)\(flags.contains("x") ? "\n" : ""))"
    // `Pattern` does not report empty matches. So the first character is matched if the expression is found after it.
    pattern = try Pattern(isWhole ? "\\A\(group)\\z" : "\\A(?=(?s:.*?)\(group))(?s:.)")
    matchesEmptyText = try Pattern(isWhole ? "\\A\(group)\\z" : group).matchesEmptyText
  }

  func matches(_ text: String, _ budget: PatternBudget) throws(CodedError) -> Bool {
    if text.isEmpty { return matchesEmptyText }
    do {
      if try !pattern.matches(in: Array(text.utf8), budget).isEmpty { return true }
    } catch { throw CodedError(.broken, "\(error)") }
    return false
  }
}

/// Interoperable regular expressions (RFC 9485), the ones of `match` and `search`.
enum IRegexp {
  /// The expression for PCRE2, in which a dot matches anything but CR and LF; nil if it has other constructs.
  static func translated(_ text: String) -> String? {
    var output = "".unicodeScalars
    var rest = text.unicodeScalars[...]
    var isInSet = false
    while let next = rest.popFirst() {
      switch next {
      case "\\":
        guard let escaped = rest.popFirst(), "pPnrt()*+-.?[\\]^{|}$".unicodeScalars.contains(escaped) else {
          return nil
        }
        output.append(contentsOf: [next, escaped])
      case "." where !isInSet: output.append(contentsOf: "[^\\n\\r]".unicodeScalars)
      case "[" where isInSet: return nil
      case "[", "]":
        isInSet = next == "["
        output.append(next)
        if isInSet, rest.first == "^" { output.append(rest.removeFirst()) }
      case "(" where !isInSet:
        guard rest.first != "?", rest.first != "*" else { return nil }
        output.append(next)
      case "?", "*", "+", "}":
        output.append(next)
        // No lazy or possessive repetitions.
        if !isInSet, let after = rest.first, "?+*".unicodeScalars.contains(after) { return nil }
      default: output.append(next)
      }
    }
    return isInSet ? nil : String(output)
  }
}
