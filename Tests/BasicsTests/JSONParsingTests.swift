import Basics
import Dispatch
import Foundation
import Testing

@Suite("JSON parsing")
struct JSONParsingTests {
  private func parse(_ text: String) throws(CodedError) -> JSON {
    try JSON.parse(Array(text.utf8))
  }

  @Test(
    "keeps a number as written",
    arguments: [
      "0", "-0", "1", "-1", "10", "0.00", "1.50", "-0.0", "1e5", "1E+5", "1e-5", "1.25e400",
      "123456789012345678901234567890", "0e0", "9007199254740993",
    ])
  func number(_ text: String) throws {
    #expect(try parse(text) == .number(text))
    #expect(try parse(" [ \(text) ] ") == .array([.number(text)]))
  }

  @Test(
    "rejects a number that RFC 8259 does not allow",
    arguments: [
      "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity", "-Infinity", "1,5", "1_000", "--1",
      "1.2.3", "1e5.5", "00",
    ])
  func badNumber(_ text: String) {
    #expect(throws: CodedError.self) { try parse(text) }
    #expect(throws: CodedError.self) { try parse("[\(text)]x") }
  }

  @Test(
    "resolves escapes",
    arguments: [
      (#""""#, ""),
      (#""a""#, "a"),
      (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
      (#""\u0041\u00e9\u20AC""#, "A\u{E9}\u{20AC}"),
      (#""\ud83d\ude42""#, "\u{1F642}"),
      (#""x\uD83D\uDE42y\ud83d\ude42""#, "x\u{1F642}y\u{1F642}"),
      (#""\u0000""#, "\u{0}"),
      (#""\\u0041""#, "\\u0041"),
      ("\"\u{1F642} \u{2028} \u{7F}\"", "\u{1F642} \u{2028} \u{7F}"),
      (#""12345678\"12345678\n1234567""#, "12345678\"12345678\n1234567"),
      ("\"\u{FEFF}a\"", "\u{FEFF}a"),
    ])
  func escapes(_ text: String, _ expected: String) throws {
    #expect(try parse(text) == .string(expected))
    #expect(try parse("{\(text): 1}") == .object([JSON.Member(expected, .number("1"))]))
  }

  @Test(
    "replaces a lone surrogate with U+FFFD",
    arguments: [
      (#""\ud800""#, "\u{FFFD}"),
      (#""\udc00x""#, "\u{FFFD}x"),
      (#""\ud800\u0041""#, "\u{FFFD}A"),
      (#""\ud800\ud83d\ude42""#, "\u{FFFD}\u{1F642}"),
      (#""\ud800\n""#, "\u{FFFD}\n"),
      (#""\ude42\ud83d""#, "\u{FFFD}\u{FFFD}"),
    ])
  func loneSurrogates(_ text: String, _ expected: String) throws {
    #expect(try parse(text) == .string(expected))
  }

  @Test("finds the end of a string at any alignment")
  func runLengths() throws {
    for count in 0..<40 {
      let text = String(repeating: "\u{E9}", count: count / 2) + String(repeating: "a", count: count % 2)
      #expect(try parse("\"\(text)\"") == .string(text))
      #expect(try parse("\"\(text)\\n\(text)\"") == .string(text + "\n" + text))
    }
  }

  @Test("keeps the order of members, and duplicates")
  func members() throws {
    let value = try parse(#"{"b": 1, "a": [true, false, null, {}, []], "b": 2}"#)
    #expect(
      value
        == .object([
          .init("b", .number("1")),
          .init("a", .array([.bool(true), .bool(false), .null, .object([]), .array([])])),
          .init("b", .number("2")),
        ]))
    #expect(value["b"] == .number("1"))
    #expect(value["c"] == nil)
  }

  @Test("distinguishes strings that Swift considers equal")
  func scalars() throws {
    #expect(try parse("\"\u{E9}\"") != parse("\"e\u{301}\""))
    #expect(try parse("{\"\u{E9}\": 1}")["e\u{301}"] == nil)
  }

  @Test("reads whole numbers in any notation, and only those, as integers")
  func integers() throws {
    #expect(try parse("12").int == 12)
    #expect(try parse("12.0").int == 12)
    #expect(try parse("1.2e1").int == 12)
    #expect(try parse("-7").int == -7)
    #expect(try parse("9223372036854775807").int == .max)
    #expect(try parse("12.5").int == nil)
    #expect(try parse("1e30").int == nil)
    #expect(try parse("\"12\"").int == nil)
    #expect(try parse("12.5").double == 12.5)
    #expect(try parse("true").bool == true)
  }

  @Test("allows a byte order mark and white space around the value")
  func context() throws {
    #expect(try parse("\u{FEFF} \t\r\n{} \n") == .object([]))
    #expect(throws: CodedError.self) { try parse("\u{FEFF}\u{FEFF}{}") }
    #expect(throws: CodedError.self) { try parse("\u{A0}1") }
  }

  @Test("allows 512 levels and rejects the next")
  func depth() throws {
    let deepest = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    #expect(try parse(deepest).array?.count == 1)
    #expect(throws: CodedError.self) { try parse("[\(deepest)]") }
    let objects = String(repeating: "{\"a\":", count: 100_000)
    #expect {
      try parse(objects)
    } throws: { error in
      "\(error)" == "line 1, column 2561: arrays and objects are nested more than 512 levels deep"
    }
  }

  @Test("parses the deepest allowed value on a small stack")
  func smallStack() {
    let texts = [("[", "]"), ("{\"a\":", "}")].map { opening, closing in
      String(repeating: opening, count: 512) + "1" + String(repeating: closing, count: 512)
    }
    let written = Guarded<[String]>([])
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      for text in texts {
        guard let value = try? JSON.parse(Array(text.utf8)), value == value else { continue }
        written.withLock { $0.append(String(decoding: value.encoded(), as: UTF8.self)) }
      }
      done.signal()
    }
    // The stack size of secondary threads on Apple platforms, which is smaller than on Linux.
    thread.stackSize = 512 * 1024
    thread.start()
    done.wait()
    #expect(written.withLock { $0 } == texts)
  }

  @Test(
    "reports the problem and its position",
    arguments: [
      ("", "line 1, column 1: expected a value, found the end of the text"),
      ("  \n ", "line 2, column 2: expected a value, found the end of the text"),
      ("[1, 2", "line 1, column 6: expected ',' or ']' after an element, found the end of the text"),
      ("[1 2]", "line 1, column 4: expected ',' or ']' after an element, found '2'"),
      ("[1,]", "line 1, column 4: expected a value, found ']'"),
      ("[,1]", "line 1, column 2: expected a value, found ','"),
      ("{\"a\":1,}", "line 1, column 8: expected a member's name in quotes, found '}'"),
      ("{\"a\" 1}", "line 1, column 6: expected ':' after a member's name, found '1'"),
      ("{\"a\":1 \"b\":2}", "line 1, column 8: expected ',' or '}' after a member, found '\"'"),
      ("{a:1}", "line 1, column 2: expected a member's name in quotes, found 'a'"),
      ("1 2", "line 1, column 3: expected the end after the value, found '2'"),
      ("{}\n\n}", "line 3, column 1: expected the end after the value, found '}'"),
      ("tru", "line 1, column 1: expected 'true', found 't'"),
      ("[nul]", "line 1, column 2: expected 'null', found 'n'"),
      ("01", "line 1, column 1: a number with a leading zero"),
      ("1.x", "line 1, column 3: expected a digit, found 'x'"),
      ("[\n\"abc", "line 2, column 1: the text ends inside the string that begins here"),
      ("\"abc\\", "line 1, column 1: the text ends inside the string that begins here"),
      ("\"\\u12", "line 1, column 1: the text ends inside the string that begins here"),
      ("\"\\u12G4\"", "line 1, column 6: expected four hexadecimal digits after \\u, found 'G'"),
      ("\"\\x\"", "line 1, column 3: expected one of \" \\ / b f n r t u after a backslash, found 'x'"),
      ("\"\u{E9}\u{E9}\n\"", "line 1, column 4: a control character, 0x0A, has to be escaped in a string"),
      ("\u{1}", "line 1, column 1: expected a value, found the byte 0x01"),
    ])
  func errors(_ text: String, _ description: String) {
    #expect {
      try parse(text)
    } throws: { error in
      "\(error)" == description
    }
  }

  @Test(
    "rejects invalid UTF-8 with its position",
    arguments: [
      ([0x22, 0x61, 0xFF, 0x22], 3), ([0x22, 0xC3, 0x22], 2), ([0x22, 0xC0, 0xAF, 0x22], 2),
      ([0x22, 0xE0, 0x80, 0x80, 0x22], 2), ([0x22, 0xED, 0xA0, 0x80, 0x22], 2),
      ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 2), ([0x22, 0xC3, 0xA9, 0x80, 0x22], 3),
      ([0x22, 0x5C, 0x6E, 0xF0, 0x9F, 0x99, 0x22], 4), ([0xFF], 1),
    ] as [([UInt8], Int)])
  func notUTF8(_ bytes: [UInt8], _ column: Int) {
    #expect {
      try JSON.parse(bytes)
    } throws: { error in
      (error as? CodedError)?.place == "line 1, column \(column)"
    }
  }

  @Test("rejects every prefix of a text without reading past its end")
  func prefixes() throws {
    let text = Array(#"{"a\u00e9": [1.5e3, "x\ud83d\ude42", true, null], "bcdefghijkl": {"c": "é"}}"#.utf8)
    for count in 0..<text.count {
      #expect(throws: CodedError.self) { try JSON.parse(Array(text[..<count])) }
    }
    _ = try JSON.parse(text)
  }
}
