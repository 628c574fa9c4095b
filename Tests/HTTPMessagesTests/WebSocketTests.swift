import HTTPMessages
import Testing

@Suite("WebSocket frames")
struct WebSocketTests {
  private static func read(
    _ bytes: [UInt8], isMasked: Bool = false, limit: Int = 1 << 20, piece: Int = .max
  ) throws -> [WebSocketMessage] {
    var reader = WebSocketReader(isMasked: isMasked, limit: limit)
    var messages: [WebSocketMessage] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      try reader.push(Array(rest.prefix(piece))) { messages.append($0) }
      rest = rest.dropFirst(piece)
    }
    return messages
  }

  private static func failure(_ bytes: [UInt8], isMasked: Bool = false, limit: Int = 1 << 20) -> UInt16? {
    let error = #expect(throws: WebSocketReader.Failure.self) {
      try read(bytes, isMasked: isMasked, limit: limit)
    }
    return error?.code
  }

  private static func text(_ text: String) -> WebSocketMessage { WebSocketMessage(.text, Array(text.utf8)) }

  // The examples of RFC 6455, 5.7.
  @Test("reads the examples of the RFC")
  func examples() throws {
    let hello: [UInt8] = [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
    let masked: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
    let fragments: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]
    #expect(try Self.read(hello) == [Self.text("Hello")])
    #expect(try Self.read(masked, isMasked: true) == [Self.text("Hello")])
    #expect(try Self.read(fragments) == [Self.text("Hello")])
    #expect(Self.text("Hello").frame() == hello)
    #expect(Self.text("Hello").frame(mask: 0x37FA_213D) == masked)
  }

  @Test(
    "reads back messages of any length, in any pieces",
    arguments: [0, 1, 125, 126, 65_535, 65_536, 70_000], [1000, 3, Int.max])
  func lengths(count: Int, piece: Int) throws {
    let message = WebSocketMessage(.binary, [UInt8](repeating: 0xA5, count: count))
    let pair = [message, Self.text("naïve 🙂")]
    #expect(try Self.read(pair.flatMap { $0.frame() }, piece: piece) == pair)
    #expect(try Self.read(pair.flatMap { $0.frame(mask: 0xDEAD_BEEF) }, isMasked: true, piece: piece) == pair)
  }

  @Test("accepts a ping between the fragments of a message")
  func interleaved() throws {
    let bytes: [UInt8] = [0x01, 0x01, 0x61, 0x89, 0x01, 0x21, 0x80, 0x01, 0x62]
    #expect(try Self.read(bytes) == [WebSocketMessage(.ping, [0x21]), Self.text("ab")])
  }

  @Test("writes a close code and truncates a long reason")
  func close() throws {
    let long = WebSocketMessage.close(1008, String(repeating: "é", count: 100))
    #expect(try Self.read(long.frame()) == [long])
    #expect(long.closeCode == 1008)
    #expect(long.closeReason == String(repeating: "é", count: 61))
    #expect(WebSocketMessage(.close).closeCode == nil)
  }

  @Test(
    "rejects frames that RFC 6455 forbids",
    arguments: [
      [0xC1, 0x00], [0x83, 0x00], [0x8B, 0x00], [0x09, 0x00], [0x89, 0x7E, 0x00, 0x7E], [0x80, 0x00],
      [0x01, 0x00, 0x01, 0x00], [0x81, 0x80, 0, 0, 0, 0], [0x88, 0x01, 0x03], [0x88, 0x02, 0x03, 0xED],
    ] as [[UInt8]])
  func refused(bytes: [UInt8]) {
    #expect(Self.failure(bytes) == 1002)
  }

  @Test("rejects unmasked frames from a client")
  func unmasked() {
    #expect(Self.failure([0x81, 0x00], isMasked: true) == 1002)
  }

  @Test("rejects oversized messages before buffering them, including fragmented ones")
  func large() {
    #expect(Self.failure([0x82, 0x7F, 0x7F, 0, 0, 0, 0, 0, 0, 0]) == 1009)
    #expect(Self.failure([0x82, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], isMasked: true) == 1009)
    #expect(Self.failure([0x02, 0x02, 1, 2, 0x80, 0x02, 3, 4], limit: 3) == 1009)
  }

  @Test("rejects a text or close reason that is not valid UTF-8")
  func invalid() {
    #expect(Self.failure([0x81, 0x01, 0xFF]) == 1007)
    #expect(Self.failure([0x88, 0x03, 0x03, 0xE8, 0xFF]) == 1007)
  }

  @Test("recognises a valid handshake")
  func handshake() {
    var request = Request(
      method: "GET", target: "/",
      headers: [
        "Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket", "Sec-WebSocket-Key": "x",
        "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "chat, superchat",
      ])
    #expect(WebSocketHandshake.isAsked(by: request))
    #expect(WebSocketHandshake.protocols(of: request.headers) == ["chat", "superchat"])
    for name in ["Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version"] {
      var other = request
      other.headers.remove(name)
      #expect(!WebSocketHandshake.isAsked(by: other))
    }
    request.method = "POST"
    #expect(!WebSocketHandshake.isAsked(by: request))
  }
}
