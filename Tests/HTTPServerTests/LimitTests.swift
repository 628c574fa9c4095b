import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Limits", .timeLimit(.minutes(5)))
struct LimitTests {
  private let ok = TestHandler.responding(Response(status: 200))

  @Test("sends a 431 for a head above the limit, and accepts one just below", arguments: [4096, 32_768])
  func headLimit(limit: Int) async throws {
    try await withServer(.init(headerLimit: limit), ok) { port in
      func status(_ size: Int) async throws -> Int {
        let start = "GET / HTTP/1.1\r\nHost: a\r\nX-Filler: "
        let filler = String(repeating: "x", count: size - start.utf8.count - 4)
        return try await ask(port, start + filler + "\r\n\r\n").status
      }
      for (size, expected) in [(limit, 200), (limit + 1, 431), (2 * limit, 431), (limit / 2, 200)] {
        let found = try await status(size)
        #expect(found == expected, "a head of \(size) bytes")
      }
    }
  }

  @Test("sends a 431 for too many fields")
  func manyFields() async throws {
    try await withServer(.init(headerLimit: 8192), ok) { port in
      for count in stride(from: 20, through: 400, by: 20) {
        let fields = (0..<count).map { "a\($0): b\r\n" }.joined()
        let answer = try await ask(port, "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        #expect([200, 431].contains(answer.status), "\(count) fields")
      }
    }
  }

  @Test("sends a 431 for large cookies")
  func cookies() async throws {
    try await withServer(.init(headerLimit: 8192), ok) { port in
      for count in stride(from: 100, through: 1600, by: 100) {
        let cookies = (0..<count).map { "\($0)=b" }.joined(separator: ";")
        let answer = try await ask(port, "GET / HTTP/1.1\r\nHost: a\r\nCookie: \(cookies)\r\n\r\n")
        #expect([200, 431].contains(answer.status), "\(count) cookies")
      }
    }
  }

  @Test("sends a 414 for a target above the limit")
  func targetLimit() async throws {
    try await withServer(.init(headerLimit: 4096), ok) { port in
      for size in [4100, 5000, 20_000] {
        let answer = try await ask(port, .get("/" + String(repeating: "a", count: size)))
        #expect(answer.status == 414, "a target of \(size) bytes")
      }
      let below = try await ask(port, .get("/?" + String(repeating: "a=1&", count: 900)))
      #expect(below.status == 200)
    }
  }

  @Test("sends a 413 for a body above the limit, of known length or chunked")
  func bodyLimit() async throws {
    let handler = TestHandler(slow: { request in
      _ = try await request.body.collect(upTo: 1 << 30)
      return Response(status: 200)
    })
    try await withServer(.init(bodyLimit: 100_000), handler) { port in
      let body = [UInt8](repeating: 65, count: 100_001)
      let known = try await onThread {
        let client = try RawClient(port: port)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
        try client.send(body)
        return (try client.receiveAnswer(), try client.receiveAll())
      }
      #expect(known.0.status == 413 && known.0.headers["Connection"] == "close" && known.1.isEmpty)
      let chunked = try await onThread {
        let client = try RawClient(port: port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<40 { try client.send("1000\r\n" + String(repeating: "A", count: 4096) + "\r\n") }
        try client.send("0\r\n\r\n")
        return try client.receiveAnswer()
      }
      #expect(chunked.status == 413)
      let exact = try await onThread {
        let client = try RawClient(port: port)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        try client.send(Array(body.dropLast()))
        return try client.receiveAnswer()
      }
      #expect(exact.status == 200)
    }
  }

  @Test("sends a 413 at once to a client that expects a 100")
  func bodyLimitBeforeContinue() async throws {
    try await withServer(.init(bodyLimit: 10), ok) { port in
      let answer = try await ask(
        port, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
      #expect(answer.status == 413)
    }
  }

  @Test(
    "rejects unparseable requests",
    arguments: [
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
      ("GET / HTTP/1.1\r\nno colon here\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ])
  func malformed(request: String, status: Int) async throws {
    try await withServer(.init(), TestHandler.mirror) { port in
      let answer = try await ask(port, request)
      let next = try await ask(port, .get("/"))
      #expect(answer.status == status && next.status == 200)
    }
  }

  @Test("makes clients wait above the connection limit, and serves them when a connection ends")
  func connectionLimit() async throws {
    try await withServer(.init(maximumConnections: 3), ok) { port in
      let statuses = try await onThread {
        let clients = try (0..<3).map { _ in try RawClient(port: port) }
        let first = try clients.map { try $0.exchange(.get("/")).status }
        let fourth = try RawClient(port: port)
        try fourth.send(.get("/"))
        // The server does not read its request before this.
        clients[0].close()
        return try first + [fourth.receiveAnswer().status]
      }
      #expect(statuses == [200, 200, 200, 200])
    }
  }

  @Test("closes idle connections to make room for a new client")
  func idleConnections() async throws {
    try await withServer(.init(maximumConnections: 2, idleSeconds: 1000), ok) { port in
      let statuses = try await onThread {
        let idle = try (0..<2).map { _ in try RawClient(port: port) }
        let first = try idle.map { try $0.exchange(.get("/")).status }
        defer { withExtendedLifetime(idle) {} }
        return try first + [RawClient(port: port).exchange(.get("/")).status]
      }
      #expect(statuses == [200, 200, 200])
    }
  }

  @Test("serves all clients even if descriptors run out")
  func descriptors() async {
    // In a separate process, since the limit applies to the process.
    await #expect(processExitsWith: .success) {
      let ok = TestHandler.responding(Response(status: 200))
      try await withServer(.init(threads: 1), ok) { port in
        let statuses = try await onThread {
          // Enough for the clients, but not for as many server connections.
          let next = dup(0)
          close(next)
          var limit = rlimit(rlim_cur: rlim_t(next + 200), rlim_max: rlim_t(next + 200))
          setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
          let clients = try (0..<100).map { _ in try RawClient(port: port) }
          for client in clients { try client.send(.get("/")) }
          return try clients.map { try $0.receiveAnswer().status }
        }
        exit(statuses == Array(repeating: 200, count: 100) ? 0 : 1)
      }
    }
  }

  @Test("closes connections whose first or later request head arrives too slowly")
  func slowHead() async throws {
    try await withServer(.init(idleSeconds: 30, headSeconds: 1), ok) { port in
      for isLater in [false, true] {
        let (sent, bytes) = try await onThread {
          let client = try RawClient(port: port)
          if isLater { _ = try client.exchange(.get("/")) }
          var sent = 0
          for byte in "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 3000))".utf8 {
            // Paces the sender and waits for the server to close; no bytes are received before that.
            var waiting = timeval(tv_sec: 0, tv_usec: 50_000)
            setsockopt(client.descriptor, SOL_SOCKET, SO_RCVTIMEO, &waiting, socklen_t(MemoryLayout<timeval>.size))
            guard client.sendSome([byte]) == 1 else { break }
            sent += 1
            if let bytes = try? client.receive() { return (sent, bytes) }
          }
          return (sent, [1])
        }
        #expect(bytes.isEmpty && sent < 200, "later: \(isLater)")
      }
    }
  }

  @Test("closes a connection on which the client sends nothing")
  func silentClient() async throws {
    try await withServer(.init(headSeconds: 1), ok) { port in
      let bytes = try await onThread { try RawClient(port: port).receiveAll() }
      #expect(bytes.isEmpty)
    }
  }

  @Test("closes idle connections, but not those waiting for their handler")
  func idle() async throws {
    let handler = TestHandler(slow: { request in
      if request.target == "/slow" { try await Task.sleep(for: .seconds(2.5)) }
      return Response(status: 200)
    })
    try await withServer(.init(idleSeconds: 1, headSeconds: 20), handler) { port in
      let (status, rest) = try await onThread {
        let client = try RawClient(port: port)
        let status = try client.exchange(.get("/slow")).status
        return (status, try client.receiveAll())
      }
      #expect(status == 200 && rest.isEmpty)
    }
  }

  @Test("applies only the idle timeout after a response")
  func keepAliveOutlivesHeadTime() async throws {
    try await withServer(.init(idleSeconds: 30, headSeconds: 1), ok) { port in
      let statuses = try await onThread {
        let client = try RawClient(port: port)
        let first = try client.exchange(.get("/")).status
        var waiting = timeval(tv_sec: 2, tv_usec: 500_000)
        setsockopt(client.descriptor, SOL_SOCKET, SO_RCVTIMEO, &waiting, socklen_t(MemoryLayout<timeval>.size))
        guard (try? client.receive()) == nil else { return [first] }
        return [first, try client.exchange(.get("/")).status]
      }
      #expect(statuses == [200, 200])
    }
  }
}
