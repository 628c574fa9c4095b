/// Identifiers in generated code.
package enum Identifier {
  /// A name as the text of a raw identifier.
  ///
  /// A raw identifier cannot contain backquotes, backslashes, or white space other than spaces; it cannot begin with `$`, or
  /// consist of operators alone (SE-0451), among which are many symbols, such as `→`.
  package static func text(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "`": text += "'"
      case "\\": text += "∖"
      case _ where scalar.properties.isWhitespace || scalar.properties.generalCategory == .control: text += " "
      case "\u{FEFF}": continue
      default: text.unicodeScalars.append(scalar)
      }
    }
    if text.first == "$" { text = " " + text }
    guard !text.contains(where: { $0.isLetter || $0.isNumber }) else { return text }
    return "unnamed" + (text.isEmpty ? "" : " \(text)")
  }

  /// The name, numbered if it was used before.
  package static func unique(_ name: String, _ used: inout Set<String>, separator: String = " ") -> String {
    var unique = name
    var number = 2
    while !used.insert(unique).inserted {
      unique = "\(name)\(separator)" + (separator == " " ? "(\(number))" : "\(number)")
      number += 1
    }
    return unique
  }

  /// A name in ASCII letters, digits and underscores, for test libraries that find tests by plain identifiers.
  package static func ascii(_ name: String, capitalized: Bool) -> String {
    let words = name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    guard capitalized else { return words.isEmpty ? "scenario" : words.joined(separator: "_") }
    let text = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return text.first.map { $0.isNumber ? "_\(text)" : text } ?? ""
  }
}

extension String {
  /// The text as a string literal on one line.
  package var literal: String {
    var text = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _
      where scalar.value < 0x20 || scalar.value == 0x7F || [0x2028, 0x2029, 0x85, 0xFEFF].contains(scalar.value):
        text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
