import HTTPMessages
import Testing

@testable import HTTPServer

@Suite("Server internals")
struct InternalsTests {
  @Test(
    "a token survives the conversion to a number",
    arguments: [
      Token.wake, .listener(1), .listener(.max), .connection(number: 1, descriptor: 0),
      .connection(number: 0x2000_0000, descriptor: .max),
    ])
  func tokens(token: Token) {
    #expect(Token(rawValue: token.rawValue) == token)
  }

  @Test("connection numbers fit into a token")
  func numbers() {
    var registry = Registry(workers: 1)
    let first = registry.nextConnection()
    let second = registry.nextConnection()
    #expect(first != second && first > 0)
  }

  @Test("percent-encodes non-ASCII bytes of a target that is not UTF-8")
  func target() {
    #expect([UInt8(ascii: "/"), 0xFF, 0x41].withUnsafeBytes(String.init(wireTarget:)) == "/%FFA")
    #expect(Array("/ä".utf8).withUnsafeBytes(String.init(wireTarget:)) == "/ä")
  }

  @Test("decodes text that is not UTF-8 as Latin-1")
  func text() {
    #expect([UInt8(0x41), 0xE4].withUnsafeBytes(Head.text) == "Aä")
  }

  @Test("a request buffer keeps appended bytes and frees large memory")
  func buffer() {
    var buffer = RequestState.Buffer()
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    for start in stride(from: 0, to: bytes.count, by: 1000) {
      bytes[start..<(start + 1000)].withUnsafeBytes { buffer.append($0) }
    }
    #expect(buffer.bytes.elementsEqual(bytes))
    buffer.empty()
    #expect(buffer.bytes.isEmpty)
    buffer.append(UnsafeRawBufferPointer(start: nil, count: 0))
    #expect(buffer.bytes.isEmpty)
    buffer.release()
  }
}
