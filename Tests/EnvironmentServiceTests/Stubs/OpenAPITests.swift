import Basics
import ControlAPI
import Foundation
import HTTPMessages
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

@Suite("An environment with an OpenAPI document")
struct OpenAPITests {
  private static let document = """
    openapi: 3.1.0
    info: {title: Shelter, version: "1"}
    paths:
      /pets:
        get: {responses: {"200": {description: all, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}}}}
        post:
          requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
          responses: {"201": {description: created, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
      /pets/{id}:
        parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
        get:
          responses:
            "200": {description: one, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
            "404": {description: gone, content: {application/json: {example: {gone: true}}}}
    components:
      schemas:
        Pet:
          type: object
          required: [id, name]
          properties: {id: {type: integer}, name: {type: string}, home: {type: string, const: "https://api.test/home"}}
    """

  private func withDocument(_ body: (ServiceFixture) async throws -> Void) async throws {
    try await withService { fixture in
      try fixture.write(Self.document, to: "api.yaml")
      try await body(fixture)
    }
  }

  private func mocked(
    _ fixture: ServiceFixture, seed: String? = nil, _ configure: (inout EnvironmentSpecification) -> Void = { _ in }
  ) throws -> Environment {
    try fixture.provision(.mock, ["api": Origin(parsing: "https://api.test")]) {
      $0.openAPI = "\(fixture.folder)/api.yaml"
      $0.seed = seed
      configure(&$0)
    }
  }

  @Test("answers from it on the endpoint and the main port, with the endpoint's URLs, the same in every run")
  func answers() async throws {
    try await withDocument { fixture in
      func trace(_ seed: String?) async throws -> [String] {
        let environment = try mocked(fixture, seed: seed)
        #expect(environment.notes == [])
        var texts: [String] = []
        for target in ["/pets", "/pets/7", "/pets", "/pets?page=2"] {
          texts.append(try await environment.get(target).text)
        }
        let first = try await environment.get("/pets/7")
        #expect(first.status == 200 && first.headers["Content-Type"] == "application/json")
        #expect(try first.json["id"] == .int(7))
        #expect(try first.json["home"] == .string("http://127.0.0.1:\(environment.upstreams[0].port)/home"))
        let plain = try await ask(environment.mainPort, request("GET", "/pets/7"))
        #expect(try plain.json["name"] == first.json["name"])
        #expect(texts[0] == texts[2] && texts[0] != texts[3])
        let report = await environment.end().report
        #expect(report.ok && report.requests.mocked == 6 && report.contractNotes == nil)
        return try texts.map { try JSON.parse(Array($0.utf8)) }.map { pets in
          (pets.array ?? [pets]).map { "\($0["id"]?.text ?? "") \($0["name"]?.text ?? "")" }.joined()
        }
      }
      let first = try await trace(nil)
      #expect(try await trace(nil) == first)
      #expect(try await trace("other") != first)
    }
  }

  @Test("answers after stubs and collections")
  func order() async throws {
    try await withDocument { fixture in
      try fixture.writeMappings(
        #"{"request": {"urlPath": "/pets/1"}, "response": {"jsonBody": {"id": 1, "name": "Stub"}, "#
          + #""headers": {"Content-Type": "application/json"}}}"#)
      try fixture.write(#"{"pets": [{"id": 2, "name": "Item"}]}"#, to: "items.json")
      let environment = try mocked(fixture) {
        $0.stubs = "\(fixture.folder)/stubs"
        $0.collections = "\(fixture.folder)/items.json"
      }
      #expect(try await environment.get("/pets/1").json["name"] == .string("Stub"))
      #expect(try await environment.get("/pets/2").json["name"] == .string("Item"))
      // A collection's own 404 is no violation.
      #expect(try await environment.get("/pets/3").status == 404)
      let report = await environment.end().report
      #expect(report.ok, "\(report.contractViolations ?? [])")
    }
  }

  @Test("rejects invalid requests, and reports them in the journal and the report")
  func rejects() async throws {
    try await withDocument { fixture in
      let environment = try mocked(fixture)
      let answer = try await environment.post("/pets", #"{"id": "x"}"#)
      #expect(answer.status == 422)
      #expect(try answer.json["errors"]?.array?.map { $0["pointer"] } == [.string("/name"), .string("/id")])
      #expect(try await environment.post("/pets", "x", type: "text/plain").status == 415)
      let entries = environment.journalPage(after: 0, limit: 10).entries
      #expect(entries[0].kind == "mocked" && entries[0].status == 422)
      #expect(entries[0].detail?.hasPrefix("contract POST /pets; request body /name: is required and missing") == true)
      let report = await environment.end().report
      #expect(report.ok && report.contractNotes?.count == 3)
      let line =
        "rejected POST https://api.test/pets with 422: request body /name: is required and missing, "
        + "#/components/schemas/Pet/required/1"
      #expect(report.contractNotes?[0] == line)
      #expect(ReportText(report).lines().contains("contract: \(line)"))
    }
  }

  @Test("fails a request for an unknown path, and names the nearest path", arguments: [false, true])
  func misses(isMain: Bool) async throws {
    try await withDocument { fixture in
      let environment = try mocked(fixture)
      func get(_ target: String, _ headers: Headers = [:], method: String = "GET") async throws -> RawClient.Answer {
        let port = isMain ? environment.mainPort : environment.upstreams[0].port
        return try await ask(port, request(method, target, headers))
      }
      let miss = try await get("/pest/7")
      #expect(miss.status == 404 && miss.headers["Diorama-Miss"] == "1")
      #expect(try miss.json["detail"]?.string?.hasSuffix("the nearest one is GET /pets/{id}") == true, "\(miss.text)")
      #expect(try await get("/pets/7", method: "DELETE").status == 405)
      let unknown = try await get("/pets/7", ["Prefer": "code=500"])
      #expect(unknown.status == 404 && unknown.headers["Diorama-Miss"] == "1")
      #expect(try await get("/pets/7", ["Prefer": "code=404"]).json["gone"] == .bool(true))
      let report = await environment.end().report
      #expect(!report.ok && report.requests.unmatched == 3 && report.requests.mocked == 1)
      #expect(report.unmatched[0].nearestStubs?.map(\.stub) == ["contract GET /pets/{id}"])
      #expect(report.unmatched[1].refusal == "\(fixture.folder)/api.yaml has no DELETE /pets/{id}; it has GET")
      #expect(report.unmatched[2].refusal?.hasSuffix("code=500 is not in the document, which has 200, 404") == true)
    }
  }

  @Test("fails for stubs and collections that violate it, in every mode", arguments: [Mode.mock, .replay])
  func violations(mode: Mode) async throws {
    try await withDocument { fixture in
      try fixture.writeMappings(
        #"{"mappings": [{"request": {"method": "GET", "urlPath": "/pets/1"}, "response": {"jsonBody": {"id": 1}, "#
          + #""headers": {"Content-Type": "application/json"}}}, "#
          + #"{"request": {"method": "POST", "urlPath": "/pets"}, "response": {"status": 201, "#
          + #""jsonBody": {"id": 1, "name": "x"}, "headers": {"Content-Type": "application/json"}}}, "#
          + #"{"request": {"urlPath": "/pets/9"}, "response": {"status": 503}}]}"#)
      try fixture.write(#"{"pets": [{"id": 2}]}"#, to: "items.json")
      try fixture.writeCassette(url: "https://api.test/other", text: "x")
      let environment = try fixture.provision(mode, ["api": Origin(parsing: "https://api.test")]) {
        $0.openAPI = "\(fixture.folder)/api.yaml"
        $0.stubs = "\(fixture.folder)/stubs"
        $0.collections = "\(fixture.folder)/items.json"
      }
      for target in ["/pets/1", "/pets/2", "/pets/9", "/pets/1"] { _ = try await environment.get(target) }
      #expect(try await environment.post("/pets", "{}").status == 201)
      let report = await environment.end().report
      let missing = "is required and missing, #/components/schemas/Pet/required"
      #expect(
        report.contractViolations == [
          "stub GET /pets/1: response body /name: \(missing)/1",
          "collection, GET /pets/2: response body /name: \(missing)/1",
          "POST https://api.test/pets: request body /id: \(missing)/0",
          "POST https://api.test/pets: request body /name: \(missing)/1",
        ])
      #expect(!report.ok && report.failures == [])
      #expect(ReportText(report).lines().contains { $0.hasPrefix("violates the contract: stub GET /pets/1: ") })
      #expect(JUnitReport(report).document.contains("message=\"violates the contract: stub GET /pets/1"))
    }
  }

  @Test("checks requests in other modes, without answering them")
  func live() async throws {
    let upstream = try TestUpstream { text("live \($0.target)", type: "text/plain") }
    try await withService(upstream) { fixture in
      try fixture.write(Self.document, to: "api.yaml")
      for mode in [Mode.record, .replay, .proxy] {
        let environment = try fixture.provision(mode, ["api": upstream.origin]) {
          $0.openAPI = "\(fixture.folder)/api.yaml"
        }
        #expect(try await environment.get("/pets/7").text == "live /pets/7")
        #expect(try await environment.get("/unknown").text == "live /unknown")
        #expect(try await environment.post("/pets", #"{"id": 1, "name": "x"}"#).text == "live /pets")
        var report = environment.report()
        #expect(report.ok && report.contractViolations == nil, "\(mode) \(report.contractViolations ?? [])")
        _ = try await environment.get("/pets/x")
        report = environment.report()
        #expect(
          report.contractViolations?.first?.contains("/pets/x: path `id`: is a string, not integer") == true, "\(mode)")
        #expect(!report.ok)
        _ = await environment.end(hasSucceeded: mode != .record)
        if mode == .record {
          try await fixture.record(["api": upstream.origin]) { environment in
            for target in ["/pets/7", "/unknown", "/pets/x"] { _ = try await environment.get(target) }
            _ = try await environment.post("/pets", #"{"id": 1, "name": "x"}"#)
          }
        }
      }
    }
  }

  @Test("redacts credentials in what it reports")
  func redacted() async throws {
    try await withDocument { fixture in
      let environment = try mocked(fixture) {
        $0.credentials = [.init(service: "s", account: "a", secret: Array("hunter2secret".utf8))]
      }
      _ = try await environment.get("/pets/hunter2secret")
      _ = try await environment.post("/pets", #"{"id": "hunter2secret", "name": "x"}"#)
      let report = await environment.end().report
      #expect(report.contractNotes?.count == 2)
      #expect(report.contractNotes?.contains { $0.contains("hunter2secret") } == false)
    }
  }

  @Test("keeps violations across a restart")
  func restart() async throws {
    try await withDocument { fixture in
      try fixture.writeMappings(#"{"request": {"urlPath": "/pets/1"}, "response": {"body": "x"}}"#)
      let environment = try mocked(fixture) { $0.stubs = "\(fixture.folder)/stubs" }
      _ = try await environment.get("/pets/1")
      let snapshot = try EnvironmentSnapshot(decoding: environment.snapshot().encoded())
      _ = await environment.end()
      let restored = try fixture.service.provision(snapshot.specification, restoring: snapshot)
      let report = await restored.end().report
      #expect(!report.ok && report.contractViolations?.count == 1)
    }
  }

  @Test("does not start without a valid document")
  func broken() async throws {
    try await withService { fixture in
      try fixture.write("swagger: '2.0'", to: "api.yaml")
      let old = #expect(throws: CodedError.self) { try mocked(fixture) }
      #expect(old?.message.contains("Swagger 2.0") == true)
      let none = #expect(throws: CodedError.self) { try mocked(fixture) { $0.openAPI = "\(fixture.folder)/none.yaml" } }
      #expect(
        none?.kind == .noCassette && none?.message.hasSuffix("none.yaml: cannot be read; check that it exists") == true)
    }
  }
}
