import Foundation

extension PropertyList {
  /// The value as a program argument that the argument domain of `UserDefaults` reads back with its type.
  ///
  /// `UserDefaults` parses an argument as a property list if it begins with one of `{[(<"`, and otherwise takes it as a
  /// string with white space trimmed. So plain strings are unchanged, and other values become XML property list elements:
  /// `<integer>-5</integer>`, `<string> spaced </string>`.
  ///
  /// - Returns: nil for values that cannot be expressed: control characters in XML, fractional seconds, NUL.
  var argument: String? {
    if case .string(let text) = self, Self.isPlain(text) { return text }
    return element
  }

  private var element: String? {
    switch self {
    case .bool(let value): return value ? "<true/>" : "<false/>"
    case .int(let value): return "<integer>\(value)</integer>"
    case .double(let value): return "<real>\(value)</real>"
    case .string(let text): return Self.escaped(text).map { "<string>\($0)</string>" }
    case .date(let date):
      let text = RFC3339.format(date)
      return text.contains(".") || RFC3339.parse(text) != date ? nil : "<date>\(text)</date>"
    case .data(let data): return "<data>\(data.base64EncodedString())</data>"
    case .array(let values):
      var inner = ""
      for value in values {
        guard let element = value.element else { return nil }
        inner += element
      }
      return "<array>\(inner)</array>"
    case .dictionary(let members):
      var inner = ""
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        guard let key = Self.escaped(name), let element = value.element else { return nil }
        inner += "<key>\(key)</key>\(element)"
      }
      return "<dict>\(inner)</dict>"
    }
  }

  private static func isPlain(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last,
      !"-{[(<\"".unicodeScalars.contains(first), !text.unicodeScalars.contains("\0")
    else { return false }
    return [first, last].allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format: false
      default: true
      }
    }
  }

  /// - Returns: nil for characters that XML 1.0 cannot contain or would change (a carriage return).
  private static func escaped(_ text: String) -> String? {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\t", "\n", " "..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"..."\u{10FFFF}":
        result.unicodeScalars.append(scalar)
      default: return nil
      }
    }
    return result
  }
}
