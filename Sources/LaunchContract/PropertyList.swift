package import Basics
package import Foundation

/// A value of `UserDefaults`: JSON without null, plus dates and data.
///
/// In a contract's `defaults`, an object with one member expresses what JSON lacks:
///
/// | JSON | value |
/// |---|---|
/// | `{"$date": "2018-10-08T09:00:00Z"}` | a date, in RFC 3339 |
/// | `{"$data": "AQI="}` | data, in Base64 |
/// | `{"$dictionary": {"$date": "x"}}` | a dictionary that looks like one of these |
package enum PropertyList: Sendable, Hashable {
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case date(Date)
  case data(Data)
  case array([PropertyList])
  case dictionary([String: PropertyList])

  /// Converts a value of a contract.
  ///
  /// - Parameters:
  ///   - value: the JSON.
  ///   - place: its position, for errors: `defaults.lastLogin`.
  ///   - hasTypedForms: whether to interpret `$date`, `$data` and `$dictionary`.
  /// - Throws: ``CodedError`` for null and for invalid dates or data.
  package init(_ value: JSON, at place: String, hasTypedForms: Bool = true) throws(CodedError) {
    switch value {
    case .null: throw .contract("\(place): user defaults cannot hold null; leave it out")
    case .bool(let value): self = .bool(value)
    case .number(let text): self = Int(text).map(PropertyList.int) ?? .double(Double(text) ?? .nan)
    case .string(let value): self = .string(value)
    case .array(let values):
      var list: [PropertyList] = []
      for (index, value) in values.enumerated() {
        list.append(try PropertyList(value, at: "\(place).\(index)", hasTypedForms: hasTypedForms))
      }
      self = .array(list)
    case .object(let members):
      if hasTypedForms, members.count == 1,
        let typed = try PropertyList(form: members[0].key, members[0].value, at: place)
      {
        self = typed
      } else {
        self = try PropertyList(members: members, at: place, hasTypedForms: hasTypedForms)
      }
    }
  }

  private init(
    members: [JSON.Member], at place: String, hasTypedForms: Bool
  ) throws(CodedError) {
    var dictionary: [String: PropertyList] = [:]
    for member in members {
      dictionary[member.key] = try PropertyList(
        member.value, at: "\(place).\(member.key)", hasTypedForms: hasTypedForms)
    }
    self = .dictionary(dictionary)
  }

  /// - Returns: nil if the member is not one of the typed forms.
  private init?(form: String, _ value: JSON, at place: String) throws(CodedError) {
    switch form {
    case "$date":
      guard let date = value.string.flatMap(RFC3339.parse) else {
        throw .contract("\(place).$date: expected an instant such as \"2018-10-08T09:00:00Z\"")
      }
      self = .date(date)
    case "$data":
      guard let data = value.string.flatMap({ Data(base64Encoded: $0) }) else {
        throw .contract("\(place).$data: expected a Base64 string such as \"AQI=\"")
      }
      self = .data(data)
    case "$dictionary":
      guard case .object(let members) = value else {
        throw .contract("\(place).$dictionary: expected an object")
      }
      self = try PropertyList(members: members, at: place, hasTypedForms: true)
    default: return nil
    }
  }
}

extension LaunchContract {
  /// The user defaults for the app, with their types.
  ///
  /// - Throws: ``CodedError`` for the first one, sorted by name, that user defaults cannot hold.
  package func userDefaults() throws(CodedError) -> [String: PropertyList] {
    var found: [String: PropertyList] = [:]
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) {
      found[name] = try PropertyList(value, at: "defaults.\(name)")
    }
    return found
  }
}

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
