import Basics
import Foundation
import Testing

@Suite("Decoded JSON values")
struct JSONValueTests {
  @Test(
    "parses an option's value as JSON, or else as a string",
    arguments: [
      ("true", .bool(true)), ("1", .int(1)), ("-0.5", .double(-0.5)), ("\"1\"", .string("1")), ("null", .null),
      ("word", .string("word")), ("two words", .string("two words")), ("", .string("")),
      ("[1,{\"a\":false}]", .array([.int(1), .object(["a": .bool(false)])])),
      ("9223372036854775807", .int(.max)), ("1e300", .number("1e300")), ("{broken", .string("{broken")),
    ] as [(String, JSON)])
  func argument(_ text: String, _ value: JSON) {
    #expect(JSON(argument: text) == value)
  }

  @Test("converts an integer to a fraction, but not the other way round")
  func numbers() {
    #expect(JSON.int(3).double == 3)
    #expect(JSON.double(3) == .number("3.0"))
    #expect(JSON.double(3).int == 3)
    #expect(JSON.double(3.5).int == nil)
    #expect(JSON.bool(true).int == nil)
    #expect(JSON.string("3").int == nil)
    #expect(JSON.int(1).bool == nil)
  }

  @Test("gives a string unchanged, and other values as JSON")
  func text() {
    #expect(JSON.string("a b").text == "a b")
    #expect(JSON.object(["b": .int(1), "a": .null]).text == #"{"a":null,"b":1}"#)
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

  private func decoded(_ json: String) throws -> [String: JSON] {
    try JSONDecoder().decode([String: JSON].self, from: Data(json.utf8))
  }
}

@Suite("Numbers in JSON")
struct NumberTextTests {
  @Test(
    "keep their text when decoded and encoded",
    arguments: [
      "10.00", "1E+1", "12345678901234567890", "0.1000000000000000055",
      "10.0", "[10.0,10]", #"{"a":{"b":[1,2.0,{"c":-3.0}]},"z":0.5}"#, #"{"1":{"0":7.0}}"#, "1e+16", "-0.0",
      #"{"t":"10.0 at 127.0.0.1","u":1.0}"#,
    ])
  func stays(text: String) throws {
    let value = try JSON.decode(JSON.self, from: Data(text.utf8), source: "")
    #expect(String(decoding: try JSON.encode(value), as: UTF8.self) == text)
    #expect(JSON(argument: text) == value)
  }

  @Test("are equal only in the same form", arguments: ["10.0", "10.00", "1e1", "1E+1", "100e-1"])
  func kinds(text: String) throws {
    let value = try JSON.decode(JSON.self, from: Data(text.utf8), source: "")
    #expect(value == .number(text))
    #expect(value.double == 10)
    let member = try JSON.decode([String: JSON].self, from: Data(#"{"7": \#(text)}"#.utf8), source: "")
    #expect(member == ["7": .number(text)])
    #expect(try JSON.decode(JSON.self, from: Data("10".utf8), source: "") == .int(10))
  }

  @Test("do not change similar strings")
  func strings() throws {
    let value = JSON.array([.string("diorama-1-10.0"), .double(10), .string("\"10.0\"")])
    let text = String(decoding: try JSON.encode(value), as: UTF8.self)
    #expect(text == #"["diorama-1-10.0",10.0,"\"10.0\""]"#)
  }
}

@Suite("Members of a JSON object")
struct MemberTests {
  @Test("can be read, replaced, added and removed by name")
  func subscripts() {
    var members = [JSON.Member("a", .int(1)), .init("a", .int(2))]
    #expect(members["a"] == .int(1))
    members["a"] = .null
    members["b"] = .bool(true)
    members["c"] = nil
    #expect(JSON.object(members).text == #"{"a":null,"a":2,"b":true}"#)
    members["a"] = nil
    #expect(JSON.object(members).text == #"{"a":2,"b":true}"#)
  }

  @Test("are sorted when decoded, and of duplicates the first is used")
  func decoded() throws {
    let value = try JSON.decode(JSON.self, from: Data(#"{"b":1,"a":{"d":1,"c":2},"b":2}"#.utf8), source: "")
    #expect(value.text == #"{"a":{"c":2,"d":1},"b":1}"#)
  }
}

@Suite("Coded errors")
struct CodedErrorTests {
  @Test("are one line that begins with the place, without terminal control characters")
  func description() {
    #expect("\(CodedError(.broken, "a\u{1B}[31m\nb", at: "x.json"))" == #"x.json: a\u{1b}[31m\nb"#)
    #expect("\(CodedError(.usage, "no"))" == "no")
  }

  @Test("have the codes of sysexits.h and names", arguments: CodedError.Kind.allCases)
  func kinds(_ kind: CodedError.Kind) {
    #expect(64..<78 ~= kind.rawValue)
    #expect(CodedError.Kind(name: kind.name) == kind)
  }
}
