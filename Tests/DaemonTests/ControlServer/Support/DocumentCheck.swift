import EnvironmentConfiguration
import LaunchContract

/// Holds values against an OpenAPI document as it is served, by the words of JSON Schema that it uses.
///
/// It knows nothing of the schemas in the daemon: an unknown word in a schema is a finding of its own.
struct DocumentCheck: Sendable {
  private static let words: Set<String> = [
    "type", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "contentEncoding",
    "enum", "items", "minItems", "maxItems", "properties", "required", "additionalProperties", "propertyNames",
    "maxProperties", "oneOf", "anyOf", "$ref", "description",
  ]

  let document: JSON

  /// What is wrong with an answer to a call, by the document.
  func problems(
    method: String, template: String, status: Int, type: String?, body: JSON
  ) -> [String] {
    guard let response = document["paths"]?[template]?[method.lowercased()]?["responses"]?["\(status)"] else {
      return ["\(method) \(template): \(status) is not documented"]
    }
    guard let content = response["content"] else {
      return type == nil ? [] : ["\(method) \(template): \(status) has a body"]
    }
    guard let type, let schema = content[type]?["schema"] else {
      return ["\(method) \(template): \(status) comes as \(type ?? "nothing")"]
    }
    guard type.hasSuffix("json") else { return [] }
    return problems(schema, body, "\(method) \(template) \(status)")
  }

  func problems(_ schema: JSON, _ value: JSON, _ place: String) -> [String] {
    if let name = schema["$ref"]?.string {
      guard let target = document["components"]?["schemas"]?[String(name.split(separator: "/").last ?? "")] else {
        return ["\(place): \(name) leads nowhere"]
      }
      return problems(target, value, place)
    }
    var found: [String] = []
    func check(_ holds: Bool, _ text: String) { if !holds { found.append("\(place): \(text)") } }
    for word in schema.object?.map(\.key) ?? [] { check(Self.words.contains(word), "unknown word \(word)") }
    if let type = schema["type"]?.string { check(isA(type, value), "it is no \(type)") }
    if let words = schema["enum"]?.array { check(words.contains(value), "it is none of the words") }
    if let number = value.double {
      if let low = schema["minimum"]?.double { check(number >= low, "\(number) < \(low)") }
      if let high = schema["maximum"]?.double { check(number <= high, "\(number) > \(high)") }
    }
    if let text = value.string {
      if let least = schema["minLength"]?.int { check(text.unicodeScalars.count >= least, "too short") }
      if let most = schema["maxLength"]?.int { check(text.unicodeScalars.count <= most, "too long") }
      if schema["format"]?.string == "date-time" { check(RFC3339.parse(text) != nil, "no date-time") }
      if let pattern = schema["pattern"]?.string { check(matches(pattern, text), "not like \(pattern)") }
    }
    for (index, element) in (value.array ?? []).enumerated() {
      if let items = schema["items"] { found += problems(items, element, "\(place).\(index)") }
    }
    if let members = value.object { found += objectProblems(schema, value, members, place) }
    if let ways = schema["anyOf"]?.array {
      check(ways.contains { problems($0, value, place).isEmpty }, "fits none")
    }
    return found
  }

  private func objectProblems(_ schema: JSON, _ value: JSON, _ members: [JSON.Member], _ place: String) -> [String] {
    var found: [String] = []
    for name in schema["required"]?.array ?? [] where value[name.string ?? ""] == nil {
      found.append("\(place): \(name.string ?? "") is missing")
    }
    for member in members {
      let inner = "\(place).\(member.key)"
      if let property = schema["properties"]?[member.key] {
        found += problems(property, member.value, inner)
      } else if schema["additionalProperties"]?.bool == false {
        found.append("\(inner): not documented")
      } else if let others = schema["additionalProperties"] {
        found += problems(others, member.value, inner)
      }
    }
    return found
  }

  private func isA(_ type: String, _ value: JSON) -> Bool {
    switch type {
    case "object": value.object != nil
    case "array": value.array != nil
    case "string": value.string != nil
    case "integer": value.int != nil
    case "number": value.double != nil
    case "boolean": value.bool != nil
    case "null": value == .null
    default: false
    }
  }

  private func matches(_ pattern: String, _ text: String) -> Bool {
    (try? Regex(pattern).matchingSemantics(.unicodeScalar).firstMatch(in: text)) != nil
  }
}
