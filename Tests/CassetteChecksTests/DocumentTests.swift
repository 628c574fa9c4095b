import Basics
@testable import CassetteConversion
@testable import CassetteChecks
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Drift of recordings from an OpenAPI document")
struct DocumentTests {
  private static let yaml = """
    openapi: 3.0.3
    info: {title: Clinic, version: "1"}
    servers:
      - url: https://{region}.example.com/{base}
        variables: {region: {default: eu}, base: {default: v1}}
    paths:
      /users/me:
        get: {responses: {200: {description: me}}}
      /users/{id}:
        parameters:
          - {name: id, in: path, required: true, schema: {type: integer}}
        get:
          parameters:
            - {name: full, in: query, required: true, schema: {type: boolean}}
            - {name: filter, in: query, style: deepObject, schema: {type: object}}
            - {name: tags, in: query, schema: {type: array, items: {type: string, enum: [a, b]}}}
          responses:
            "200":
              description: a user
              headers: {X-Total: {required: true, schema: {type: integer}}}
              content:
                application/json: {schema: {$ref: "#/components/schemas/User"}}
            4XX: {description: no}
      /users:
        post:
          requestBody:
            required: true
            content:
              application/json: {schema: {$ref: "#/components/schemas/User"}}
              application/x-www-form-urlencoded: {schema: {$ref: "#/components/schemas/User"}}
          responses: {default: {description: any, content: {"application/*": {}}}}
      /users/{id}/card.{format}:
        get: {responses: {200: {description: card, content: {image/png: {}}}}}
    components:
      schemas:
        User:
          type: object
          required: [name]
          properties:
            name: {type: string}
            age: {type: integer}
            tags: {type: array, items: {type: object, properties: {a: {type: string}}}}
    """

  private func lines(_ interactions: Interaction..., unsupported: [String] = []) throws -> [String] {
    let document = try OpenAPIDocument(Array(Self.yaml.utf8), name: "api.yaml")
    let recording = Recording(Cassette(header: CassetteHeader(), interactions: interactions)) { body in
      guard case .bytes(let bytes) = body else { return [] }
      return bytes
    }
    let check = try DocumentCheck(recording, against: document)
    #expect(check.unsupported.map(\.text) == unsupported)
    return check.findings.map { "\($0.interaction) \($0.isUnknown ? "?" : "")\($0.line)" }
  }

  private static let json: Headers = ["Content-Type": "application/json", "X-Total": "1"]

  @Test("finds nothing if everything matches the document")
  func fine() throws {
    #expect(
      try lines(
        .call("GET", "/v1/users/17?full=true&filter[a]=b&tags=a&tags=b", #"{"name":"Ann","age":3}"#, Self.json),
        .call("GET", "/v1/users/me"), .call("GET", "/v1/users/18?full=1", status: 404, "{}", [:]).emptied,
        .call("POST", "/v1/users", sends: #"{"name":"Ann"}"#, "{}"), .call("HEAD", "/v1/users/me"),
        .call("OPTIONS", "/v1/users").asked(with: ["Access-Control-Request-Method": "POST"]),
        .call("GET", "/v1/users/17/card.png", "x", ["Content-Type": "image/png"])) == [])
  }

  @Test("reports what the document lacks: path, method, status, content type, query item, body, field")
  func unknown() throws {
    let user = "#/paths/~1users~1{id}/get"
    #expect(
      try lines(
        .call("GET", "/users/17"), .call("DELETE", "/v1/users"),
        .call("GET", "/v1/users/17?full=true&x=1", status: 500),
        .call("GET", "/v1/users/me", "{}"),
        .call("GET", "/v1/users/17?full=true", "<p>", ["Content-Type": "text/html", "X-Total": "1"]),
        .call("GET", "/v1/users/17?full=true", #"{"name":"Ann","tags":[{"b":1},{"a":"","b":2}]}"#, Self.json)) == [
          "0 ?path: /users/17 is not in the document, #/paths",
          "1 ?method: DELETE /users is not in the document, which has POST, #/paths/~1users",
          "2 ?query item `x`: is not in the document, \(user)",
          "2 ?status: 500 is not in the document, which has 200, 4XX, \(user)/responses",
          "3 ?response body: is not in the document, #/paths/~1users~1me/get/responses/200",
          "4 ?response body: text/html is not in the document, which has application/json, \(user)/responses/200/content",
          "5 ?response body /tags/0/b: is not in the document (and in 1 more place), "
            + "#/components/schemas/User/properties/tags/items",
        ])
  }

  @Test("reports contradictions in requests and responses, with the place in the body and in the document")
  func contradictions() throws {
    let get = "#/paths/~1users~1{id}/get"
    #expect(
      try lines(
        .call("GET", "/v1/users/ann?tags=c", #"{"age":"3"}"#),
        .call("POST", "/v1/users", "{}"), .call("POST", "/v1/users", sends: "{", "{}")) == [
          "0 query item `full`: is required and missing, \(get)/parameters/0",
          #"0 query item `tags`: is "c", not one of "a", "b", \#(get)/parameters/2/schema/items/enum"#,
          "0 path `id`: is a string, not integer, #/paths/~1users~1{id}/parameters/0/schema/type",
          "0 response header `X-Total`: is required and missing, \(get)/responses/200/headers/X-Total",
          "0 response body /name: is required and missing, #/components/schemas/User/required/0",
          "0 response body /age: is a string, not integer, #/components/schemas/User/properties/age/type",
          "1 request body: is required and missing, #/paths/~1users/post/requestBody",
          "2 request body: is not JSON, #/paths/~1users/post/requestBody/content/application~1json",
        ])
  }

  @Test("does not check a request that the server has refused")
  func refused() throws {
    #expect(try lines(.call("GET", "/v1/users/ann", status: 400)) == [])
  }

  @Test("reports that WebSockets are skipped")
  func webSockets() throws {
    var socket = Interaction.call("WEBSOCKET", "/v1/news", status: 101)
    socket.webSocket = []
    let users = Interaction.call("GET", "/v1/users/me")
    #expect(try lines(socket, users, unsupported: ["1 WebSocket: OpenAPI has no words for it"]) == [])
    #expect(try lines(socket, socket, unsupported: ["2 WebSockets: OpenAPI has no words for them"]) == [])
  }

  @Test("reads form fields by their declared types")
  func forms() throws {
    var good = Interaction.call("POST", "/v1/users", "{}")
    good.request.headers = ["Content-Type": "application/x-www-form-urlencoded"]
    good.request.body = .bytes(Array("name=Ann&age=3".utf8))
    var bad = good
    bad.request.body = .bytes(Array("name=Ann&age=x".utf8))
    #expect(
      try lines(good, bad) == [
        "1 request body /age: is a string, not integer, #/components/schemas/User/properties/age/type"
      ])
  }

  @Test(
    "rejects a document that is not OpenAPI 3.0 or 3.1, in one line",
    arguments: [
      ("{", "api: line 1, column 2: "), ("a: [", "api: line "), ("[]", "api: not an OpenAPI document"),
      ("swagger: '2.0'", "api: it is a Swagger 2.0 document"), ("openapi: 4.0.0", "api: its version is 4.0.0"),
    ])
  func broken(_ text: String, _ start: String) {
    let error = #expect(throws: CodedError.self) { try OpenAPIDocument(Array(text.utf8), name: "api") }
    #expect(error?.description.hasPrefix(start) == true, "\(String(describing: error))")
    #expect(error?.description.contains("\n") == false)
  }

  @Test("reads YAML scalars as numbers and booleans only without quotes")
  func scalars() throws {
    let node = try YAMLReader.parse(
      Array("[1, '1', -2.5, true, 'true', 007, 1_0, ~, 0x1, .5, 1e3, nan, 3.0.3, 2018-10-08]".utf8), name: "x")
    #expect(
      String(decoding: node.json.encoded(), as: UTF8.self)
        == #"[1,"1",-2.5,true,"true",7,"1_0",null,"0x1",".5",1e3,"nan","3.0.3","2018-10-08"]"#)
  }
}

extension Interaction {
  /// The same without a response body.
  fileprivate var emptied: Interaction {
    var interaction = self
    interaction.response.body = .empty
    return interaction
  }
}
