import CNGHTTP2
import Glibc
import HTTPMessages
import TestSupport
import Testing

@testable import HTTP2Echo
@testable import HTTPServer

@Suite("Hostile HTTP/2 clients", .timeLimit(.minutes(5)))
struct HostileTests {
  /// Sends bytes on a new connection and reads until the server closes it.
  private func end(of bytes: [UInt8], _ port: UInt16) async throws -> [UInt8] {
    try await onThread {
      let client = try RawClient(port: port)
      // The server may close the connection before it has read everything.
      try? client.send(bytes)
      return (try? client.receiveAll()) ?? []
    }
  }

  private func serves(_ server: PlainServer) async throws {
    let port = server.port
    let status = try await onThread {
      let client = try TestClient(port: port)
      return try client.answer(client.request()).status
    }
    #expect(status == 200)
  }

  /// The error code of a GOAWAY among the frames; nil without one.
  private func goAway(in bytes: [UInt8]) -> UInt8? {
    var rest = bytes[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      if head[3] == 7, rest.count >= 17 { return Array(rest)[16] }
      rest = rest.dropFirst(9 + length)
    }
    return nil
  }

  @Test(
    "ends a connection that violates the protocol with GOAWAY",
    arguments: [
      ("frame on stream 0", Frames.frame(1, flags: 5, stream: 0, Frames.head), 1),
      ("even stream", Frames.get(2), 1),
      ("DATA on an idle stream", Frames.frame(0, stream: 1, [1]), 1),
      ("window beyond 2^31-1", Frames.windowUpdate(0, 0x7FFF_FFFF), 3),
      ("window increment of 0", Frames.windowUpdate(0, 0), 1),
      ("frame larger than allowed", Frames.frame(0, stream: 1, [UInt8](repeating: 0, count: 16_385)), 6),
      ("PING of 7 bytes", Frames.frame(6, [UInt8](repeating: 0, count: 7)), 6),
      ("SETTINGS of 5 bytes", Frames.frame(4, [0, 0, 0, 0, 0]), 6),
      ("PUSH_PROMISE", Frames.frame(5, flags: 4, stream: 1, [0, 0, 0, 2] + Frames.head), 1),
      ("broken HPACK", Frames.frame(1, flags: 5, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), 9),
      ("CONTINUATION alone", Frames.frame(9, flags: 4, stream: 1, Frames.head), 1),
      ("padding beyond the frame", Frames.frame(0, flags: 8, stream: 1, [9]), 1),
    ] as [(String, [UInt8], UInt8)])
  func violations(name: String, frame: [UInt8], code: UInt8) async throws {
    try await withServer { server in
      let received = try await end(of: Frames.preface + Frames.settings() + frame, server.port)
      #expect(goAway(in: received) == code, "\(name)")
      try await serves(server)
    }
  }

  @Test(
    "ends a connection that does not speak HTTP/2",
    arguments: ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}"])
  func otherProtocol(text: String) async throws {
    try await withServer { server in
      let bytes = Array(text.utf8) + [UInt8](repeating: 0, count: 24)
      let received = try await end(of: bytes, server.port)
      #expect(goAway(in: received) == 1)
      try await serves(server)
    }
  }

  @Test("survives random bytes and cut frames", arguments: 0..<8)
  func random(seed: UInt64) async throws {
    var generator = SeededGenerator(seed)
    var inputs: [[UInt8]] = []
    for _ in 0..<60 {
      var bytes = Frames.preface + Frames.settings()
      for _ in 0..<Int.random(in: 1...20, using: &generator) {
        let payload = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
          UInt8.random(in: 0...255, using: &generator)
        }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes += Frames.get(UInt32.random(in: 0...9, using: &generator))
        case 1:
          bytes += Frames.frame(
            .random(in: 0...10, using: &generator), flags: .random(in: 0...255, using: &generator),
            stream: .random(in: 0...5, using: &generator), payload)
        default: bytes += payload
        }
      }
      inputs.append(bytes)
    }
    let all = inputs
    try await withServer { server in
      let port = server.port
      try await onThread {
        for bytes in all {
          let client = try RawClient(port: port)
          try? client.send(bytes)
          client.close()
        }
      }
      try await serves(server)
    }
  }

  @Test("ends a connection that opens and resets streams all the time (CVE-2023-44487)")
  func rapidReset() async throws {
    let handled = Counter()
    let handler = TestHandler { request in
      handled.add(1)
      return Response(status: 200)
    }
    try await withServer(handler) { server in
      let port = server.port
      let received = try await onThread {
        let client = try RawClient(port: port)
        try client.send(Frames.preface + Frames.settings())
        for index in 0..<UInt32(5000) {
          let stream = 2 * index + 1
          guard (try? client.send(Frames.get(stream) + Frames.frame(3, stream: stream, Frames.number(8)))) != nil else {
            break
          }
        }
        return (try? client.receiveAll()) ?? []
      }
      // The connection may be reset before the GOAWAY is read.
      if let code = goAway(in: received) { #expect(code != 0) }
      try await serves(server)
    }
    #expect(handled.value < 2000)
  }

  @Test("runs at most twice as many handlers as there may be streams, whatever is reset")
  func handlersOfResetStreams() async throws {
    let started = (0..<10).map { _ in Event() }
    let mayEnd = Event()
    let handler = TestHandler { request in
      started[Int(request.target.dropFirst()) ?? 0].happen()
      // A handler that does not notice its cancellation.
      await Task { try? await mayEnd.wait() }.value
      return Response(status: 200)
    }
    try await withServer(handler, HTTP2Limits(maximumStreams: 5)) { server in
      let client = try TestClient(port: server.port)
      for number in 0..<10 {
        let stream = try await onThread {
          let stream = client.request("GET", "/\(number)")
          try client.synchronize()
          return stream
        }
        try await started[number].wait()
        client.reset(stream)
      }
      let refused = try await onThread { try client.answer(client.request("GET", "/0")).reset }
      mayEnd.happen()
      #expect(refused == NGHTTP2_REFUSED_STREAM.rawValue)
    }
  }

  @Test("ends a connection that floods it with CONTINUATION frames (CVE-2024-28182)")
  func continuations() async throws {
    try await withServer { server in
      let field: [UInt8] = [0x00, 0x01, UInt8(ascii: "x"), 0x01, UInt8(ascii: "y")]
      var bytes = Frames.preface + Frames.settings() + Frames.frame(1, flags: 1, stream: 1, Frames.head)
      for _ in 0..<1000 { bytes += Frames.frame(9, stream: 1, field) }
      _ = try await end(of: bytes, server.port)
      try await serves(server)
    }
  }

  @Test("ends a connection that floods it with frames to acknowledge and does not read", arguments: [4, 6] as [UInt8])
  func acknowledgements(type: UInt8) async throws {
    try await withServer(EchoHandler(), HTTP2Limits(headSeconds: 1), sendBuffer: 4096) { server in
      let port = server.port
      try await onThread {
        let client = try RawClient(port: port, receiveBuffer: 4096)
        let frame = Frames.frame(type, type == 6 ? [UInt8](repeating: 0, count: 8) : [])
        let many = Array(repeatElement(frame, count: 1000).joined())
        try client.send(Frames.preface + Frames.settings())
        // Fails once the server has closed the connection.
        #expect(throws: RawClient.Failure.self) { while true { try client.send(many) } }
      }
      try await serves(server)
    }
  }

  @Test("ends a connection whose head does not arrive in time, or that asks nothing", arguments: [true, false])
  func slowHead(hasBegun: Bool) async throws {
    try await withServer(EchoHandler(), HTTP2Limits(headSeconds: 1)) { server in
      let port = server.port
      let code = try await onThread {
        let client = try RawClient(port: port)
        try client.send(Frames.preface + Frames.settings())
        if hasBegun { try client.send(Frames.get(1) + Frames.frame(1, stream: 3, Frames.head)) }
        return try client.receiveAll()
      }
      #expect(goAway(in: code) == (hasBegun ? 11 : 0))
    }
  }
}
