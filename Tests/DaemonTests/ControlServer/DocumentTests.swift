import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("The served OpenAPI document", .timeLimit(.minutes(5)))
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
    .init(method: "DELETE", template: "/v1/environments/{id}", status: 200),
    .init(method: "DELETE", template: "/v1/environments/{id}", status: 410),
  ]

  @Test("tells the truth of each answer")
  func truth() async throws {
    let operations = FakeOperations()
    operations.state.withLock { $0.entries = (1...3).map(FakeOperations.entry) }
    try await withSurface(operations) { served in
      let check = DocumentCheck(document: try await served.call("GET", "/openapi.json").json)
      for sample in Self.samples {
        let target =
          sample.target
          ?? sample.template.replacing("{id}", with: "e1").replacing("{port}", with: "20005")
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

  @Test("tells the truth of a refusal, wherever it comes")
  func refusals() async throws {
    try await withSurface { served in
      let check = DocumentCheck(document: try await served.call("GET", "/openapi.json").json)
      for route in RouteTable.all {
        let target = route.path.text.replacing("{id}", with: "e1").replacing("{port}", with: "20005")
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
    "tells the truth of what the server says before anybody here is asked", arguments: RouteTable.all.map(\.operation))
  func server(operation: String) async throws {
    let route = try #require(RouteTable.all.first { $0.operation == operation })
    try await withSurface { served in
      let check = DocumentCheck(document: try await served.call("GET", "/openapi.json").json)
      let target = route.path.text.replacing("{id}", with: "e1").replacing("{port}", with: "20005")
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

  @Test("has each operation once, and names no schema that is not there")
  func operations() throws {
    #expect(Set(RouteTable.all.map(\.operation)).count == RouteTable.all.count)
    let document = try JSON.parse(Array(ContractJSON.encode(OpenAPI.document(version: "1", bodyLimit: 1))))
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
