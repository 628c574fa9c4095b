import Basics
import Stubs
import Testing

@Suite("JSON schemas")
struct JSONSchemaTests {
  private static func isValid(_ value: String, _ schema: String, _ version: JSONSchema.Version = .v202012) throws
    -> Bool
  {
    try JSONSchema(try JSON.parse(Array(schema.utf8)), version: version).matches(value)
  }

  @Test(
    "checks every keyword",
    arguments: [
      (#"{"type": "integer"}"#, "1.0", "1.5"), (#"{"type": ["string", "null"]}"#, "null", "{}"),
      (#"{"enum": [1, {"a": 2}]}"#, #"{"a": 2.0}"#, "{}"),
      (#"{"const": [1]}"#, "[1.0]", "[2]"), (#"{"items": {"multipleOf": 0.01}}"#, "[4.02]", "[4.025]"),
      (#"{"items": {"minimum": 1, "exclusiveMaximum": 3}}"#, "[1, 2]", "[3]"),
      (#"{"items": {"maximum": 1, "exclusiveMinimum": 0}}"#, "[1]", "[0]"),
      (#"{"items": {"minLength": 2, "maxLength": 3}}"#, #"["ab"]"#, #"["a"]"#),
      (#"{"items": {"pattern": "^a*$"}}"#, #"["aa", ""]"#, #"["abc"]"#),
      (#"{"minItems": 1, "maxItems": 2}"#, "[1]", "[]"), (#"{"uniqueItems": true}"#, "[1, 2]", "[1, 1.0]"),
      (#"{"contains": {"const": 1}}"#, "[2, 1]", "[2]"),
      (#"{"contains": {"const": 1}, "minContains": 2, "maxContains": 2}"#, "[1, 1]", "[1, 1, 1]"),
      (#"{"prefixItems": [{"type": "string"}], "items": false}"#, #"["a"]"#, #"["a", 1]"#),
      (#"{"minProperties": 1, "maxProperties": 1}"#, #"{"a": 1}"#, "{}"),
      (#"{"required": ["a"]}"#, #"{"a": 1}"#, "{}"),
      (#"{"properties": {"a": {"type": "string"}}}"#, #"{"a": "x", "b": 1}"#, #"{"a": 1}"#),
      (#"{"patternProperties": {"^x": false}, "additionalProperties": true}"#, #"{"ax": 1}"#, #"{"xa": 1}"#),
      (#"{"properties": {"a": true}, "additionalProperties": false}"#, #"{"a": 1}"#, #"{"b": 1}"#),
      (#"{"propertyNames": {"maxLength": 1}}"#, #"{"a": 1}"#, #"{"ab": 1}"#),
      (#"{"dependentRequired": {"a": ["b"]}}"#, #"{"b": 1}"#, #"{"a": 1}"#),
      (#"{"dependentSchemas": {"a": {"required": ["b"]}}}"#, "{}", #"{"a": 1}"#),
      (#"{"allOf": [{"type": "array"}, {"minItems": 1}]}"#, "[1]", "[]"),
      (#"{"anyOf": [{"type": "array"}, {"required": ["a"]}]}"#, "[]", "{}"),
      (#"{"oneOf": [{"minItems": 1}, {"maxItems": 1}]}"#, "[1, 2]", "[1]"),
      (#"{"not": {"type": "array"}}"#, "{}", "[]"),
      (#"{"if": {"type": "array"}, "then": {"minItems": 1}, "else": {"type": "object"}}"#, "[1]", "[]"),
      (
        #"{"unevaluatedProperties": false, "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": true}}]}"#,
        #"{"a": 1, "b": 2}"#, #"{"c": 2}"#
      ),
      (#"{"unevaluatedItems": false, "prefixItems": [true], "contains": {"const": 9}}"#, "[1, 9]", "[1, 2, 9]"),
      (
        ##"{"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}"##, "[[], [[]]]",
        "[[], [{}]]"
      ),
      (##"{"$ref": "#item", "$defs": {"a": {"$anchor": "item", "type": "array"}}}"##, "[]", "{}"),
      (#"{"$id": "http://x/y", "$ref": "z", "$defs": {"a": {"$id": "z", "type": "array"}}}"#, "[]", "{}"),
    ] as [(String, String, String)])
  func keywords(schema: String, valid: String, invalid: String) throws {
    #expect(try Self.isValid(valid, schema))
    #expect(try !Self.isValid(invalid, schema))
  }

  @Test("follows the rules of older drafts")
  func drafts() throws {
    let exclusive = #"{"items": {"minimum": 1, "exclusiveMinimum": true}}"#
    #expect(try !Self.isValid("[1]", exclusive, .v4))
    let tuple = #"{"items": [true], "additionalItems": false}"#
    #expect(try !Self.isValid("[1, 2]", tuple, .v7))
    #expect(try !Self.isValid("[1, 2]", tuple, .v201909))
    let format = #"{"items": {"format": "ipv4"}}"#
    #expect(try !Self.isValid(#"["x"]"#, format, .v7))
    #expect(try Self.isValid(#"["x"]"#, format))
    #expect(
      try !Self.isValid(
        #"["x"]"#, #"{"$schema": "http://json-schema.org/draft-07/schema#", "items": {"format": "ipv4"}}"#))
    #expect(try !Self.isValid(#"{"a": 1}"#, #"{"dependencies": {"a": ["b"]}}"#, .v6))
    #expect(
      try Self.isValid(
        "[1]", ##"{"items": {"$ref": "#/definitions/n", "maximum": 0}, "definitions": {"n": {"type": "number"}}}"##, .v7
      ))
    #expect(try Self.isValid("[null]", #"{"items": {"type": "string", "nullable": true}}"#))
  }

  @Test(
    "checks formats in draft 7",
    arguments: [
      ("date-time", "2020-01-01T00:00:00Z", "2020-01-01"), ("date", "2020-02-29", "2021-02-29"),
      ("time", "10:00:00Z", "10:00"), ("email", "a@b.c", "a"),
      ("hostname", "a-b.example", "-a"), ("ipv4", "127.0.0.1", "127.0.0.256"), ("ipv6", "::1", "12345::"),
      ("uri", "http://a/b?c=%20", "a b"),
      ("uri-reference", "/a", "\\\\a"), ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08"),
      ("json-pointer", "/a~1b", "a"),
      ("relative-json-pointer", "1/a", "/a"), ("regex", "[a]", "[a"), ("duration", "P1DT2H", "P"),
      ("uri-template", "/{a}", "/{a"), ("iri", "http://ä/", "ä"),
    ] as [(String, String, String)])
  func formats(format: String, valid: String, invalid: String) throws {
    let schema = try JSONSchema(.object(["format": .string(format)]), version: .v7)
    #expect(try schema.problems(in: .string(valid)).isEmpty)
    #expect(try schema.problems(in: .string(invalid)) == [.init(place: "", keyword: "format")])
  }

  @Test("takes a scalar or a text that is not JSON for a string, as WireMock does")
  func texts() throws {
    #expect(try Self.isValid("5", #"{"type": "string"}"#))
    #expect(try Self.isValid("not json", #"{"type": "string"}"#))
    #expect(try !Self.isValid("{}", #"{"type": "string"}"#))
  }

  @Test("counts problems for each property as the distance")
  func distance() throws {
    let schema = try JSONSchema(
      try JSON.parse(
        Array(#"{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}"#.utf8)))
    #expect(try schema.distance(to: #"{"a": "x"}"#) == 0)
    #expect(try schema.distance(to: #"{"a": 1}"#) == 0.5)
    #expect(try schema.problems(in: .object(["a": .int(1)])) == [.init(place: "/a", keyword: "type")])
  }

  @Test(
    "rejects references that lead nowhere, unknown types, invalid patterns and deep nesting",
    arguments: [
      ##"{"$ref": "#/$defs/a"}"##, #"{"$ref": "http://example.com/x"}"#, #"{"type": "text"}"#, #"{"pattern": "("}"#,
      #"{"patternProperties": {"(": true}}"#,
      String(repeating: #"{"not": "#, count: 200) + "true" + String(repeating: "}", count: 200),
    ])
  func errors(schema: String) {
    #expect(throws: CodedError.self) { try Self.isValid("1", schema) }
  }

  @Test("ends an endless reference and an explosion with one error")
  func endless() throws {
    #expect(throws: CodedError.self) { try Self.isValid("1", ##"{"$ref": "#"}"##) }
    let inner = ##"[{"$ref": "#/$defs/D"}, {"$ref": "#/$defs/D"}, {"$ref": "#/$defs/D"}]"##
    let definitions = (0..<20).map { "\"d\($0)\": {\"anyOf\": \(inner.replacing("D", with: "d\($0 + 1)"))}" }
    let schema = ##"{"$ref": "#/$defs/d0", "$defs": {\##(definitions.joined(separator: ", ")), "d20": false}}"##
    #expect(throws: CodedError.self) { try Self.isValid("1", schema) }
  }

  @Test("validates deeply nested values on a small stack")
  func depth() async throws {
    try await onSmallStack { () throws in
      #expect(try Self.isValid(.nested(60, "[", "1", "]"), .nested(60, #"{"items": "#, "{}", "}")))
      let tree = ##"{"items": {"$ref": "#"}}"##
      #expect(try Self.isValid(.nested(30, "[", "1", "]"), tree))
      #expect(throws: CodedError.self) { try Self.isValid(.nested(100, "[", "1", "]"), tree) }
    }
  }

  @Test("survives 20,000 damaged schemas")
  func mutations() throws {
    let schemas = [
      ##"{"$id": "http://x/y", "$ref": "#/$defs/a", "$defs": {"a": {"type": ["object", "array"], "items": {"$ref": "#/$defs/a"}}}}"##,
      #"{"properties": {"a": {"pattern": "^x", "format": "uri"}}, "required": ["a"], "unevaluatedProperties": false, "if": {"minItems": 1}, "then": false}"#,
      #"{"oneOf": [{"multipleOf": 0.1}, {"contains": {"const": 1}}], "patternProperties": {"^a": {"minLength": 2}}, "uniqueItems": true}"#,
    ]
    let values = try [#"{"a": "xy", "ab": [1, [1]]}"#, "[1, 1, {}]", "7.5"].map { try JSON.parse(Array($0.utf8)) }
    var mutations = Mutations()
    for round in 0..<20_000 {
      guard let json = try? JSON.parse(Array(mutations.next(of: schemas).utf8)),
        let schema = try? JSONSchema(json, version: JSONSchema.Version.allCases[round % 5])
      else { continue }
      for value in values { _ = try? schema.problems(in: value) }
    }
  }
}
