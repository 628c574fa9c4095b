import Basics
@testable import CassetteChecks
import Testing

@testable import Cassettes

@Suite("Drift of JSON from a schema")
struct SchemaTests {
  /// The findings as `place: text`; `?` marks what is only missing in the document.
  private func findings(
    _ schema: String, _ value: String, version: String = "3.1.0", direction: SchemaCheck.Direction = .response
  ) throws -> [String] {
    try check(schema, value, version: version, direction: direction).findings
  }

  private func check(
    _ schema: String, _ value: String, version: String = "3.1.0", direction: SchemaCheck.Direction = .response
  ) throws -> (findings: [String], unsupported: [String]) {
    let schemas = ##"""
      {"S": \##(schema), "N": {"type": "string"}, "C": {"allOf": [{"$ref": "#/components/schemas/C"}]},
      "L": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/L"}}}}
      """##
    let text = #"{"openapi": "\#(version)", "components": {"schemas": \#(schemas)}}"#
    let document = try OpenAPIDocument(Array(text.utf8), name: "api.json")
    var check = SchemaCheck(document, direction)
    let found = check.check(
      try JSON.parse(Array(value.utf8)), against: try #require(document["#/components/schemas/S"]))
    return (
      found.map { "\($0.isUnknown ? "?" : "")\($0.place): \($0.text)" },
      check.unsupported.map { "\($0.pointer): \($0.text)" }
    )
  }

  private static let ruleCases: [(String, String, [String])] = [
    (#"{"type":"string"}"#, "1", [": is a number, not string"]),
    (#"{"type":"integer"}"#, "1.0", []),
    (#"{"type":"integer"}"#, "1.5", [": is a number, not integer"]),
    (#"{"type":["string","null"]}"#, "null", []),
    (
      #"{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}"#, #"{"a":1}"#,
      [
        "/b: is required and missing", "/a: is a number, not string",
      ]
    ),
    (#"{"type":"object","properties":{"a":{}}}"#, #"{"a":1,"b/c":2}"#, ["?/b~1c: is not in the document"]),
    (#"{"type":"object"}"#, #"{"a":1}"#, []),
    (#"{"properties":{"a":{}},"additionalProperties":false}"#, #"{"b":1}"#, ["/b: is not allowed"]),
    (#"{"additionalProperties":{"type":"string"}}"#, #"{"b":1,"c":"x"}"#, ["/b: is a number, not string"]),
    (
      #"{"patternProperties":{"^x-":{"type":"string"}},"properties":{"a":{}}}"#, #"{"x-b":1}"#,
      [
        "/x-b: is a number, not string"
      ]
    ),
    (#"{"items":{"type":"string"}}"#, #"["a",1]"#, ["/1: is a number, not string"]),
    (
      #"{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}"#, #"[1,1,"x"]"#,
      [
        "/0: is a number, not string", "/2: is a string, not number",
      ]
    ),
    (#"{"enum":["a","b"]}"#, #""c""#, [#": is "c", not one of "a", "b""#]),
    (#"{"const":1}"#, "2", [": is 2, not 1"]),
    (#"{"minimum":1,"exclusiveMaximum":3}"#, "3", [": is 3, not below the maximum"]),
    (#"{"minimum":1}"#, "0", [": is 0, below the minimum"]),
    (#"{"multipleOf":0.01}"#, "0.07", []),
    (#"{"multipleOf":2}"#, "3", [": is 3, no multiple of it"]),
    (#"{"pattern":"^a+$"}"#, #""ab""#, [#": is "ab", which does not match ^a+$"#]),
    (#"{"minLength":2,"maxLength":3}"#, #""é""#, [": has 1 character, 2 at least"]),
    (#"{"maxItems":1}"#, "[1,2]", [": has 2 elements, 1 at most"]),
    (#"{"uniqueItems":true}"#, "[1,1]", [": has equal elements"]),
    (#"{"format":"date-time"}"#, #""yesterday""#, [#": is "yesterday", no date-time"#]),
    (#"{"format":"date"}"#, #""2018-02-30""#, [#": is "2018-02-30", no date"#]),
    (#"{"format":"uuid"}"#, #""2ed6657d-e927-568b-95e1-2665a8aea6a2""#, []),
    (#"{"format":"email"}"#, #""ann""#, [#": is "ann", no email"#]),
    (#"{"format":"uri"}"#, #""not one""#, [#": is "not one", no uri"#]),
    (#"{"format":"int32"}"#, "3000000000", [": is 3000000000, no int32"]),
    (#"{"format":"our-own"}"#, #""x""#, []),
    ("true", "1", []),
    ("false", "1", [": nothing may stand here"]),
  ]

  @Test(
    "checks types, members and limits",
    arguments: ruleCases)
  func rules(_ schema: String, _ value: String, _ expected: [String]) throws {
    #expect(try findings(schema, value) == expected)
  }

  private static let combinationCases: [(String, String, [String])] = [
    (#"{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{"type":"string"}}}]}"#, #"{"a":1,"b":"x"}"#, []),
    (
      #"{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}"#, #"{"a":1,"c":1}"#,
      [
        "?/c: is not in the document"
      ]
    ),
    (
      #"{"oneOf":[{"type":"string"},{"type":"object","required":["a"],"properties":{"a":{}}}]}"#, "1",
      [
        ": fits none of oneOf; of the nearest, it is a number, not string"
      ]
    ),
    (#"{"oneOf":[{"type":"integer"},{"type":"number"}]}"#, "1", [": fits 2 of oneOf, and may fit one only"]),
    (#"{"anyOf":[{"type":"integer"},{"type":"number"}]}"#, "1", []),
    (
      #"{"oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}"#, #"{"b":1}"#,
      []
    ),
    (#"{"not":{"type":"string"}}"#, #""x""#, [": is what may not stand here"]),
    (##"{"$ref":"#/components/schemas/N","minLength":2}"##, #""x""#, [": has 1 character, 2 at least"]),
    (
      ##"{"$ref":"#/components/schemas/L"}"##, #"{"next":{"next":{"next":1}}}"#,
      [
        "/next/next/next: is a number, not object"
      ]
    ),
    (##"{"$ref":"#/components/schemas/C"}"##, "1", []),
  ]

  @Test(
    "checks combined schemas, and knows the members of each",
    arguments: combinationCases)
  func combinations(_ schema: String, _ value: String, _ expected: [String]) throws {
    #expect(try findings(schema, value) == expected)
  }

  @Test("reads 3.0 as 3.0: nullable, boolean exclusiveMinimum, and no siblings of $ref")
  func old() throws {
    #expect(try findings(#"{"type":"string","nullable":true}"#, "null", version: "3.0.3") == [])
    #expect(try findings(#"{"type":"string","nullable":true}"#, "null") == [": is null, not string"])
    #expect(
      try findings(#"{"minimum":1,"exclusiveMinimum":true}"#, "1", version: "3.0.3") == [
        ": is 1, not above the minimum"
      ])
    #expect(try findings(##"{"$ref":"#/components/schemas/N","minLength":2}"##, #""x""#, version: "3.0.3") == [])
  }

  @Test("does not require writeOnly members in responses, or readOnly members in requests")
  func directions() throws {
    let schema =
      #"{"properties":{"id":{"readOnly":true},"pin":{"writeOnly":true}},"required":["id","pin"]}"#
    #expect(try findings(schema, #"{"id":1}"#) == [])
    #expect(try findings(schema, #"{"pin":1}"#) == ["/id: is required and missing"])
    #expect(try findings(schema, #"{"pin":1}"#, direction: .request) == [])
  }

  @Test("reports the keywords that it skips, with their place")
  func unsupported() throws {
    let elsewhere = try check(#"{"properties":{"a":{"$ref":"other.yaml#/A"}}}"#, #"{"a":1}"#)
    #expect(elsewhere.findings == [])
    #expect(
      elsewhere.unsupported == ["#/components/schemas/S/properties/a: $ref to another document: other.yaml#/A"])
    let nothing = try check(##"{"$ref":"#/components/schemas/X"}"##, "1")
    #expect(nothing.unsupported == ["#/components/schemas/S: $ref to nothing: #/components/schemas/X"])
    let word = try check(#"{"if":{"type":"string"}}"#, "1")
    #expect(word.unsupported == ["#/components/schemas/S/if: `if` is not looked at"])
    let open = String(repeating: "[", count: 120)
    let deep = try check(##"{"items":{"$ref":"#/components/schemas/S"}}"##, open + String(repeating: "]", count: 120))
    #expect(deep.findings == [])
    #expect(deep.unsupported.last?.hasSuffix("deep is not looked at") == true)
    let pattern = try check(#"{"pattern":"("}"#, #""x""#)
    #expect(pattern.unsupported == ["#/components/schemas/S/pattern: the pattern is not understood"])
  }
}
