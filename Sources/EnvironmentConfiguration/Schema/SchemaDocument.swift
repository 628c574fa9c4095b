package import Basics
import LaunchContract

extension Schema {
  /// The schema in the OpenAPI document.
  package var document: JSON { .object(members) }

  private var members: [String: JSON] {
    switch self {
    case .anything: return [:]
    case .boolean: return ["type": "boolean"]
    case .integer(let range):
      return ["type": "integer", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)]
    case .number(let range):
      return ["type": "number", "minimum": .double(range.lowerBound), "maximum": .double(range.upperBound)]
    case .text(let rule): return rule.members
    case .array(let element, let count):
      var members: [String: JSON] = ["type": "array", "items": element.document]
      if count.lowerBound > 0 { members["minItems"] = .int(count.lowerBound) }
      if count.upperBound != Int.max { members["maxItems"] = .int(count.upperBound) }
      return members
    case .map(let rule):
      var members: [String: JSON] = ["type": "object", "additionalProperties": rule.values.document]
      let names = rule.names.members.filter { $0.key != "type" }
      if !names.isEmpty { members["propertyNames"] = .object(names) }
      if rule.most != Int.max { members["maxProperties"] = .int(rule.most) }
      return members
    case .object(let rule): return rule.document
    case .named(let name, _): return ["$ref": .string("#/components/schemas/\(name)")]
    case .shorthand(let text, let rule): return ["anyOf": [.object(text.members), .object(rule.document)]]
    case .nullable(let schema): return ["anyOf": [schema.document, ["type": "null"]]]
    }
  }
}

extension ObjectRule {
  fileprivate var document: [String: JSON] {
    var properties: [String: JSON] = [:]
    for member in members {
      var schema = member.schema.document
      if !member.note.isEmpty, case .object(var inner) = schema {
        inner["description"] = .string(member.note)
        schema = .object(inner)
      }
      properties[member.name] = schema
    }
    var document: [String: JSON] = [
      "type": "object", "properties": .object(properties), "additionalProperties": false,
    ]
    let required = members.filter(\.isRequired).map { JSON.string($0.name) }
    if !required.isEmpty { document["required"] = .array(required) }
    if !exactlyOne.isEmpty {
      document["oneOf"] = .array(exactlyOne.map { ["required": [.string($0)]] })
    }
    if !note.isEmpty { document["description"] = .string(note) }
    return document
  }
}

extension TextRule {
  fileprivate var members: [String: JSON] {
    if case .word(let words) = form { return ["type": "string", "enum": .array(words.map { .string($0) })] }
    var members: [String: JSON] = ["type": "string"]
    if count.lowerBound > 0 { members["minLength"] = .int(count.lowerBound) }
    if count.upperBound != Int.max { members["maxLength"] = .int(count.upperBound) }
    if let pattern { members["pattern"] = .string(pattern) }
    switch form {
    case .instant: members["format"] = "date-time"
    case .base64: members["contentEncoding"] = "base64"
    default: break
    }
    return members
  }

  /// The check of ``problem(with:)`` as an ECMA-262 regular expression; nil if another keyword expresses it.
  package var pattern: String? {
    switch form {
    case .any, .word, .instant: nil
    case .line, .path: "^[^\\u0000-\\u001F\\u007F-\\u009F]*$"
    case .base64: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
    case .absolutePath: "^(/(?!\\.\\.(/|$))[^/\\u0000-\\u001F\\u007F-\\u009F]*)+$"
    case .origin: "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$"
    case .identifier: "^[A-Za-z0-9._-]*$"
    }
  }
}

// Literals keep a handwritten document readable.
extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int) { self = .int(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements) { _, last in last })
  }
}
