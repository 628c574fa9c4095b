import Foundation
import LaunchContract
import Testing

@Suite("Contract values")
struct ContractValueTests {
  @Test(
    "parses an option's value as JSON, or else as a string",
    arguments: [
      ("true", .bool(true)), ("1", .int(1)), ("-0.5", .double(-0.5)), ("\"1\"", .string("1")), ("null", .null),
      ("word", .string("word")), ("two words", .string("two words")), ("", .string("")),
      ("[1,{\"a\":false}]", .array([.int(1), .object(["a": .bool(false)])])),
      ("9223372036854775807", .int(.max)), ("1e300", .double(1e300)), ("{broken", .string("{broken")),
    ] as [(String, ContractValue)])
  func argument(_ text: String, _ value: ContractValue) {
    #expect(ContractValue(argument: text) == value)
  }

  @Test("converts an integer to a fraction, but not the other way round")
  func numbers() {
    #expect(ContractValue.int(3).double == 3)
    #expect(ContractValue.double(3).int == 3)
    #expect(ContractValue.double(3.5).int == nil)
    #expect(ContractValue.bool(true).int == nil)
    #expect(ContractValue.string("3").int == nil)
    #expect(ContractValue.int(1).bool == nil)
  }

  @Test("gives a string unchanged, and other values as JSON")
  func text() {
    #expect(ContractValue.string("a b").text == "a b")
    #expect(ContractValue.object(["b": .int(1), "a": .null]).text == #"{"a":null,"b":1}"#)
  }
}

@Suite("Merge patches")
struct MergePatchTests {
  /// The examples of RFC 7396, appendix A, in which documents and patches are objects.
  @Test(
    "apply the examples of the RFC",
    arguments: [
      (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
      (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
      (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
      (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
      (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
      (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
      (#"{"e":null}"#, #"{"a":1}"#, #"{"a":1,"e":null}"#),
      (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
  func examples(document: String, patch: String, expected: String) throws {
    var values = try decoded(document)
    values.merge(patch: try decoded(patch))
    #expect(values == (try decoded(expected)))
  }

  private func decoded(_ json: String) throws -> [String: ContractValue] {
    try JSONDecoder().decode([String: ContractValue].self, from: Data(json.utf8))
  }
}

@Suite("Integers with a fraction")
struct WholeFractionTests {
  @Test(
    "keep the fraction when decoded and encoded",
    arguments: [
      "10.0", "[10.0,10]", #"{"a":{"b":[1,2.0,{"c":-3.0}]},"z":0.5}"#, #"{"1":{"0":7.0}}"#, "1e+16", "-0.0",
      #"{"t":"10.0 at 127.0.0.1","u":1.0}"#,
    ])
  func stays(text: String) throws {
    let value = try ContractJSON.decode(ContractValue.self, from: Data(text.utf8), source: "")
    #expect(String(decoding: try ContractJSON.encode(value), as: UTF8.self) == text)
    #expect(ContractValue(argument: text) == value)
  }

  @Test("are Doubles, however written, and 10 is an Int", arguments: ["10.0", "10.00", "1e1", "1E+1", "100e-1"])
  func kinds(text: String) throws {
    #expect(try ContractJSON.decode(ContractValue.self, from: Data(text.utf8), source: "") == .double(10))
    #expect(try ContractJSON.decode(ContractValue.self, from: Data("10".utf8), source: "") == .int(10))
    let member = try ContractJSON.decode([String: ContractValue].self, from: Data(#"{"7": \#(text)}"#.utf8), source: "")
    #expect(member == ["7": .double(10)])
  }

  @Test("do not change similar strings")
  func strings() throws {
    let value = ContractValue.array([.string("diorama-1-10.0"), .double(10), .string("\"10.0\"")])
    let text = String(decoding: try ContractJSON.encode(value), as: UTF8.self)
    #expect(text == #"["diorama-1-10.0",10.0,"\"10.0\""]"#)
  }
}
