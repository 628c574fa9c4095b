import Basics
import HTTPMessages
import Testing

@testable import CassetteChecks
@testable import Cassettes

@Suite("Answers from an OpenAPI document")
struct OpenAPIMockTests {
  static let yaml = """
    openapi: 3.0.3
    info: {title: Shelter, version: "1"}
    servers: [{url: https://shelter.example/v1}]
    paths:
      /pets:
        get:
          parameters:
            - {name: limit, in: query, schema: {type: integer, maximum: 50}}
            - {name: kinds, in: query, style: pipeDelimited, explode: false, schema: {type: array, items: {enum: [cat, dog]}}}
            - {name: X-Trace, in: header, required: true, schema: {type: string}}
          responses:
            "200":
              description: pets
              headers: {X-Total: {schema: {type: integer, example: 42}}}
              content:
                application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}
                text/csv: {example: "id,name"}
        post:
          requestBody:
            required: true
            content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
          responses:
            "201": {description: created, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
            "400":
              description: invalid
              content: {application/json: {example: {code: bad}}}
      /pets/{petId}:
        parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
        get:
          responses:
            "200":
              description: a pet
              content:
                application/json:
                  schema: {$ref: "#/components/schemas/Pet"}
                  examples:
                    cat: {value: {id: 1, name: Tom}}
                    dog: {$ref: "#/components/examples/Dog"}
                    odd: {value: {id: 1}}
            "404": {description: gone, content: {application/problem+json: {example: {title: Gone}}}}
            5XX: {description: broken}
        delete: {responses: {"204": {description: removed}}}
        put:
          requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
          responses: {"200": {description: changed, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
      /moved: {get: {responses: {"302": {description: elsewhere, headers: {Location: {schema: {type: string, format: uri}}}}}}}
      /secret:
        get:
          security: [{token: []}, {key: []}]
          responses: {"200": {description: yes}}
    components:
      securitySchemes:
        token: {type: http, scheme: bearer}
        key: {type: apiKey, in: query, name: key}
      examples: {Dog: {value: {id: 2, name: Rex}}}
      schemas:
        Pet:
          type: object
          required: [id, name]
          properties:
            id: {type: integer}
            name: {type: string}
            tags: {type: array, items: {type: string}}
    """

  private static let mock = try? OpenAPIMock(Array(yaml.utf8), name: "shelter.yaml")

  private func answer(
    _ method: String, _ target: String, _ headers: Headers = [:], _ body: String = "", seed: Int = 3
  ) throws -> OpenAPIMock.Answer? {
    var draw = seed
    return try #require(Self.mock).answer(to: message(method, target, headers, body)) { range in
      draw += 1
      return range.lowerBound + draw % range.count
    }
  }

  private func message(_ method: String, _ target: String, _ headers: Headers, _ body: String) -> Request {
    Request(method: method, target: target, headers: headers, body: .bytes(Array(body.utf8)))
  }

  private func text(_ answer: OpenAPIMock.Answer?) -> String {
    answer.map { "\($0.status) \(String(decoding: $0.body, as: UTF8.self))" } ?? "none"
  }

  private static let json: Headers = ["Content-Type": "application/json"]

  @Test("are the first example or generated from the schema, with or without the server's base path")
  func plain() throws {
    #expect(text(try answer("GET", "/v1/pets/7")) == #"200 {"id":1,"name":"Tom"}"#)
    let made = try #require(try answer("PUT", "/pets/7", Self.json, #"{"id":7,"name":"Tom"}"#))
    #expect(made.headers["Content-Type"] == "application/json")
    #expect(made.label == "PUT /pets/{petId}" && made.violations == [] && made.doubts == [])
    // The path's value is in the answer.
    #expect(text(made).hasPrefix(#"200 {"id":7,"name":""#))
    #expect(text(try answer("DELETE", "/pets/7")) == "204 ")
    let list = try #require(try answer("GET", "/pets?limit=2", ["X-Trace": "1"]))
    #expect(list.headers["X-Total"] == "42" && text(list).hasPrefix(#"200 [{"id":"#))
    let moved = try #require(try answer("GET", "/moved"))
    #expect(moved.status == 302 && moved.headers["Location"]?.hasPrefix("https://example.com/") == true)
    #expect(try answer("GET", "/cats") == nil)
    #expect(try #require(Self.mock).nearest(to: "/v1/pest/7?x=1") == "GET, PUT, DELETE /pets/{petId}")
  }

  @Test("follow the request's preferences for a status, an example and a generated body")
  func preferences() throws {
    #expect(text(try answer("GET", "/pets/7", ["Prefer": "example=dog"])) == #"200 {"id":2,"name":"Rex"}"#)
    #expect(text(try answer("GET", "/pets/7", ["Prefer": #"Code = "404", example=x"#])).hasPrefix("404 "))
    #expect(text(try answer("GET", "/pets/7", ["Prefer": "code=404"])) == #"404 {"title":"Gone"}"#)
    #expect(text(try answer("GET", "/pets/7", ["Prefer": "return=minimal; code=503, code=404"])) == "503 ")
    #expect(
      try answer("GET", "/pets/7", ["Prefer": "code=200, example=cat"])?.label == "GET /pets/{petId}, example cat")
    #expect(text(try answer("GET", "/pets/7", ["Prefer": "dynamic=true"])).hasPrefix(#"200 {"id":7,"name":""#))
  }

  @Test(
    "are refused if the document lacks what the request prefers or accepts",
    arguments: [
      (["Prefer": "code=418"], 404, "Prefer: code=418 is not in the document, which has 200, 404, 5XX"),
      (["Prefer": "code=many"], 404, "Prefer: code=many is not in the document, which has 200, 404, 5XX"),
      (["Prefer": "example=bird"], 404, "Prefer: example=bird is not in the document for 200, which has cat, dog, odd"),
      (["Prefer": "code=500, example=x"], 404, "its response 500 has no body, so it has no example 'x'"),
      (["Prefer": "dynamic=maybe"], 400, "Prefer: dynamic must be true or false, not 'maybe'"),
      (["Accept": "text/html, image/*;q=0.5"], 406, "matches none of the content types for 200: application/json"),
    ] as [(Headers, Int, String)])
  func refused(_ headers: Headers, _ status: Int, _ reason: String) throws {
    let answer = try #require(try answer("GET", "/pets/7", headers))
    #expect(answer.status == status && answer.headers["Diorama-Miss"] == "1")
    #expect(answer.refusal?.contains(reason) == true, "\(answer.refusal ?? "")")
    #expect(
      text(answer).contains("application/problem+json") || answer.headers["Content-Type"] == "application/problem+json")
  }

  @Test("are refused for a method that the path does not have, listing its methods")
  func method() throws {
    let answer = try #require(try answer("PATCH", "/pets/7"))
    #expect(answer.status == 405 && answer.headers["Allow"] == "GET, PUT, DELETE")
    #expect(answer.refusal == "shelter.yaml has no PATCH /pets/{petId}; it has GET, PUT, DELETE")
  }

  @Test("have the content type that the request prefers, JSON first")
  func negotiation() throws {
    let trace = ("X-Trace", "1")
    func type(_ accept: String?) throws -> String? {
      var headers = Headers([.init(trace.0, trace.1)])
      if let accept { headers.append("Accept", accept) }
      return try answer("GET", "/pets", headers)?.headers["Content-Type"]
    }
    #expect(try type(nil) == "application/json")
    #expect(try type("text/*, application/json;q=0.5") == "text/csv")
    #expect(try type("text/csv;q=0.1, */*;q=0.2") == "application/json")
    #expect(try type("application/json;q=0, */*") == "text/csv")
  }

  @Test("reject invalid requests, listing each violation with its location")
  func invalid() throws {
    let list = try #require(try answer("GET", "/pets?limit=51&kinds=cat%7Cbird"))
    #expect(list.status == 422)
    #expect(
      list.violations == [
        "query item `limit`: is 51, above the maximum, #/paths/~1pets/get/parameters/0/schema/maximum",
        #"query item `kinds`: is "bird", not one of "cat", "dog", #/paths/~1pets/get/parameters/1/schema/items/enum"#,
        "header `X-Trace`: is required and missing, #/paths/~1pets/get/parameters/2",
      ])
    #expect(list.headers.all("Diorama-Violation") == list.violations)
    let body = try JSON.parse(list.body)
    #expect(body["errors"]?.array?.count == 3)
    let put = try #require(try answer("PUT", "/pets/7", Self.json, #"{"id":"x","tags":[1]}"#))
    let errors = try JSON.parse(put.body)["errors"]?.array ?? []
    #expect(errors.map { $0["pointer"]?.string } == ["/name", "/id", "/tags/0"])
    #expect(try answer("PUT", "/pets/7", ["Content-Type": "text/plain"], "x")?.status == 415)
    #expect(try answer("PUT", "/pets/x", Self.json, #"{"id":1,"name":"x"}"#)?.status == 422)
    #expect(
      try answer("PUT", "/pets/7", Self.json, "{")?.violations.first?.hasPrefix("request body: is not JSON") == true)
  }

  @Test("reject invalid requests with the document's own response, if it has one")
  func declared() throws {
    for body in ["", "{}"] {
      let answer = try #require(try answer("POST", "/pets", Self.json, body))
      #expect(text(answer) == #"400 {"code":"bad"}"#)
      #expect(!answer.violations.isEmpty && answer.headers["Diorama-Violation"] == answer.violations[0])
    }
  }

  @Test("ask for credentials that the document requires")
  func security() throws {
    let answer = try #require(try answer("GET", "/secret"))
    #expect(answer.status == 401 && answer.headers["WWW-Authenticate"] == "bearer")
    #expect(try self.answer("GET", "/secret", ["Authorization": "Bearer x"])?.status == 200)
    #expect(try self.answer("GET", "/secret?key=1")?.status == 200)
    #expect(try self.answer("GET", "/secret?keys=1")?.status == 401)
  }

  @Test("report an example that does not match its schema")
  func oddExample() throws {
    let answer = try #require(try answer("GET", "/pets/7", ["Prefer": "example=odd"]))
    #expect(text(answer) == #"200 {"id":1}"#)
    #expect(
      answer.doubts == ["GET /pets/{petId}, 200: the example does not match its schema: /name is required and missing"])
  }

  @Test(
    "report violations in stub responses",
    arguments: [
      (200, "application/json", #"{"id":1,"name":"x"}"#, nil), (503, "text/plain", "out", nil), (404, "", "", nil),
      (200, "application/json", #"{"id":1}"#, "response body /name: is required and missing"),
      (200, "text/plain", "x", "response body: text/plain is not in the document, which has application/json"),
      (200, "application/json", "", "response body: is missing"),
      (201, "application/json", "{}", "status: 201 is not in the document, which has 200, 404, 5XX"),
    ] as [(Int, String, String, String?)])
  func stubs(_ status: Int, _ type: String, _ body: String, _ violation: String?) throws {
    let response = Response(
      status: status, headers: type.isEmpty ? [:] : ["Content-Type": type], body: .bytes(Array(body.utf8)))
    let lines = try #require(Self.mock).violations(of: response, to: message("GET", "/pets/7", [:], ""))
    if let violation {
      #expect(lines.count == 1 && lines.first?.hasPrefix(violation) == true, "\(lines)")
    } else {
      #expect(lines.isEmpty || status == 404, "\(lines)")
    }
    #expect(try #require(Self.mock).violations(of: response, to: message("GET", "/cats", [:], "")) == [])
  }

  @Test("need a document with paths")
  func empty() {
    let error = #expect(throws: CodedError.self) {
      try OpenAPIMock(Array(#"{"openapi":"3.1.0"}"#.utf8), name: "a.json")
    }
    #expect(
      error?.message.hasPrefix("a.json: it has no paths; name another document") == true, "\(error?.message ?? "")")
  }
}
