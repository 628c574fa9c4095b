import Basics
import EnvironmentConfiguration
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
