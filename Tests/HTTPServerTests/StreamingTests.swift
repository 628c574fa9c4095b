import Basics
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Streaming", .timeLimit(.minutes(5)))
struct StreamingTests {
  private static let size = 200 << 20
  private static let block = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

  /// What has arrived of the block, again and again. A checksum byte by byte takes minutes under a sanitizer.
  private struct Arrived {
    var count = 0
    var isSame = true
    var isWhole: Bool { isSame && count == size }

    mutating func add(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { bytes in
        block.withUnsafeBytes { block in
          var index = 0
          while index < bytes.count, let arrived = bytes.baseAddress, let sent = block.baseAddress {
            let offset = count % block.count
            let length = min(bytes.count - index, block.count - offset)
            if memcmp(arrived + index, sent + offset, length) != 0 { isSame = false }
            index += length
            count += length
          }
        }
      }
    }
  }

  @Test("sends 200 MB, of known length and chunked", arguments: [true, false])
  func download(isKnown: Bool) async throws {
    let handler = TestHandler(slow: { _ in
      let pipe = BytePipe()
      Task {
        for _ in 0..<(Self.size / Self.block.count) { try await pipe.write(Self.block) }
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: isKnown ? Self.size : nil))
    })
    try await withServer(.init(), handler) { port in
      let arrived = try await onThread {
        let client = try RawClient(port: port)
        try client.send("GET / HTTP/1.\(isKnown ? 1 : 0)\r\nHost: a\r\n\r\n")
        _ = try client.receiveHead()
        var arrived = Arrived()
        while arrived.count < Self.size {
          let bytes = try client.receive()
          if bytes.isEmpty { break }
          arrived.add(bytes)
        }
        return arrived
      }
      #expect(arrived.isWhole)
    }
  }

  @Test("receives 200 MB, of known length and chunked", arguments: [true, false])
  func upload(isKnown: Bool) async throws {
    let handler = TestHandler(slow: { request in
      guard case .stream(let pipe, _) = request.body else { return Response(status: 500) }
      var arrived = Arrived()
      while let bytes = try await pipe.read() { arrived.add(bytes) }
      return Response(status: arrived.isWhole ? 200 : 500)
    })
    try await withServer(.init(), handler) { port in
      let status = try await onThread {
        let client = try RawClient(port: port)
        let framing = isKnown ? "Content-Length: \(Self.size)" : "Transfer-Encoding: chunked"
        try client.send("POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
        for _ in 0..<(Self.size / Self.block.count) {
          if !isKnown { try client.send("10000\r\n") }
          try client.send(Self.block)
          if !isKnown { try client.send("\r\n") }
        }
        if !isKnown { try client.send("0\r\n\r\n") }
        return try client.receiveAnswer().status
      }
      #expect(status == 200)
    }
  }

  @Test("blocks the writer while the client does not read")
  func slowReader() async throws {
    let written = Guarded(0)
    let stalled = Event()
    let handler = TestHandler(slow: { _ in
      let pipe = BytePipe()
      Task {
        while true {
          // The writer stalls if this write does not return; the timeout detects that.
          let isThrough = await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await pipe.write(Self.block)) != nil }
            group.addTask {
              try? await Task.sleep(for: .seconds(1))
              return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
          }
          guard isThrough else { break }
          written.withLock { $0 += Self.block.count }
        }
        stalled.happen()
      }
      return Response(status: 200, body: .stream(pipe, length: Self.size))
    })
    try await withServer(.init(), handler) { port in
      let client = try await onThread {
        let client = try RawClient(port: port, receiveBuffer: 65_536)
        try client.send(.get("/"))
        return client
      }
      try await stalled.wait()
      // Besides the pipe, the system's buffers hold some.
      #expect(written.withLock { $0 } < 16 << 20)
      client.close()
    }
  }

  @Test("blocks the client while the handler does not read")
  func slowHandler() async throws {
    let release = Event()
    let handler = TestHandler(slow: { request in
      try await release.wait()
      let body = try await request.body.collect(upTo: 1 << 28)
      return Response(status: 200, body: .bytes(Array("\(body.count)".utf8)))
    })
    try await withServer(.init(), handler) { port in
      let client = try await onThread {
        let client = try RawClient(port: port)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(64 << 20)\r\n\r\n")
        return client
      }
      let sent = try await onThread {
        var sent = 0
        var stalls = 0
        while sent < 64 << 20, stalls < 50 {
          let count = client.sendSome(Array(Self.block.prefix((64 << 20) - sent)))
          sent += count
          guard count == 0 else { stalls = 0; continue }
          stalls += 1
          var waiting = pollfd(fd: client.descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&waiting, 1, 20)
        }
        return sent
      }
      #expect(sent < 16 << 20)
      release.happen()
      let answer = try await onThread {
        var left = (64 << 20) - sent
        while left > 0 {
          try client.send(Array(Self.block.prefix(left)))
          left -= min(left, Self.block.count)
        }
        return try client.receiveAnswer()
      }
      #expect(answer.text == "\(64 << 20)")
    }
  }

  @Test("cuts the connection when the stream fails, with either framing", arguments: [nil, 100_000])
  func failingStream(length: Int?) async throws {
    struct UpstreamDied: Error {}
    let handler = TestHandler(slow: { _ in
      let pipe = BytePipe()
      Task {
        try await pipe.write(Array("half".utf8))
        pipe.fail(UpstreamDied())
      }
      return Response(status: 200, body: .stream(pipe, length: length))
    })
    try await withServer(.init(), handler) { port in
      let bytes = try await onThread {
        let client = try RawClient(port: port)
        try client.send(.get("/"))
        return (try client.receiveHead(), try client.receiveAll())
      }
      #expect(bytes.0.status == 200)
      let text = String(decoding: bytes.1, as: UTF8.self)
      #expect(text == (length == nil ? "4\r\nhalf\r\n" : "half"))
    }
  }

  // Waiting for the grace period would exceed the time limit.
  @Test(
    "cleans up at once after cutting a connection or ending it for HTTP/1.0", .timeLimit(.minutes(5)),
    arguments: [true, false])
  func nothingLeftOfCut(isFailing: Bool) async throws {
    struct UpstreamDied: Error {}
    let pipe = BytePipe()
    let server = try HTTPServer()
    let listener = try server.listen(
      handler: TestHandler.responding(Response(status: 200, body: .stream(pipe, length: nil))))
    let client = try RawClient(port: listener.port)
    _ = try await onThread {
      try client.send("GET / HTTP/1.0\r\n\r\n")
      return try client.receiveHead()
    }
    if isFailing { pipe.fail(UpstreamDied()) } else { pipe.finish() }
    // Closing the connection would mean the end of the response, so a failure resets it.
    let end = await Result { try await onThread { try client.receiveAll() } }
    switch (isFailing, end) {
    case (true, .failure), (false, .success([])): break
    default: Issue.record("\(end)")
    }
    // The client stays connected; only the server ends the connection.
    await server.stop(grace: .seconds(3_600))
    withExtendedLifetime(client) {}
  }

  @Test("cuts the connection when a stream is shorter than declared")
  func shortStream() async throws {
    let handler = TestHandler(slow: { _ in
      let pipe = BytePipe()
      _ = Array("half".utf8).withUnsafeBytes(pipe.offer)
      pipe.finish()
      return Response(status: 200, body: .stream(pipe, length: 8))
    })
    try await withServer(.init(), handler) { port in
      let bytes = try await onThread {
        let client = try RawClient(port: port)
        try client.send(.get("/"))
        return (try client.receiveHead(), try client.receiveAll())
      }
      #expect(bytes.0.headers["Content-Length"] == "8" && bytes.1 == Array("half".utf8))
    }
  }

  @Test("sends no byte beyond the declared length, and keeps the next response intact")
  func longStream() async throws {
    let abandoned = Event()
    let handler = TestHandler(slow: { request in
      guard request.target == "/long" else { return Response(status: 200) }
      let pipe = BytePipe()
      pipe.onAbandoned { abandoned.happen() }
      _ = Array("half and more".utf8).withUnsafeBytes(pipe.offer)
      return Response(status: 200, body: .stream(pipe, length: 4))
    })
    try await withServer(.init(), handler) { port in
      let answers = try await onThread {
        let client = try RawClient(port: port)
        return [try client.exchange(.get("/long")), try client.exchange(.get("/"))]
      }
      #expect(answers[0].text == "half" && answers[1].status == 200)
      try await abandoned.wait()
    }
  }

  @Test("does not abandon a writer that has written everything but not ended the stream")
  func lateEnd() async throws {
    let pipe = BytePipe()
    let handler = TestHandler(slow: { request in
      guard request.target == "/stream" else { return Response(status: 200) }
      _ = Array("all".utf8).withUnsafeBytes(pipe.offer)
      return Response(status: 200, body: .stream(pipe, length: 3))
    })
    try await withServer(.init(), handler) { port in
      let texts = try await onThread {
        let client = try RawClient(port: port)
        return [try client.exchange(.get("/stream")).text, try client.exchange(.get("/")).text]
      }
      #expect(texts == ["all", ""])
      #expect(!pipe.isAbandoned)
      pipe.finish()
      #expect(!pipe.isAbandoned)
    }
  }

  @Test("sends the head and the first bytes of a stream before the rest is available")
  func earlyBytes() async throws {
    let pipe = BytePipe()
    let handler = TestHandler.responding(Response(status: 200, body: .stream(pipe, length: nil)))
    try await withServer(.init(), handler) { port in
      let client = try RawClient(port: port)
      _ = try await onThread {
        try client.send(.get("/")); return try client.receiveHead()
      }
      try await pipe.write([65])
      let first = try await onThread { try client.receive() }
      #expect(first == Array("1\r\nA\r\n".utf8))
      try await pipe.write([66])
      pipe.finish()
      let rest = try await onThread {
        var rest: [UInt8] = []
        while rest.count < 11 { rest += try client.receive() }
        return rest
      }
      #expect(rest == Array("1\r\nB\r\n0\r\n\r\n".utf8))
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
