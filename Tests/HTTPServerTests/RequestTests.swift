import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Requests received by handlers", .timeLimit(.minutes(5)))
struct RequestTests {
  @Test(
    "keeps every byte of the target",
    arguments: [
      "/", "/a%7Eb/%2F//c/../d;x=1", "/?a&b=&a=%20+1&&", "/a?b?c", "/?", "*", "//host/path",
      "http://api.example.com:8080/x%20y?z", "/[]{}|\\^`\"<>", "/ä",
    ])
  func targets(target: String) async throws {
    try await withServer(.init(), TestHandler.mirror) { port in
      let answer = try await ask(port, .get(target, target == "*" ? "OPTIONS" : "GET"))
      #expect(answer.text.split(separator: "\n").first?.split(separator: " ", maxSplits: 1).last == target[...])
    }
  }

  @Test("keeps every byte of the target on the fast path too")
  func fastTarget() async throws {
    let target = "/a%7Eb?x=1&y&&z=%2F"
    let handler = TestHandler(fast: { request in
      guard request.target.elementsEqual(target.utf8), request.method.elementsEqual("PURGE".utf8),
        request.header("x-lower")?.elementsEqual("Value".utf8) == true, request.header("X-None") == nil
      else { return nil }
      return try? PreparedResponse(status: 200, headers: [:], body: Array("fast".utf8))
    })
    try await withServer(.init(), handler) { port in
      let answer = try await ask(port, "PURGE \(target) HTTP/1.1\r\nHost: a\r\nX-Lower: Value\r\n\r\n")
      #expect(answer.text == "fast")
    }
  }

  @Test("passes CONNECT to the handler like any other method")
  func connectMethod() async throws {
    try await withServer(.init(), TestHandler(slow: { Response(status: 501, body: .bytes(Array($0.target.utf8))) })) {
      port in
      let answer = try await ask(port, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
      #expect(answer.status == 501 && answer.text == "example.com:443")
    }
  }

  @Test("sends no body after a successful response to CONNECT")
  func connectAnswer() async throws {
    try await withServer(.init(), TestHandler.responding(Response(status: 200, body: .bytes([1, 2])))) { port in
      let heads = try await onThread {
        let client = try RawClient(port: port)
        try client.send(.get("a:1", "CONNECT") + .get("a:1", "CONNECT"))
        return [try client.receiveHead().lines, try client.receiveHead().lines]
      }
      #expect(heads == [["HTTP/1.1 200 OK"], ["HTTP/1.1 200 OK"]])
    }
  }

  @Test("keeps order, case and repetition of header fields, and trims values")
  func headers() async throws {
    try await withServer(.init(), TestHandler.mirror) { port in
      let answer = try await ask(
        port, "GET / HTTP/1.1\r\nhOST: a\r\nX-B:  1 \t \r\nx-b: 2\r\nX-Empty:\r\nCookie: a=1; b=\"2\"\r\nX-B: 1\r\n\r\n"
      )
      #expect(
        answer.text == "GET /\nhOST: a\nX-B: 1\nx-b: 2\nX-Empty: \nCookie: a=1; b=\"2\"\nX-B: 1\n")
    }
  }

  @Test(
    "collects bodies of known length up to 64 KiB and streams others", arguments: [0, 1, 65_536, 65_537, 300_000])
  func bodies(size: Int) async throws {
    let handler = TestHandler(slow: { request in
      let kind =
        switch request.body {
        case .bytes: "bytes"
        case .file: "a file"
        case .stream(_, let length): "stream of \(length.map(String.init) ?? "unknown")"
        }
      let body = try await request.body.collect(upTo: 1 << 24)
      let isIntact = body == (0..<body.count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      return Response(status: 200, body: .bytes(Array("\(kind) \(body.count) \(isIntact)".utf8)))
    })
    let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try await withServer(.init(), handler) { port in
      let answers = try await onThread {
        let client = try RawClient(port: port)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
        try client.send(body)
        let known = try client.receiveAnswer().text
        try client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        var rest = body[...]
        while !rest.isEmpty {
          let chunk = rest.prefix(1 + rest.count / 3)
          try client.send(String(chunk.count, radix: 16) + ";extension=1\r\n")
          try client.send(chunk + [13, 10])
          rest = rest.dropFirst(chunk.count)
        }
        try client.send("0\r\nX-Trailer: 1\r\n\r\n")
        return [known, try client.receiveAnswer().text]
      }
      #expect(answers[0] == (size <= 65_536 ? "bytes \(size) true" : "stream of \(size) \(size) true"))
      #expect(answers[1] == (size == 0 ? "bytes 0 true" : "stream of unknown \(size) true"))
    }
  }

  @Test("passes the whole body to the fast path")
  func fastBody() async throws {
    let handler = TestHandler(fast: { request in
      try? PreparedResponse(status: 200, headers: [:], body: Array(request.body.reversed()))
    })
    try await withServer(.init(), handler) { port in
      let answers = try await onThread {
        let client = try RawClient(port: port)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        try client.send("def")
        let first = try client.receiveAnswer().text
        return [first, try client.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy").text]
      }
      #expect(answers == ["fedcba", "yx"])
    }
  }

  @Test("sends a 100 to a client that expects it, and drops an unread body")
  func expectContinue() async throws {
    let handler = TestHandler(slow: { _ in Response(status: 403) })
    try await withServer(.init(), handler) { port in
      let statuses = try await onThread {
        let client = try RawClient(port: port)
        let size = 500_000
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(size)\r\n\r\n")
        let first = try client.receiveAnswer().status
        try client.send([UInt8](repeating: 1, count: size))
        return [first, try client.receiveAnswer().status, try client.exchange(.get("/")).status]
      }
      #expect(statuses == [100, 403, 403])
    }
  }

  @Test("responds to pipelined requests in order, on slow and fast paths")
  func pipelining() async throws {
    let handler = TestHandler(
      fast: { request in
        guard request.target.first != nil, request.target.last == UInt8(ascii: "f") else { return nil }
        return try? PreparedResponse(status: 200, headers: [:], body: Array(request.target))
      },
      slow: { request in
        await Task.yield()
        return Response(status: 200, body: .bytes(Array(request.target.utf8)))
      })
    try await withServer(.init(), handler) { port in
      let targets = (0..<60).map { "/\($0)\($0 % 3 == 0 ? "f" : "s")" }
      let answers = try await onThread {
        let client = try RawClient(port: port)
        try client.send(targets.map { .get($0) }.joined())
        return try targets.map { _ in try client.receiveAnswer().text }
      }
      #expect(answers == targets)
    }
  }

  @Test("keeps connections open as HTTP/1.0 and HTTP/1.1 clients request")
  func persistence() async throws {
    try await withServer(.init(), TestHandler.responding(Response(status: 200, body: .bytes([65])))) { port in
      let cases: [(String, String?, Bool)] = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", nil, true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close", false),
        ("GET / HTTP/1.0\r\n\r\n", "close", false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "Keep-Alive", true),
      ]
      for (request, header, isKept) in cases {
        let (first, second) = try await onThread {
          let client = try RawClient(port: port)
          let first = try client.exchange(request)
          try? client.send(request)
          return (first, try? client.receiveAnswer())
        }
        #expect(first.headers["Connection"] == header)
        #expect((second != nil) == isKept)
      }
    }
  }
}
