import Testing

@testable import HTTPServer

@Suite("Parts of the server")
struct InternalsTests {
  @Test(
    "a token comes back from its number",
    arguments: [
      Token.wake, .listener(1), .listener(.max), .connection(number: 1, descriptor: 0),
      .connection(number: 0x2000_0000, descriptor: .max),
    ])
  func tokens(token: Token) {
    #expect(Token(rawValue: token.rawValue) == token)
  }

  @Test("numbers of connections stay within what a token holds")
  func numbers() {
    var registry = Registry(workers: 1)
    let first = registry.nextConnection()
    let second = registry.nextConnection()
    #expect(first != second && first > 0)
  }

  @Test("a target that is not UTF-8 is percent-encoded where it is not ASCII")
  func target() {
    #expect([UInt8(ascii: "/"), 0xFF, 0x41].withUnsafeBytes(Head.target) == "/%FFA")
    #expect(Array("/ä".utf8).withUnsafeBytes(Head.target) == "/ä")
  }

  @Test("text that is not UTF-8 is read as Latin-1")
  func text() {
    #expect([UInt8(0x41), 0xE4].withUnsafeBytes(Head.text) == "Aä")
  }

  @Test("a request's buffer keeps what is appended and gives back large memory")
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
