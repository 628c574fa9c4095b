import LaunchContract
import Testing

@Suite("JSON of which not all is needed")
struct JSONSkippingTests {
  private func read(_ text: String, omitting isUnneeded: ((String) -> Bool)? = nil) -> Result<JSON, JSONError> {
    Array(text.utf8).withUnsafeBytes { bytes in
      Result { () throws(JSONError) in
        var reader = JSONReader(bytes)
        let value = try reader.value(omitting: isUnneeded)
        try reader.end()
        return value
      }
    }
  }

  @Test("has the members that are needed, wherever the others lay")
  func omitted() throws {
    let text = #"{"x":[1,{"a":2}],"a":1,"b":[{"x":null,"c":"x"},[{"x":{"x":{}}}]],"x":"\u00e9"}"#
    let expected = try JSON.parse(Array(#"{"a":1,"b":[{"c":"x"},[{}]]}"#.utf8))
    #expect(try read(text) { $0 == "x" }.get() == expected)
  }

  @Test(
    "has the same error at the same place whatever is left out",
    arguments: [
      #"{"x":}"#, #"{"x":[1,2"#, #"{"x":{"a":1,}}"#, #"{"x":[1 2]}"#, #"{"x":"a"#, #"{"x":"\q"}"#, #"{"x":"\u12g4"}"#,
      #"{"x":01}"#, #"{"x":1.}"#, #"{"x":tru}"#, #"{"x":[],"y"}"#, #"{"x":1}}"#, "{\"x\":\"a\u{1}\"}", #"{"x":[}]}"#,
      #"{"x":{1:2}}"#, #"{"x"#, #"{"x":"# + String(repeating: "[", count: 600),
    ])
  func broken(_ text: String) {
    guard case .failure(let error) = read("\n " + text) else {
      Issue.record("it was read")
      return
    }
    guard case .failure(let same) = read("\n " + text, omitting: { _ in true }) else {
      Issue.record("it was skipped")
      return
    }
    #expect(same.description == error.description)
    #expect(same.offset == error.offset)
  }

  @Test("takes for text what the standard library takes for UTF-8")
  func valid() {
    var generator = SeededGenerator(8)
    let pieces: [[UInt8]] = [
      [0x61], Array("abcdefgh".utf8), Array("é".utf8), Array("€".utf8), Array("😀".utf8), [0xC3], [0xE2, 0x82], [0x80],
      [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC0, 0x80], [0xFF],
    ]
    for _ in 0..<3_000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...6, using: &generator) {
        // Most are whole characters, else hardly any text would be valid.
        let isWhole = Int.random(in: 0...9, using: &generator) > 0
        bytes += pieces[Int.random(in: 0..<(isWhole ? 5 : pieces.count), using: &generator)]
      }
      let text = (try? JSON.parse([0x22] + bytes + [0x22]))?.string
      #expect(text == String(validating: bytes, as: UTF8.self))
    }
  }
}
