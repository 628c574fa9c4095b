import Basics
import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("OpenAPI document", .timeLimit(.minutes(5)))
struct DocumentTests {
  private struct Sample: Sendable {
    var method: String
    var template: String
    var target: String?
    var body: String?
    var status: Int
    var headers: [String] = []
  }

  private static let samples: [Sample] = [
    .init(method: "GET", template: "/v1/health", status: 200),
    .init(method: "GET", template: "/openapi.json", status: 200),
    .init(method: "GET", template: "/metrics", status: 200),
    .init(method: "POST", template: "/v1/environments", body: "{}", status: 201),
    .init(method: "POST", template: "/v1/environments", body: "[]", status: 400),
    .init(method: "POST", template: "/v1/environments", body: String(repeating: " ", count: 1 + 1 << 20), status: 413),
    .init(method: "GET", template: "/v1/environments", status: 200),
    .init(method: "GET", template: "/v1/environments", target: "/v1/environments?a=b", status: 400),
    .init(method: "GET", template: "/v1/environments/{id}", status: 200),
    .init(method: "GET", template: "/v1/environments/{id}", target: "/v1/environments/e2", status: 404),
    .init(method: "PATCH", template: "/v1/environments/{id}", body: #"{"values": {"a": 1}}"#, status: 200),
    .init(method: "PATCH", template: "/v1/environments/{id}", body: #"{"values": 1}"#, status: 400),
    .init(method: "POST", template: "/v1/environments/{id}/clock", body: #"{"advance": 90}"#, status: 200),
    .init(method: "POST", template: "/v1/environments/{id}/clock", body: #"{}"#, status: 400),
    .init(method: "POST", template: "/v1/environments/{id}/strings", body: #"{"key": "email"}"#, status: 200),
    .init(method: "GET", template: "/v1/environments/{id}/journal", status: 200),
    .init(
      method: "GET", template: "/v1/environments/{id}/journal", target: "/v1/environments/e2/journal", status: 404,
      headers: ["Accept: text/event-stream"]),
    .init(method: "GET", template: "/v1/environments/{id}/report", status: 200),
    .init(method: "POST", template: "/v1/ports", body: #"{"names": ["debug"]}"#, status: 201),
    .init(method: "GET", template: "/v1/ports", status: 200),
    .init(method: "DELETE", template: "/v1/ports/{port}", status: 204),
    .init(method: "DELETE", template: "/v1/ports/{port}", target: "/v1/ports/1", status: 404),
    .init(method: "DELETE", template: "/v1/ports/{port}", target: "/v1/ports/x", status: 400),
    .init(method: "POST", template: "/v1/leases", body: #"{"resources": {"patient": "patients"}}"#, status: 201),
    .init(method: "POST", template: "/v1/leases", body: #"{"resources": {"patient": "a b"}}"#, status: 400),
    .init(method: "GET", template: "/v1/leases", status: 200),
    .init(method: "DELETE", template: "/v1/leases/{id}", target: "/v1/leases/l1", status: 204),
    .init(method: "DELETE", template: "/v1/leases/{id}", status: 404),
    .init(method: "POST", template: "/v1/pools", body: #"{"name": "patients", "cleans": false}"#, status: 204),
    .init(method: "POST", template: "/v1/pools", body: #"{"name": "patients"}"#, status: 422),
    .init(method: "GET", template: "/v1/pools", status: 200),
    .init(
      method: "POST", template: "/v1/pools/{pool}/resources",
      body: #"{"resources": [{"name": "anna", "attributes": {"plan": "free"}, "secrets": {"pin": "1"}}]}"#, status: 200),
    .init(method: "GET", template: "/v1/pools/{pool}/resources", status: 200),
    .init(
      method: "PATCH", template: "/v1/pools/{pool}/resources/{resource}", body: #"{"retired": true}"#, status: 204),
    .init(method: "DELETE", template: "/v1/pools/{pool}", status: 204),
    .init(method: "DELETE", template: "/v1/pools/{pool}", status: 404),
    .init(method: "GET", template: "/v1/fleet/runs", status: 200),
    .init(
      method: "GET", template: "/v1/fleet/runs",
      target: "/v1/fleet/runs?ended=true&after=2018-10-08T09:00:00Z&limit=5", status: 200),
    .init(method: "GET", template: "/v1/fleet/runs/{id}", status: 404),
    .init(method: "GET", template: "/v1/fleet/runs/{id}/journal", status: 200),
    .init(method: "GET", template: "/v1/fleet/stats", target: "/v1/fleet/stats?days=30", status: 200),
    .init(method: "GET", template: "/v1/fleet/usage", target: "/v1/fleet/usage?file=a.har", status: 404),
    .init(method: "POST", template: "/v1/tokens", body: #"{"name": "ci"}"#, status: 201),
    .init(method: "POST", template: "/v1/tokens", body: #"{"name": "ci"}"#, status: 409),
    .init(method: "GET", template: "/v1/tokens", status: 200),
    .init(method: "DELETE", template: "/v1/tokens/{name}", target: "/v1/tokens/ci", status: 204),
    .init(method: "DELETE", template: "/v1/tokens/{name}", target: "/v1/tokens/ci", status: 404),
    .init(method: "DELETE", template: "/v1/environments/{id}", status: 200),
    .init(method: "DELETE", template: "/v1/environments/{id}", status: 410),
  ]

  /// A request's target for a path of the document.
  private static func target(of template: String) -> String {
    [("id", "e1"), ("port", "20005"), ("pool", "patients"), ("resource", "anna")].reduce(template) {
      $0.replacing("{\($1.0)}", with: $1.1)
    }
  }

  @Test("describes every answer")
  func truth() async throws {
    let operations = FakeOperations()
    operations.state.withLock { $0.entries = (1...3).map(FakeOperations.entry) }
    try await withControlServer(operations, hasPools: true) { served in
      let check = DocumentCheck(document: try await served.call("GET", "/openapi.json").json)
      for sample in Self.samples {
        let target =
          sample.target
          ?? Self.target(of: sample.template)
        let answer = try await served.call(sample.method, target, headers: sample.headers, body: sample.body)
        #expect(answer.status == sample.status, "\(sample.method) \(target): \(answer.text.prefix(300))")
        #expect(
          check.problems(
            method: sample.method, template: sample.template, status: answer.status,
            type: answer.headers["Content-Type"], body: answer.json) == [])
      }
      #expect(Set(Self.samples.map { "\($0.method) \($0.template)" }).count == RouteTable.all.count)
    }
  }

  @Test("describes every refusal")
  func refusals() async throws {
    try await withControlServer { served in
      let check = DocumentCheck(document: try await served.call("GET", "/openapi.json").json)
      for route in RouteTable.all {
        let target = Self.target(of: route.path.text)
        var requests = [served.request(route.method, target, headers: ["Origin: null"])]
        if !route.isOpen { requests.append(served.request(route.method, target, authorization: .some(nil))) }
        if route.body != nil { requests.append(served.request(route.method, target, body: "{}", type: "text/plain")) }
        for request in requests {
          let answer = try await served.send(request)
          #expect([401, 403, 415].contains(answer.status))
          #expect(
            check.problems(
              method: route.method, template: route.path.text, status: answer.status,
              type: answer.headers["Content-Type"], body: answer.json) == [])
        }
      }
    }
  }

  @Test(
    "describes the errors of the HTTP server", arguments: RouteTable.all.map(\.operation))
  func server(operation: String) async throws {
    let route = try #require(RouteTable.all.first { $0.operation == operation })
    try await withControlServer { served in
      let check = DocumentCheck(document: try await served.call("GET", "/openapi.json").json)
      let target = Self.target(of: route.path.text)
      let long = String(repeating: "x", count: 33_000)
      let requests = [
        (414, served.request(route.method, target + "?" + long)),
        (431, served.request(route.method, target, headers: ["X-Long: \(long)"])),
        (501, served.request("POST", target, headers: ["Transfer-Encoding: gzip"])),
        (
          413,
          served.request(
            "POST", target, headers: ["Expect: 100-continue", "Content-Length: 99999999999"])
        ),
      ]
      for (status, request) in requests {
        let answer = try await served.send(request)
        #expect(answer.status == status)
        #expect(
          check.problems(
            method: route.method, template: route.path.text, status: answer.status,
            type: answer.headers["Content-Type"], body: answer.json) == [])
      }
    }
  }

  @Test("has unique operation ids, and refers only to existing schemas")
  func operations() throws {
    #expect(Set(RouteTable.all.map(\.operation)).count == RouteTable.all.count)
    let document = try JSON.parse(Array(JSON.encode(OpenAPI.document(version: "1", bodyLimit: 1))))
    var names: [String] = []
    func collect(_ value: JSON) {
      if let name = value["$ref"]?.string { names.append(String(name.split(separator: "/").last ?? "")) }
      (value.object ?? []).forEach { collect($0.value) }
      (value.array ?? []).forEach(collect)
    }
    collect(document)
    #expect(!names.isEmpty && names.allSatisfy { Schemas.all[$0] != nil })
    #expect(Set(Schemas.all.keys).subtracting(names) == [])
    #expect(document["openapi"]?.string == "3.1.0")
  }
}

/// Validates answers against the OpenAPI document.
///
/// Implemented independently of the daemon's schemas. An unknown keyword counts as a problem.
struct DocumentCheck: Sendable {
  private static let words: Set<String> = [
    "type", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "contentEncoding",
    "enum", "items", "minItems", "maxItems", "properties", "required", "additionalProperties", "propertyNames",
    "maxProperties", "oneOf", "anyOf", "$ref", "description",
  ]

  let document: JSON

  /// Returns what is wrong with an answer according to the document.
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
      return ["\(method) \(template): \(status) has type \(type ?? "none")"]
    }
    guard type.hasSuffix("json") else { return [] }
    return problems(schema, body, "\(method) \(template) \(status)")
  }

  func problems(_ schema: JSON, _ value: JSON, _ place: String) -> [String] {
    if let name = schema["$ref"]?.string {
      guard let target = document["components"]?["schemas"]?[String(name.split(separator: "/").last ?? "")] else {
        return ["\(place): \(name) doesn't exist"]
      }
      return problems(target, value, place)
    }
    var found: [String] = []
    func check(_ holds: Bool, _ text: String) { if !holds { found.append("\(place): \(text)") } }
    for word in schema.object?.map(\.key) ?? [] { check(Self.words.contains(word), "unknown keyword \(word)") }
    if let type = schema["type"]?.string { check(isA(type, value), "not of type \(type)") }
    if let words = schema["enum"]?.array { check(words.contains(value), "not in enum") }
    if let number = value.double {
      if let low = schema["minimum"]?.double { check(number >= low, "\(number) < \(low)") }
      if let high = schema["maximum"]?.double { check(number <= high, "\(number) > \(high)") }
    }
    if let text = value.string {
      if let least = schema["minLength"]?.int { check(text.unicodeScalars.count >= least, "too short") }
      if let most = schema["maxLength"]?.int { check(text.unicodeScalars.count <= most, "too long") }
      if schema["format"]?.string == "date-time" { check(RFC3339.parse(text) != nil, "not a date-time") }
      if let pattern = schema["pattern"]?.string { check(matches(pattern, text), "doesn't match \(pattern)") }
    }
    for (index, element) in (value.array ?? []).enumerated() {
      if let items = schema["items"] { found += problems(items, element, "\(place).\(index)") }
    }
    if let members = value.object { found += objectProblems(schema, value, members, place) }
    if let ways = schema["anyOf"]?.array {
      check(ways.contains { problems($0, value, place).isEmpty }, "matches no alternative")
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
