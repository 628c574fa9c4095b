import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Request methods, targets and framing", .timeLimit(.minutes(5)))
struct MethodTests {
  /// The head and body as the upstream reads them.
  private func sent(_ request: Request) async throws -> (lines: [String], body: String) {
    let messages = Signal<(String, String)>()
    return try await withUpstream { connection in
      guard let head = try connection.readHead() else { return }
      messages.send((head, try connection.readBody(of: head)))
      try connection.write(head.hasPrefix("HEAD ") ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" : ok("hello"))
    } _: { client, upstream in
      _ = try await client.send(request, to: upstream.origin)
      let (head, body) = try await messages.next()
      return (head.split(separator: "\r\n").map(String.init).filter { !$0.hasPrefix("Host:") }, body)
    }
  }

  @Test(
    "sends no length without a body, except for methods that define one",
    arguments: [
      ("GET", false), ("HEAD", false), ("DELETE", false), ("OPTIONS", false), ("PROPFIND", false), ("TRACE", false),
      ("get", false), ("M-SEARCH", false), ("POST", true), ("PUT", true), ("PATCH", true),
    ])
  func withoutBody(method: String, hasLength: Bool) async throws {
    let (lines, _) = try await sent(Request(method: method, target: "/x"))
    #expect(lines == ["\(method) /x HTTP/1.1"] + (hasLength ? ["Content-Length: 0"] : []))
  }

  @Test("sends the length of a body of bytes", arguments: ["GET", "DELETE", "POST", "PUT", "PATCH", "REPORT"])
  func withBytes(method: String) async throws {
    let (lines, body) = try await sent(Request(method: method, target: "/x", body: .bytes([UInt8]("naïve".utf8))))
    #expect(lines == ["\(method) /x HTTP/1.1", "Content-Length: 6"])
    #expect(body == "naïve")
  }

  @Test("sends the length of a stream if known", arguments: ["GET", "POST", "PUT"])
  func withStream(method: String) async throws {
    let pipe = BytePipe()
    async let result = sent(Request(method: method, target: "/x", body: .stream(pipe, length: 6)))
    try await pipe.write([UInt8]("abc".utf8))
    try await pipe.write([UInt8]("def".utf8))
    pipe.finish()
    let (lines, body) = try await result
    #expect(lines == ["\(method) /x HTTP/1.1", "Content-Length: 6"])
    #expect(body == "abcdef")
  }

  @Test("sends a stream of unknown length chunked", arguments: ["DELETE", "POST", "PUT"])
  func chunked(method: String) async throws {
    let pipe = BytePipe()
    async let result = sent(Request(method: method, target: "/x", body: .stream(pipe, length: nil)))
    try await pipe.write([UInt8]("abc".utf8))
    try await pipe.write([UInt8]("def".utf8))
    pipe.finish()
    let (lines, body) = try await result
    #expect(lines == ["\(method) /x HTTP/1.1", "Transfer-Encoding: chunked"])
    #expect(body == "abcdef")
  }

  @Test("sends the framing of an empty stream")
  func emptyStreams() async throws {
    let known = BytePipe()
    known.finish()
    #expect(
      try await sent(Request(method: "POST", target: "/", body: .stream(known, length: 0))).lines.last
        == "Content-Length: 0")
    let unknown = BytePipe()
    unknown.finish()
    let (lines, body) = try await sent(Request(method: "POST", target: "/", body: .stream(unknown, length: nil)))
    #expect(lines.last == "Transfer-Encoding: chunked")
    #expect(body.isEmpty)
  }

  @Test("resets the handle for the next request")
  func oneAfterTheOther() async throws {
    let requests = Signal<String>()
    try await withUpstream { connection in
      while let head = try connection.readHead() {
        let body = try connection.readBody(of: head)
        requests.send(head.prefix { $0 != "\r\n" } + "|" + body)
        try connection.write(head.hasPrefix("HEAD ") ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : ok("hi"))
      }
    } _: { client, upstream in
      let stream = BytePipe()
      stream.offerAll("three")
      stream.finish()
      let bodies: [(String, Body)] = [
        ("POST", .bytes([UInt8]("one".utf8))), ("GET", .empty), ("HEAD", .empty), ("PUT", .bytes([UInt8]("two".utf8))),
        ("HEAD", .bytes([1])), ("PATCH", .stream(stream, length: nil)), ("GET", .empty), ("DELETE", .empty),
      ]
      var seen: [String] = []
      for (method, body) in bodies {
        let response = try await client.send(Request(method: method, target: "/", body: body), to: upstream.origin)
        #expect(try await response.body.collect(upTo: 9).count == (method == "HEAD" ? 0 : 2))
        seen.append(try await requests.next())
      }
      #expect(
        seen == [
          "POST / HTTP/1.1|one", "GET / HTTP/1.1|", "HEAD / HTTP/1.1|", "PUT / HTTP/1.1|two", "HEAD / HTTP/1.1|",
          "PATCH / HTTP/1.1|three", "GET / HTTP/1.1|", "DELETE / HTTP/1.1|",
        ])
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test(
    "sends the target verbatim",
    arguments: [
      "/a%7Eb//../c?x=1&x=2&y", "/", "//", "/?", "/a?", "/.", "/..", "/./a/../b", "/%2e%2E/%00", "/a+b",
      "/[x]{y}|\\^`\"<>", "/?a=b?c=/../d", "/grün", "/a#b", "/;p=1,2:3@4", "*",
    ])
  func target(target: String) async throws {
    #expect(try await sent(Request(method: "OPTIONS", target: target)).lines == ["OPTIONS \(target) HTTP/1.1"])
  }

  @Test(
    "rejects invalid targets", arguments: ["", "a", "http://a/b", "a:80", "/a b", "/a\r\nX: y", "/\0", "/\u{7F}"])
  func noTarget(target: String) async throws {
    await #expect(throws: UpstreamError.self) { try await sent(Request(method: "GET", target: target)) }
  }

  @Test("rejects methods that are not tokens", arguments: ["", "GE T", "GET\r\n", "G:T", "GÄT"])
  func noToken(method: String) async throws {
    await #expect(throws: UpstreamError.self) { try await sent(Request(method: method, target: "/")) }
  }
}

extension Connection {
  /// Reads a request's body by the framing in its head.
  func readBody(of head: String) throws -> String {
    var bytes: [UInt8] = []
    if head.contains("Transfer-Encoding: chunked") {
      try readChunked { bytes += $0 }
    } else if let length = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Content-Length: ") }) {
      bytes = try readExactly(Int(length.dropFirst(16)) ?? 0)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension BytePipe {
  /// Writes a short text without blocking.
  func offerAll(_ text: String) {
    [UInt8](text.utf8).withUnsafeBytes { _ = offer($0) }
  }
}
