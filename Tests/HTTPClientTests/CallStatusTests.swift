import HTTPClient
import HTTPMessages
import TestSupport
import Testing

/// RFC 9113 has the frames and RFC 7541 the fields.
@Suite("A gRPC server that resets the stream of a call", .timeLimit(.minutes(5)))
struct CallStatusTests {
  private static let emptySettings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

  private static func frame(_ type: UInt8, _ flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, 1] + payload
  }

  /// A field without Huffman coding.
  private static func field(_ name: String, _ value: String) -> [UInt8] {
    [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
  }

  /// Answers with a head, and resets the stream without an error (RFC 9113, 8.1).
  private func answer(_ fields: [UInt8]) async throws -> Result<Response, any Error> {
    try await withUpstream { connection in
      _ = try connection.readExactly(24)
      try connection.write(Self.emptySettings)
      while true {
        let head = try connection.readExactly(9)
        _ = try connection.readExactly(head[..<3].reduce(0) { $0 << 8 | Int($1) })
        if head[3] == 1 { break }
      }
      // The status 200 is entry 8 of the static table.
      try connection.write(Self.frame(1, 5, [0x88] + fields) + Self.frame(3, 0, [0, 0, 0, 0]))
      _ = connection.readToEnd()
    } _: { client, upstream in
      var request = Request(method: "POST", target: "/a.B/C", body: .stream(BytePipe(), length: nil))
      request.isHTTP2 = true
      do { return .success(try await client.send(request, to: upstream.origin)) } catch { return .failure(error) }
    }
  }

  @Test("has completed the call if it has sent the status")
  func complete() async throws {
    let response = try await answer(Self.field("grpc-status", "12")).get()
    #expect(response.status == 200 && response.headers["grpc-status"] == "12")
    #expect(try await response.body.collect(upTo: 9).isEmpty)
  }
}
