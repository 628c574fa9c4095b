package import Basics
import LaunchContract

/// `/openapi.json`: the route table as an OpenAPI 3.1 document.
enum OpenAPI {
  static func document(version: String, bodyLimit: Int) -> JSON {
    [
      "openapi": "3.1.0",
      "info": [
        "title": "Diorama's control API", "version": .string(version), "summary": "Environments and ports for tests.",
        "description": .string(description(bodyLimit)),
      ],
      "servers": [["url": "/", "description": "The daemon's loopback port, or its Unix socket."]],
      "security": [["token": []]],
      "paths": .object(paths),
      "components": [
        "securitySchemes": [
          "token": [
            "type": "http", "scheme": "bearer",
            "description":
              "The token in control.json in the state folder. It may be omitted over the Unix socket, where the system identifies the client.",
          ]
        ],
        "schemas": .object(Schemas.all.mapValues(\.document)),
      ],
    ]
  }

  private static func description(_ bodyLimit: Int) -> String {
    "Times are RFC 3339, durations in seconds, errors application/problem+json. A body has at most "
      + "\(bodyLimit) bytes; unknown members and query items are refused, and so is null for a value that "
      + "can be omitted. Status 400 means that a request does not fit this document, 422 that it cannot be fulfilled. "
      + "HEAD works like GET. Malformed HTTP and heads over 40 KiB are answered by the HTTP library: status 400, "
      + "414, 431 or 505, in HTML."
  }

  private static var paths: [String: JSON] {
    var paths: [String: [String: JSON]] = [:]
    for route in RouteTable.all { paths[route.path.text, default: [:]][route.method.lowercased()] = operation(route) }
    return paths.mapValues { .object($0) }
  }

  private static func operation(_ route: Route) -> JSON {
    var operation: [String: JSON] = [
      "operationId": .string(route.operation), "summary": .string(route.summary), "responses": responses(route),
    ]
    if route.isOpen { operation["security"] = [] }
    if !route.parameters.isEmpty { operation["parameters"] = .array(route.parameters.map(parameter)) }
    if let body = route.body {
      let schema: JSON = ["schema": Schema.reference(body.schema).document]
      operation["requestBody"] = [
        "required": true, "content": .object(Dictionary(uniqueKeysWithValues: body.mediaTypes.map { ($0, schema) })),
      ]
    }
    return .object(operation)
  }

  private static func parameter(_ parameter: Parameter) -> JSON {
    [
      "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
      "required": .bool(parameter.place == .path), "description": .string(parameter.note),
      "schema": parameter.schema.document,
    ]
  }

  private static func responses(_ route: Route) -> JSON {
    var responses: [String: JSON] = [:]
    for answer in route.answers {
      var response: [String: JSON] = ["description": .string(answer.note)]
      if !answer.content.isEmpty {
        response["content"] = .object(answer.content.mapValues { ["schema": $0.document] })
      }
      if !answer.headers.isEmpty {
        response["headers"] = .object(
          answer.headers.mapValues {
            ["description": .string($0), "required": true, "schema": ["type": "string"]]
          })
      }
      responses["\(answer.status)"] = .object(response)
    }
    for (status, note) in route.allProblems {
      responses["\(status)"] = [
        "description": .string(note.prefix(1).uppercased() + note.dropFirst() + "."),
        "content": ["application/problem+json": ["schema": Schema.reference("Problem").document]],
      ]
    }
    return .object(responses)
  }
}

extension Schema {
  /// The schema in the OpenAPI document.
  var document: JSON { .object(members) }

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
    case .reference(let name): return ["$ref": .string("#/components/schemas/\(name)")]
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
  var pattern: String? {
    switch form {
    case .any, .word, .instant: nil
    case .line: "^[^\\u0000-\\u001F\\u007F-\\u009F]*$"
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
