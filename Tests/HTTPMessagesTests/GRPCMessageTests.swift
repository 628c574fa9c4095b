import Basics
import HTTPMessages
import Testing

@Suite("gRPC messages")
struct GRPCMessageTests {
  @Test("writes a flag, a length in network byte order, and the payload")
  func frame() {
    #expect(GRPCMessage([7, 8]).frame == [0, 0, 0, 0, 2, 7, 8])
    #expect(GRPCMessage([], isCompressed: true).frame == [1, 0, 0, 0, 0])
    #expect(GRPCMessage([UInt8](repeating: 1, count: 0x01_0203)).frame.prefix(5) == [0, 0, 1, 2, 3])
    #expect(GRPCMessage([65], isTrailers: true).frame == [0x80, 0, 0, 0, 1, 65])
  }

  @Test("finds the same messages however the bytes are divided", arguments: 1...12)
  func pieces(size: Int) throws {
    let messages = [
      GRPCMessage([1, 2, 3]), GRPCMessage([], isCompressed: true), GRPCMessage([UInt8](repeating: 9, count: 300)),
      GRPCMessage([]),
    ]
    let bytes = messages.flatMap(\.frame)
    var parser = GRPCMessageParser(limit: 300)
    var found: [GRPCMessage] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      found += try parser.parse(Array(bytes[start..<min(start + size, bytes.count)]))
    }
    try parser.finish()
    #expect(found == messages)
  }

  @Test(
    "rejects a body that ends within a prefix or a payload", arguments: [[0, 0], [0, 0, 0, 0, 3, 1]] as [[UInt8]])
  func unfinished(bytes: [UInt8]) throws {
    var parser = GRPCMessageParser(limit: 100)
    _ = try parser.parse(GRPCMessage([1]).frame)
    #expect(try parser.parse(bytes) == [])
    #expect(throws: CodedError.self) { try parser.finish() }
  }

  @Test("rejects a message beyond the limit before its payload arrives")
  func limit() throws {
    var parser = GRPCMessageParser(limit: 100)
    #expect(throws: CodedError.self) { try parser.parse([0, 0, 0, 0, 101]) }
    var largest = GRPCMessageParser(limit: 100)
    #expect(throws: CodedError.self) { try largest.parse([0, 0xFF, 0xFF, 0xFF, 0xFF]) }
  }

  @Test("rejects bytes that are not gRPC")
  func flag() {
    for first in [2, 0x80, UInt8(ascii: "{")] as [UInt8] {
      var parser = GRPCMessageParser(limit: 100)
      #expect(throws: CodedError.self) { try parser.parse([first, 0, 0, 0, 0]) }
    }
  }

  @Test("accepts trailers at the end of a gRPC-Web body only")
  func trailers() throws {
    var parser = GRPCMessageParser(limit: 100, isWeb: true)
    let trailers = GRPCMessage(Array("grpc-status: 0\r\n".utf8), isTrailers: true)
    #expect(try parser.parse(GRPCMessage([1]).frame + trailers.frame) == [GRPCMessage([1]), trailers])
    #expect(throws: CodedError.self) { try parser.parse(GRPCMessage([1]).frame) }
  }

  @Test("are counted without being kept, however the body is split", arguments: [1, 2, 5, 6, 7, 5000])
  func counter(size: Int) {
    let body =
      GRPCMessage([1, 2, 3]).frame + GRPCMessage([], isCompressed: true).frame
      + GRPCMessage([UInt8](repeating: 7, count: 1000)).frame
    var counter = GRPCMessageCounter()
    let counts = stride(from: 0, to: body.count, by: size).map { start in
      counter.count(Array(body[start..<min(start + size, body.count)]))
    }
    #expect(counts.reduce(0) { $0 + ($1 ?? 100) } == 3)
    // One that is larger than any limit.
    #expect(counter.count([0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2]) == 0)
    var other = GRPCMessageCounter()
    #expect(other.count(Array("{}".utf8)) == nil)
  }

  @Test(
    "recognizes gRPC by its content type",
    arguments: [
      ("application/grpc", .grpc), ("application/grpc+proto", .grpc), ("Application/gRPC+json; charset=utf-8", .grpc),
      ("application/grpc-web", .web), ("application/grpc-web+proto", .web), ("application/grpc-web-text", .webText),
      ("application/grpcx", nil), ("application/json", nil), ("", nil),
    ] as [(String, GRPCFraming?)])
  func contentType(text: String, framing: GRPCFraming?) {
    #expect(GRPCFraming(contentType: text) == framing)
  }
}
