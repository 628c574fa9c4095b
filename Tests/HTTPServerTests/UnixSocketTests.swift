import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Unix sockets", .timeLimit(.minutes(5)))
struct UnixSocketTests {
  private let ok = TestHandler.responding(Response(status: 200))

  @Test("serve successive requests and report the client process")
  func peer() async throws {
    let handler = TestHandler(slow: { request in
      let text = request.peer.map { "\($0.uid) \($0.pid)" } ?? "nobody"
      return Response(status: 200, body: .bytes(Array(text.utf8)))
    })
    let texts = try await withUnixServer(.init(), handler) { path in
      try await onThread {
        let client = try RawClient(path: path)
        return try [client.exchange(.get("/")).text, client.exchange(.get("/")).text]
      }
    }
    #expect(texts == Array(repeating: "\(getuid()) \(getpid())", count: 2))
    let overTCP = try await withServer(.init(), handler) { try await ask($0, .get("/")).text }
    #expect(overTCP == "nobody")
  }

  @Test("carry large bodies in both directions")
  func bodies() async throws {
    let text = try await withUnixServer(.init(), TestHandler.mirror) { path in
      try await onThread {
        let client = try RawClient(path: path)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n")
        try client.send([UInt8](repeating: 65, count: 3_000_000))
        return try client.receiveAnswer().text
      }
    }
    #expect(text.hasSuffix(String(repeating: "A", count: 3_000_000)))
  }

  @Test("cancel a handler whose client has disconnected")
  func departure() async throws {
    let started = Event()
    let cancelled = Event()
    let handler = TestHandler(slow: { _ in
      started.happen()
      defer { cancelled.happen() }
      try await waitForCancellation()
      return Response(status: 200)
    })
    try await withUnixServer(.init(), handler) { path in
      let client = try RawClient(path: path)
      try client.send(.get("/"))
      try await started.wait()
      client.close()
      try await cancelled.wait()
    }
  }

  @Test("make clients wait above the connection limit")
  func connectionLimit() async throws {
    try await withUnixServer(.init(maximumConnections: 1), ok) { path in
      let statuses = try await onThread {
        let first = try RawClient(path: path)
        let before = try first.exchange(.get("/")).status
        let second = try RawClient(path: path)
        try second.send(.get("/"))
        first.close()
        return try [before, second.receiveAnswer().status]
      }
      #expect(statuses == [200, 200])
    }
  }

  @Test("close connections whose first or later head arrives too slowly", arguments: [false, true])
  func slowHead(isLater: Bool) async throws {
    try await withUnixServer(.init(idleSeconds: 30, headSeconds: 1), ok) { path in
      let sent = try await onThread {
        let client = try RawClient(path: path)
        if isLater { _ = try client.exchange(.get("/")) }
        for (index, byte) in "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 300))".utf8.enumerated() {
          guard client.sendSome([byte]) == 1 else { return index }
          // Paces the sender and waits for the server to close.
          var waiting = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
          if poll(&waiting, 1, 50) > 0 { return index }
        }
        return 300
      }
      #expect(sent < 200)
    }
  }

  @Test("apply only the idle timeout after a response")
  func keepAlive() async throws {
    try await withUnixServer(.init(idleSeconds: 30, headSeconds: 1), ok) { path in
      let statuses = try await onThread {
        let client = try RawClient(path: path)
        // The second response comes after the server has checked the silence following the first.
        let first = try client.exchange(.get("/")).status
        var waiting = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 1200) == 0 else { return [first] }
        let second = try client.exchange(.get("/")).status
        guard poll(&waiting, 1, 2500) == 0 else { return [first, second] }
        return try [first, second, client.exchange(.get("/")).status]
      }
      #expect(statuses == [200, 200, 200])
    }
  }

  @Test("close idle connections when the server stops, and let a running request finish")
  func stopping() async throws {
    let folder = try SocketFolder()
    let started = Event()
    let release = Event()
    let handler = TestHandler(slow: { request in
      guard request.target == "/slow" else { return Response(status: 200) }
      started.happen()
      try await release.wait()
      return Response(status: 200)
    })
    let server = try HTTPServer()
    try server.listen(onUnixSocket: folder.socket, handler: handler)
    let (idle, running) = try await onThread {
      let idle = try RawClient(path: folder.socket)
      _ = try idle.exchange(.get("/"))
      let running = try RawClient(path: folder.socket)
      try running.send(.get("/slow"))
      return (idle, running)
    }
    try await started.wait()
    async let stopped: Void = server.stop(grace: .seconds(3_600))
    #expect(try await onThread { try idle.receiveAll() }.isEmpty)
    release.happen()
    #expect(try await onThread { try running.receiveAnswer().status } == 200)
    await stopped
    #expect(folder.mode == nil)
  }
}
