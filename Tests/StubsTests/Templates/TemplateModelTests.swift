import Basics
import Foundation
import HTTPMessages
import Stubs
import Testing

/// What templates have of WireMock 3.
struct TemplateModelTests {
  @Test(
    "has helpers of WireMock 3",
    arguments: [
      ("{{val missing or='d'}} {{val 'v' default='d'}} {{val 5 assign='x'}}{{x}}", "d v 5"),
      ("{{{toJson parameters.map}}}", "{\n  \"k1\" : \"v1\",\n  \"k2\" : \"v2\"\n}"),
      (
        "{{{toJson parameters.list}}} {{toJson parameters.rate}} {{{toJson parameters.name}}}",
        "[ \"a\", \"b\", \"c\" ] 2.50 \"Ann\""
      ),
      (
        "{{toJson missing}}{{{toJson request.query}}}",
        "{\n  \"q\" : [ \"1\", \"2\" ],\n  \"x\" : \"<z>\",\n  \"e\" : \"\"\n}"
      ),
      ("{{arrayAdd parameters.list 'd'}} {{arrayAdd parameters.list 0 position='start'}}", "[a, b, c, d] [0, a, b, c]"),
      ("{{arrayAdd parameters.list 'x' position=1}} {{arrayRemove parameters.list}}", "[a, x, b, c] [a, b]"),
      ("{{arrayRemove parameters.list position=0}} {{arrayRemove parameters.list position='start'}}", "[b, c] [b, c]"),
      ("{{arrayAdd parameters.list}}", "[ERROR: Missing required parameter: additional value to add to list]"),
      ("{{{arrayAdd parameters.list 1 position='x'}}}", "[ERROR: position must be 'start', 'end' or an integer]"),
      ("{{arrayJoin '-' parameters.list}} {{arrayJoin ',' 1 2 3 prefix='(' suffix=')'}}", "a-b-c (1,2,3)"),
      ("{{#arrayJoin '-' parameters.people}}{{n}}{{age}}{{/arrayJoin}}", "x1-y2"),
    ])
  func helpers(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test("gives access to path variables, multipart bodies and the raw body")
  func request() throws {
    var context = try TemplateSamples.context()
    let request = TemplateRequest(
      method: "PUT", url: "/orders/7/items/a%2Fb", scheme: "https", host: "shop.test", port: 443,
      headers: ["Content-Type": "multipart/form-data; boundary=x"], body: [0xFF, 0x00],
      pathVariables: ["id": "7", "item": "a/b"], id: "42", clientAddress: "10.0.0.1",
      parts: { [.init(name: "file", headers: ["Content-Type": "text/csv"], body: Array("a,b".utf8))] })
    context.model = TemplateMap([("originalRequest", .request(request))])
    func render(_ template: String) throws -> String { try Template(template, name: "body").render(context) }
    #expect(
      try render("{{originalRequest.path}} {{originalRequest.path.id}} {{originalRequest.path.item}}")
        == "/orders/7/items/a/b 7 a/b")
    #expect(
      try render("{{originalRequest.baseUrl}} {{originalRequest.id}} {{originalRequest.clientIp}}")
        == "https://shop.test 42 10.0.0.1")
    #expect(try render("{{{originalRequest.bodyAsBase64}}} {{originalRequest.multipart}}") == "/wA= true")
    #expect(
      try render(
        "{{#with originalRequest.parts.file}}{{name}} {{headers.content-type}} {{body}} {{{bodyAsBase64}}}{{/with}}")
        == "file text/csv a,b YSxi")
  }

  @Test("renders for several requests at the same time")
  func concurrency() async throws {
    let template = try Template(
      "{{request.path.[0]}} {{jsonPath request.body '$.n'}} {{parameters.name}}", name: "body")
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try template.render(TemplateSamples.context()) } }
      for try await text in group { #expect(text == "a 3 Ann") }
    }
  }
}
