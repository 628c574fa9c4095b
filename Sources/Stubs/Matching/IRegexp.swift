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
