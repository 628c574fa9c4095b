import Basics
import Testing

@testable import CassetteChecks
@testable import Cassettes

/// Numbers that look random, the same ones for each seed.
private final class Draws {
  private var state: UInt64

  init(_ seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

  func next(_ range: ClosedRange<Int>) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return range.lowerBound + Int(state >> 33) % (range.count)
  }
}

@Suite("Values generated from schemas")
struct SchemaSampleTests {
  private static let shared = ##"""
    "Node": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}}},
    "Endless": {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/components/schemas/Endless"}}},
    "Circle": {"allOf": [{"$ref": "#/components/schemas/Circle"}]},
    "Tree": {"oneOf": [{"type": "object", "required": ["left"], "properties": {
      "left": {"$ref": "#/components/schemas/Tree"}}}, {"type": "integer"}]},
    "Pet": {"type": "object", "required": ["kind"], "discriminator": {"propertyName": "kind"},
      "properties": {"kind": {"type": "string"}}},
    "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "object", "required": ["lives"],
      "properties": {"lives": {"type": "integer", "minimum": 9, "maximum": 9}}}]},
    "Boom": {"allOf": [{"$ref": "#/components/schemas/Boom2"}, {"$ref": "#/components/schemas/Boom2"}]},
    "Boom2": {"allOf": [{"$ref": "#/components/schemas/Boom3"}, {"$ref": "#/components/schemas/Boom3"}]},
    "Boom3": {"anyOf": [{"allOf": [{"$ref": "#/components/schemas/Boom"}, {"$ref": "#/components/schemas/Boom2"}]}]}
    """##

  private func sample(
    _ schema: String, seed: Int = 1, given: [String: String] = [:], isDynamic: Bool = false, version: String = "3.1.0"
  ) throws -> (text: String, findings: [String]) {
    let text = #"{"openapi": "\#(version)", "components": {"schemas": {"S": \#(schema), \#(Self.shared)}}}"#
    let document = try OpenAPIDocument(Array(text.utf8), name: "api.json")
    let node = try #require(document["#/components/schemas/S"])
    let draws = Draws(seed)
    var sample = SchemaSample(document, given: given, isDynamic: isDynamic, random: draws.next)
    let value = try sample.value(of: node)
    var check = SchemaCheck(document, .response)
    let findings = check.check(value, against: node).filter { !$0.isUnknown }
    return (String(decoding: value.encoded(), as: UTF8.self), findings.map { "\($0.place): \($0.text)" })
  }

  private static let valid = [
    #"{"type":"string"}"#, #"{"type":"string","minLength":20}"#, #"{"type":"string","maxLength":3}"#,
    #"{"type":"string","minLength":40,"maxLength":40}"#, #"{"type":"integer"}"#,
    #"{"type":"integer","minimum":-5,"maximum":-5}"#,
    #"{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":2}"#,
    #"{"type":"integer","multipleOf":7,"minimum":50}"#,
    #"{"type":"number","multipleOf":0.05,"maximum":1}"#, #"{"type":"number","minimum":0.001,"maximum":0.002}"#,
    #"{"type":"integer","format":"int32","minimum":2147483647}"#, #"{"type":"number","maximum":-1e300}"#,
    #"{"type":"boolean"}"#, #"{"type":["null","string"]}"#, #"{"type":"null"}"#, #"{"const":{"a":1}}"#,
    #"{"enum":[3,"x"]}"#,
    #"{"type":"string","format":"date-time"}"#, #"{"type":"string","format":"date"}"#,
    #"{"type":"string","format":"uuid"}"#,
    #"{"type":"string","format":"email"}"#, #"{"type":"string","format":"uri"}"#, #"{"type":"string","format":"ipv4"}"#,
    #"{"type":"array","items":{"type":"integer"},"minItems":5,"maxItems":5}"#,
    #"{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}"#,
    #"{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2}"#,
    #"{"type":"object","minProperties":3}"#, #"{"additionalProperties":{"type":"integer"}}"#,
    #"{"type":"object","required":["x"],"additionalProperties":{"type":"integer"}}"#,
    #"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"maxProperties":1,"required":["b"]}"#,
    #"{"allOf":[{"minimum":3},{"maximum":3}],"type":"integer"}"#,
    #"{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}}},{"properties":{"a":{"minimum":5}},"required":["a"]}]}"#,
    #"{"oneOf":[{"type":"string","maxLength":3},{"type":"string","minLength":30}]}"#,
    #"{"anyOf":[{"type":"null"},{"type":"integer"}]}"#,
    ##"{"$ref":"#/components/schemas/Node"}"##, ##"{"$ref":"#/components/schemas/Tree"}"##,
    ##"{"$ref":"#/components/schemas/Cat"}"##, #"{"type":"string","pattern":"^[A-Z]{3}-\\d{4}$"}"#,
    #"{"type":"string","pattern":"^(?=.*[A-Z])(?=.*[0-9]).{8,}$"}"#,
    #"{"type":"string","pattern":"^a+$","minLength":30}"#,
    #"{"type":"string","pattern":"^\\+?[1-9][0-9]{7,14}$"}"#,
    #"{"type":"string","pattern":"^(?:red|gr[ae]y|[^a-z ]{2})$"}"#,
    #"{"type":"string","pattern":"^\\p{Lu}\\w*\\x41\\u00e9$"}"#,
  ]

  @Test("are valid for any random numbers, and the same for the same numbers", arguments: valid)
  func allowed(_ schema: String) throws {
    for seed in 0..<20 {
      for isDynamic in [false, true] {
        let made = try sample(schema, seed: seed, isDynamic: isDynamic)
        #expect(made.findings == [], "\(made.text)")
        #expect(try sample(schema, seed: seed, isDynamic: isDynamic).text == made.text)
      }
    }
  }

  @Test("are valid examples and defaults, unless values are dynamic")
  func examples() throws {
    let schema =
      #"{"type":"object","properties":{"a":{"type":"string","example":"x"},"b":{"type":"integer","default":3},"#
      + #""c":{"type":"integer","examples":[7]},"d":{"type":"integer","example":"no","minimum":5,"maximum":5}}}"#
    #expect(try sample(schema).text == #"{"a":"x","b":3,"c":7,"d":5}"#)
    #expect(Set(try (0..<30).map { try sample(schema, seed: $0, isDynamic: true).text }).count > 20)
    let part = ##"{"allOf":[{"type":"object","example":{"a":1}},{"type":"object","properties":{"b":{"const":2}}}]}"##
    #expect(try sample(part).text == #"{"b":2}"#)
  }

  @Test("leave out write-only members, and use given values in the outermost object")
  func directions() throws {
    let schema =
      #"{"type":"object","required":["pin","id"],"properties":{"pin":{"writeOnly":true,"type":"string"},"#
      + #""id":{"type":"integer"},"at":{"type":"object","properties":{"id":{"type":"integer","enum":[1]}}}}}"#
    #expect(try sample(schema, given: ["id": "17"]).text == #"{"id":17,"at":{"id":1}}"#)
    #expect(try !sample(schema, given: ["id": "x"]).text.contains("x"))
    let wrapped = #"{"type":"object","properties":{"data":{"type":"object","properties":{"id":{"type":"string"}}}}}"#
    #expect(try sample(wrapped, given: ["id": "17"]).text == #"{"data":{"id":"17"}}"#)
  }

  @Test("have the schema's name in the discriminator member")
  func discriminator() throws {
    #expect(try sample(##"{"$ref":"#/components/schemas/Cat"}"##).text == #"{"kind":"Cat","lives":9}"#)
    let mapped =
      ##"{"oneOf":[{"$ref":"#/components/schemas/Cat"}],"discriminator":{"propertyName":"kind","mapping":"##
      + ##"{"tom":"#/components/schemas/Cat"}}}"##
    #expect(try sample(mapped).text == #"{"kind":"tom","lives":9}"#)
  }

  @Test("are finite for a schema that contains itself")
  func recursion() throws {
    let text = try sample(##"{"$ref":"#/components/schemas/Node"}"##).text
    #expect(text.contains("children"))
    #expect(text.utf8.count < 2000)
  }

  @Test(
    "are refused with a reason if no value exists, or it would be too large",
    arguments: [
      (##"{"$ref":"#/components/schemas/Endless"}"##, "has a circular reference"),
      (##"{"$ref":"#/components/schemas/Circle"}"##, "has a circular reference"),
      (##"{"$ref":"#/components/schemas/Boom"}"##, "has a circular reference"),
      (##"{"$ref":"#/components/schemas/None"}"##, "unresolved $ref: #/components/schemas/None"),
      (#"{"type":"array","minItems":1000000000,"items":{"type":"integer"}}"#, "more than 100000 parts"),
      (#"{"type":"array","minItems":100000,"items":{"type":"integer"},"uniqueItems":true}"#, "more unique elements"),
      (#"{"type":"string","minLength":1000000000}"#, "more than 65536 characters"),
      (#"{"type":"integer","minimum":5,"maximum":4}"#, "its minimum is above its maximum"),
      (#"{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2}"#, "no number is between"),
      (#"{"type":"string","pattern":"^(a)\\1$"}"#, "no string was found for its pattern"),
      (#"{"type":"string","pattern":"^((a{1000}){1000}){1000}b$"}"#, "no string was found for its pattern"),
      (#"{"type":"object","properties":{"a":false},"required":["a"]}"#, "it is false"),
      (#"{"type":"array","minItems":3,"uniqueItems":true,"items":{"enum":[1,2]}}"#, "more unique elements"),
      (#"{"type":"file"}"#, "unknown type 'file'"),
    ])
  func refused(_ schema: String, _ reason: String) throws {
    let error = try #require(throws: CodedError.self) { try sample(schema) }
    #expect(error.message.contains(reason) && error.message.hasSuffix("; add an example"), "\(error)")
  }

  @Test("have fewer optional members if they would otherwise be too large")
  func large() throws {
    // Each of twenty schemas refers to all of them.
    let names = (0..<20).map { "N\($0)" }
    let properties = names.map { ##""\##($0)": {"$ref": "#/components/schemas/\##($0)"}"## }.joined(separator: ",")
    let schemas = names.map { #""\#($0)": {"type":"object","properties":{\#(properties)}}"# }.joined(separator: ",")
    let document = try OpenAPIDocument(
      Array(#"{"openapi":"3.0.0","components":{"schemas":{\#(schemas)}}}"#.utf8), name: "api.json")
    var sample = SchemaSample(document, random: Draws(1).next)
    let value = try sample.value(of: try #require(document["#/components/schemas/N0"]))
    #expect(value.object?.map(\.key) == names)
  }
}
