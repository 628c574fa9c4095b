import Basics
import TestSupport
import Testing

@Suite("JSON encoding")
struct JSONEncodingTests {
  private func text(_ value: JSON, _ style: JSON.Style) -> String {
    String(decoding: value.encoded(style), as: UTF8.self)
  }

  private let value = JSON.object([
    .init("b", .number("0.00")), .init("a", .array([.null, .bool(true), .object([]), .array([])])),
    .init("b", .string("x\"y")),
  ])

  @Test("writes on one line without white space")
  func compact() {
    #expect(text(value, .compact) == #"{"b":0.00,"a":[null,true,{},[]],"b":"x\"y"}"#)
  }

  @Test("writes each member on its own line, indented by two spaces")
  func pretty() {
    #expect(
      text(value, .pretty) == """
        {
          "b": 0.00,
          "a": [
            null,
            true,
            {},
            []
          ],
          "b": "x\\"y"
        }
        """)
  }

  @Test("escapes only characters that must be escaped")
  func escapes() {
    let all = String(String.UnicodeScalarView((0..<0x20).compactMap { Unicode.Scalar($0) }))
    #expect(
      text(.string(all), .compact)
        == #""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#
        + #"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f""#)
    #expect(
      text(.string("\"\\/\u{7F}\u{E9}\u{2028}\u{1F642}"), .compact) == "\"\\\"\\\\/\u{7F}\u{E9}\u{2028}\u{1F642}\"")
  }

  @Test("round-trips any value", arguments: 0..<200 as Range<UInt64>)
  func roundTrip(_ seed: UInt64) throws {
    var random = SeededGenerator(seed)
    let value = random.json(depth: 5)
    #expect(try JSON.parse(value.encoded(.compact)) == value)
    #expect(try JSON.parse(value.encoded(.pretty)) == value)
  }

  @Test("writes the same text piece by piece as from a tree", arguments: [JSON.Style.compact, .line, .pretty])
  func writer(_ style: JSON.Style) {
    let tree = JSON.object([
      .init("none", .object([])), .init("text", .string("a\"b")),
      .init("list", .array([.object([.init("id", .number("1"))]), .object([])])), .init("empty", .array([])),
      .init("last", .array([.number("1"), .number("2")])),
    ])
    var writer = JSONWriter(style: style)
    writer.object { object in
      object.member("none") { $0.object { _ in } }
      object.member("text", string: "a\"b")
      object.member("list") { list in
        list.array {
          $0.element { $0.member("id", number: "1") }
          $0.element { _ in }
        }
      }
      object.member("empty") { $0.array { _ in } }
      object.member("last", .array([.number("1"), .number("2")]))
    }
    #expect(String(decoding: writer.output, as: UTF8.self) == text(tree, style))
  }
}
