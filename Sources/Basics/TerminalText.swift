// Texts from cassettes, apps and upstreams must not control the terminal.
extension String {
  /// The text on one line, without anything that controls a terminal.
  ///
  /// Escapes control characters (C0, DEL and C1), U+2028, U+2029 and characters that change the text direction (Unicode's
  /// Bidi_Control) as in Swift literals: `\n`, `\r`, `\t` and `\u{1b}`. Backslashes are kept, so commands in messages can be
  /// copied and a second pass changes nothing.
  ///
  /// ```swift
  /// "GET /\u{1B}]0;title\u{7}\n".escapedForTerminal  // GET /\u{1b}]0;title\u{7}\n
  /// ```
  package var escapedForTerminal: String {
    escaping { scalar in
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      default: "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
  }

  /// A JSON document with such characters in JSON escapes, `\u009b`; its value does not change.
  ///
  /// JSON already escapes U+0000 to U+001F in strings; outside of strings they are white space, which is kept.
  package var escapedJSONForTerminal: String {
    escaping { scalar in
      guard scalar.value >= 0x7F else { return nil }
      let digits = String(scalar.value, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }

  /// - Parameter escape: the escape of a control character; nil to keep it.
  /// - Returns: the text with the escapes.
  private func escaping(_ escape: (Unicode.Scalar) -> String?) -> String {
    guard unicodeScalars.contains(where: \.steersTerminals) else { return self }
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar.steersTerminals, let escaped = escape(scalar) {
        result += escaped.unicodeScalars
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }
}

extension Unicode.Scalar {
  /// Whether it is escaped. All such scalars are in the Basic Multilingual Plane.
  fileprivate var steersTerminals: Bool {
    switch value {
    case 0x20..<0x7F: false
    case 0x00..<0xA0, 0x2028, 0x2029: true
    default: properties.isBidiControl
    }
  }
}

/// A count with its noun: `1 request`, `2 requests`.
package func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}

/// A list of alternatives: `a`, `a or b`, `a, b or c`.
package func alternatives(_ words: [String]) -> String {
  guard words.count > 1, let last = words.last else { return words.joined() }
  return "\(words.dropLast().joined(separator: ", ")) or \(last)"
}
