/// Texts from elsewhere (cassettes, apps, upstreams) on their way to a terminal, where they must not steer it.
extension String {
  /// The text as a part of one line, without anything that a terminal acts on.
  ///
  /// Escaped as in Swift's literals, `\n`, `\r`, `\t` and `\u{1b}`: control characters (C0, DEL and C1), U+2028 and U+2029,
  /// and what changes the direction of text (Unicode's Bidi_Control). A backslash stays a backslash, so that commands in
  /// messages can be copied and a second pass changes nothing.
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

  /// A JSON document with the same characters as JSON's own escapes, `\u009b`; it reads as the same value.
  ///
  /// JSON escapes U+0000 to U+001F within strings anyway; those outside of strings are white space, and stay.
  package var escapedJSONForTerminal: String {
    escaping { scalar in
      guard scalar.value >= 0x7F else { return nil }
      let digits = String(scalar.value, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }

  /// - Parameter escape: the escape of a scalar that steers; nil to leave it.
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
  /// All of them are in the Basic Multilingual Plane.
  fileprivate var steersTerminals: Bool {
    switch value {
    case 0x20..<0x7F: false
    case 0x00..<0xA0, 0x2028, 0x2029: true
    default: properties.isBidiControl
    }
  }
}
