import TestSupport
import Testing

@testable import Basics

@Suite("JSON indexes")
struct JSONIndexTests {
  /// The result of parsing a text with one value.
  private static func read(
    _ text: [UInt8], _ make: (inout JSONReader) throws(CodedError) -> JSON
  ) -> Result<JSON, CodedError> {
    text.withUnsafeBytes { bytes in
      Result { () throws(CodedError) in
        var reader = JSONReader(bytes)
        let value = try make(&reader)
        try reader.end()
        return value
      }
    }
  }

  private static func outlined(_ text: [UInt8]) -> Result<JSON, CodedError> {
    read(text) { reader throws(CodedError) in
      var outline = JSONIndex()
      try outline.read(&reader)
      return outline.withValue { tree($0) }
    }
  }

  private static func parsed(_ text: [UInt8]) -> Result<JSON, CodedError> {
    read(text) { reader throws(CodedError) in try reader.value() }
  }

  /// The whole value, rebuilt through its accessors.
  private static func tree(_ value: JSONIndex.Value) -> JSON {
    let part = value.parts[value.index]
    if let text = value.string {
      #expect(value.length == text.utf8.count)
      #expect(value.utf8 == Array(text.utf8))
      return .string(text)
    }
    if value.isNull { return .null }
    if let bool = value.bool { return .bool(bool) }
    if let elements = value.array {
      let trees = elements.map(tree)
      #expect(elements.count == trees.count)
      return .array(trees)
    }
    guard value.isObject else {
      let number = JSON.number(String(decoding: value.bytes[part.range], as: UTF8.self))
      #expect(value.int == number.int)
      #expect(value.double == number.double)
      return number
    }
    var members: [JSON.Member] = []
    var name = value.index + 1
    while name < part.next {
      let key = JSONIndex.Value(parts: value.parts, bytes: value.bytes, index: name)
      let member = JSONIndex.Value(parts: value.parts, bytes: value.bytes, index: name + 1)
      members.append(JSON.Member(key.string ?? "?", tree(member)))
      name = value.parts[name + 1].next
    }
    return .object(members)
  }

  @Test(
    "contains the whole value",
    arguments: [
      #"{"x":[1,{"a":2}],"a":1,"b":[{"x":null,"c":"x"},[{"x":{"x":{}}}]],"x":"\u00e9"}"#, "[]", "{}", "[[[]],{}]",
      #""a\"b\\c\/\b\f\n\r\tz\u0041\u20aC\ud83D\ude00\ud83d\u0041\udE00é€😀""#, "true", "[false,null]", "-0",
      "123456789012345678", "1234567890123456789", "92233720368547758070", "[1.0,12e1,-7,0.5,1e400]",
      "{\n  \"a\": [\n            1,\r\n\t        2\n  ]\n}",
    ])
  func whole(_ text: String) throws {
    let bytes = Array(text.utf8)
    #expect(try Self.outlined(bytes).get() == Self.parsed(bytes).get())
  }

  @Test("finds the first member with a name, in any escaped form")
  func members() throws {
    let text = Array(#"[{"b":{"name":0},"n\u0061me":1,"name":2,"nam":3},{"names":4},"name",[{"name":5}]]"#.utf8)
    try text.withUnsafeBytes { bytes in
      var reader = JSONReader(bytes)
      var outline = JSONIndex()
      try outline.read(&reader)
      outline.withValue { value in
        #expect(value.array?.map { $0["name"]?.int } == [1, nil, nil, nil])
        #expect(value["name"]?.int == nil)
      }
    }
  }

  @Test(
    "rejects invalid JSON with the same error as the value parser",
    arguments: [
      #"{"x":}"#, #"{"x":[1,2"#, #"{"x":{"a":1,}}"#, #"{"x":[1 2]}"#, #"{"x":"a"#, #"{"x":"\q"}"#, #"{"x":"\u12g4"}"#,
      #"{"x":01}"#, #"{"x":1.}"#, #"{"x":tru}"#, #"{"x":[],"y"}"#, #"{"x":1}}"#, "{\"x\":\"a\u{1}\"}", #"{"x":[}]}"#,
      #"{"x":{1:2}}"#, #"{"x"#, #"{"x":"\"#, #"{"x":"\u12"#, #"{"x":"\ud800\u1"}"#, "", "nul", "-", "1e+",
      #"{"x":"# + String(repeating: "[", count: 600),
    ])
  func broken(_ text: String) {
    let bytes = Array(("\n " + text).utf8)
    guard case .failure(let error) = Self.parsed(bytes), case .failure(let same) = Self.outlined(bytes) else {
      Issue.record("it was read")
      return
    }
    #expect(same == error)
  }

  @Test("agrees with the value parser on any bytes")
  func random() {
    var generator = SeededGenerator(5)
    let pieces =
      [
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"a\":", "\\", "\\n", "\\u00e9", "\\ud83d", "u", "1", "-", ".",
        "e", "true",
        "null", " ", "\n         ", "é", "\u{1}",
      ].map { Array($0.utf8) } + [[0xC3], [0xFF]]
    for _ in 0..<20_000 {
      var bytes = Array(#"{"a":["b",{"c":1}],"d":"x\u0041yz, ten bytes and more","e":[[],{},null]}"#.utf8)
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let start = Int.random(in: 0...bytes.count, using: &generator)
        let end = min(bytes.count, start + Int.random(in: 0...3, using: &generator))
        bytes.replaceSubrange(start..<end, with: pieces[Int.random(in: 0..<pieces.count, using: &generator)])
      }
      #expect(Self.outlined(bytes) == Self.parsed(bytes))
    }
  }

  @Test("accepts the same UTF-8 as the standard library")
  func valid() {
    var generator = SeededGenerator(8)
    let pieces: [[UInt8]] = [
      [0x61], Array("abcdefgh".utf8), Array("é".utf8), Array("€".utf8), Array("😀".utf8), [0xC3], [0xE2, 0x82], [0x80],
      [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC0, 0x80], [0xFF],
    ]
    for _ in 0..<3_000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...6, using: &generator) {
        // Mostly whole characters; otherwise hardly any text would be valid.
        let isWhole = Int.random(in: 0...9, using: &generator) > 0
        bytes += pieces[Int.random(in: 0..<(isWhole ? 5 : pieces.count), using: &generator)]
      }
      let text = (try? JSON.parse([0x22] + bytes + [0x22]))?.string
      #expect(text == String(validating: bytes, as: UTF8.self))
    }
  }
}
