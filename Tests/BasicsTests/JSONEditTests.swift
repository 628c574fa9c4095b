import Basics
import Testing

@Suite("Editing JSON text")
struct JSONEditTests {
  private func appended(_ text: String, _ elements: [JSON], at path: [String] = ["a", "b"]) throws -> String {
    String(decoding: try JSONEdit.appending(elements, at: path, to: Array(text.utf8)), as: UTF8.self)
  }

  @Test(
    "appends to an array and keeps all other bytes",
    arguments: [
      (#"{"a": {"b": [1]}, "c":2}"#, #"{"a": {"b": [1, 7]}, "c":2}"#),
      (#"{"a":{"b":[]}}"#, #"{"a":{"b":[7]}}"#),
      (
        "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}\n",
        "{\n  \"a\": {\n    \"b\": [\n      1,\n      7\n    ]\n  }\n}\n"
      ),
      ("{}", #"{"a": {"b": [7]}}"#),
      (#"{"c": 1.50}"#, #"{"c": 1.50, "a": {"b": [7]}}"#),
      (#"{"a": {"c": "\u00e9"}}"#, #"{"a": {"c": "\u00e9", "b": [7]}}"#),
      ("{\n\t\"c\": 1\n}", "{\n\t\"c\": 1,\n\t\"a\": {\"b\": [\n\t  7\n\t]}\n}"),
      ("\u{FEFF}{ }", "\u{FEFF}{\"a\": {\"b\": [7]} }"),
    ])
  func appends(text: String, expected: String) throws {
    let result = try appended(text, [.int(7)])
    #expect(result == expected)
    #expect(try JSON.parse(Array(result.utf8))["a"]?["b"]?.array?.last == .int(7))
  }

  @Test("gives each of several elements a line where the text has lines")
  func several() throws {
    #expect(try appended(#"{"a": {"b": [1]}}"#, [.int(7), .int(8)]) == #"{"a": {"b": [1, 7, 8]}}"#)
    #expect(
      try appended("{\"a\": {\n  \"b\": [\n    1]}}", [.int(7), .int(8)])
        == "{\"a\": {\n  \"b\": [\n    1,\n    7,\n    8]}}")
    #expect(
      try appended("{\n  \"c\": 1}", [.int(7), .int(8)], at: ["a"]) == "{\n  \"c\": 1,\n  \"a\": [\n    7,\n    8\n  ]}"
    )
  }

  @Test("names what is not an object or array", arguments: [#"{"a": [1]}"#, #"{"a": {"b": {}}}"#, "[1]", "{", ""])
  func refused(text: String) {
    #expect(throws: CodedError.self) { try appended(text, [.int(7)]) }
  }
}
