import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Response framing", .timeLimit(.minutes(5)))
struct FramingTests {
  private func head(of response: Response, to request: String) async throws -> [String] {
    try await withServer(.init(), TestHandler.responding(response)) { port in
      try await ask(port, request).lines
    }
  }

  @Test("adds nothing but the framing fields")
  func exactHead() async throws {
    let lines = try await head(of: Response(status: 200, body: .bytes([1, 2, 3])), to: .get("/"))
    #expect(lines == ["HTTP/1.1 200 OK", "Content-Length: 3"])
  }

  @Test("keeps order, case and repetition of header fields")
  func headerOrder() async throws {
    let headers = Headers([
      .init("x-b", "1"), .init("Set-Cookie", "a=1; Path=/"), .init("X-A", "ä"), .init("set-cookie", "b=2"),
      .init("DATE", "Mon, 08 Oct 2018 09:00:00 GMT"), .init("Set-Cookie", "a=1; Path=/"), .init("X-Tab", "a\tb"),
    ])
    let lines = try await head(of: Response(status: 200, headers: headers), to: .get("/"))
    #expect(lines.dropFirst().dropLast() == headers.fields.map { "\($0.name): \($0.value)" }[...])
  }

  @Test("sends a field with an empty value")
  func emptyValue() async throws {
    let lines = try await head(of: Response(status: 200, headers: ["X-Empty": ""]), to: .get("/"))
    #expect(lines.contains { $0.hasPrefix("X-Empty:") && $0.dropFirst(8).allSatisfy { $0 == " " } })
  }

  @Test("writes connection and framing fields itself")
  func hopByHop() async throws {
    let headers: Headers = [
      "Connection": "close, X-Own", "X-Own": "1", "Keep-Alive": "timeout=1", "Transfer-Encoding": "chunked",
      "Content-Length": "99", "X-Kept": "1",
    ]
    let lines = try await head(of: Response(status: 201, headers: headers, body: .bytes([7])), to: .get("/"))
    #expect(lines == ["HTTP/1.1 201 Created", "X-Kept: 1", "Content-Length: 1"])
  }

  @Test("responds to HEAD with the given length, or the body's, and no body")
  func headLengths() async throws {
    var response = Response(status: 200, headers: ["Content-Length": "4711"])
    #expect(try await head(of: response, to: .get("/", "HEAD")).last == "Content-Length: 4711")
    response = Response(status: 200, body: .bytes([1, 2]))
    #expect(try await head(of: response, to: .get("/", "HEAD")).last == "Content-Length: 2")
    response = Response(status: 200, body: .stream(BytePipe(), length: 17))
    #expect(try await head(of: response, to: .get("/", "HEAD")).last == "Content-Length: 17")
  }

  @Test("closes the connection after a response to HEAD or a 304 without a length", arguments: [200, 304])
  func headWithoutLength(status: Int) async throws {
    let pipe = BytePipe()
    let response = Response(status: status, body: .stream(pipe, length: nil))
    let bytes = try await withServer(.init(), TestHandler.responding(response)) { port in
      try await onThread {
        let client = try RawClient(port: port)
        try client.send(.get("/", "HEAD"))
        return try client.receiveAll()
      }
    }
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(!text.contains("Content-Length") && !text.contains("Transfer-Encoding"))
    #expect(text.hasSuffix("Connection: close\r\n\r\n"))
    #expect(pipe.isAbandoned)
  }

  @Test("keeps the connection open and the given length in a 304")
  func notModified() async throws {
    let response = Response(status: 304, headers: ["Content-Length": "12", "ETag": "\"1\""], body: .bytes([1, 2]))
    try await withServer(.init(), TestHandler.responding(response)) { port in
      let heads = try await onThread {
        let client = try RawClient(port: port)
        return [try client.exchange(.get("/")).lines, try client.exchange(.get("/")).lines]
      }
      let expected = ["HTTP/1.1 304 Not Modified", "ETag: \"1\"", "Content-Length: 12"]
      #expect(heads == [expected, expected])
    }
  }

  @Test("sends a 204 without body and length, whatever the handler returned")
  func noContent() async throws {
    let response = Response(status: 204, headers: ["X-A": "1"], body: .bytes([1, 2]))
    try await withServer(.init(), TestHandler.responding(response)) { port in
      let heads = try await onThread {
        let client = try RawClient(port: port)
        return [try client.exchange(.get("/")).lines, try client.exchange(.get("/", "DELETE")).lines]
      }
      #expect(heads == Array(repeating: ["HTTP/1.1 204 No Content", "X-A: 1"], count: 2))
    }
  }

  @Test("sends a stream with its length if known, else chunked")
  func streams() async throws {
    let handler = TestHandler(slow: { request in
      let pipe = BytePipe()
      Task {
        for part in ["one ", "two ", "three"] { try await pipe.write(Array(part.utf8)) }
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: request.target == "/known" ? 13 : nil))
    })
    try await withServer(.init(), handler) { port in
      let known = try await ask(port, .get("/known"))
      #expect(known.headers["Content-Length"] == "13" && known.text == "one two three")
      let unknown = try await ask(port, .get("/unknown"))
      #expect(unknown.headers.fields == [.init("Transfer-Encoding", "chunked")] && unknown.text == "one two three")
      let old = try await ask(port, "GET /unknown HTTP/1.0\r\n\r\n")
      #expect(old.headers.fields == [.init("Connection", "close")] && old.text == "one two three")
    }
  }

  @Test("sends a 500 for an invalid field or status, and keeps the connection open")
  func unsendable() async throws {
    let handler = TestHandler(slow: { request in
      switch request.target {
      case "/split": Response(status: 200, headers: ["X-A": "1\r\nX-Injected: 1"])
      case "/name": Response(status: 200, headers: ["X A": "1"])
      case "/status": Response(status: 99)
      default: Response(status: 200)
      }
    })
    try await withServer(.init(), handler) { port in
      let answers = try await onThread {
        let client = try RawClient(port: port)
        return try ["/split", "/name", "/status", "/"].map { try client.exchange(.get($0)) }
      }
      #expect(answers.map(\.status) == [500, 500, 500, 200])
      #expect(answers[0].text.contains("'X-A'") && answers[2].text.contains("99"))
    }
  }

  @Test("sends a 500 with the description of an error thrown by the handler")
  func handlerThrows() async throws {
    struct Broken: Error, CustomStringConvertible { let description = "the cassette is torn" }
    let handler = TestHandler(slow: { request in
      if request.target == "/broken" { throw Broken() }
      return Response(status: 200)
    })
    try await withServer(.init(), handler) { port in
      let answers = try await onThread {
        let client = try RawClient(port: port)
        return [try client.exchange(.get("/broken")), try client.exchange(.get("/"))]
      }
      #expect(answers.map(\.status) == [500, 200])
      #expect(answers[0].text.contains("the cassette is torn"))
      #expect(answers[0].headers["Content-Type"] == "application/problem+json")
    }
  }

  @Test("reports a response head that is too large for the connection's memory")
  func largeAnswerHead() async throws {
    let response = Response(status: 200, headers: ["X-Large": String(repeating: "x", count: 60_000)])
    try await withServer(.init(), TestHandler.responding(response)) { port in
      let answer = try await ask(port, .get("/"))
      #expect(answer.status == 500 && answer.text.contains("header limit"))
    }
  }
}

@Suite("File responses", .timeLimit(.minutes(5)))
struct FileAnswerTests {
  /// A file in the temporary folder, removed at the end.
  private func withFile(_ size: Int, _ body: (String, [UInt8]) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path, bytes)
  }

  private static func open(_ path: String, length: Int) -> Response {
    let file = FileBody(owning: Foundation.open(path, O_RDONLY | O_CLOEXEC), length: length)
    return Response(status: 200, headers: ["Content-Type": "image/png"], body: .file(file))
  }

  @Test("sends length and bytes, and the same head for HEAD", arguments: [0, 1, 1_000_000])
  func whole(size: Int) async throws {
    try await withFile(size) { path, bytes in
      let handler = TestHandler(slow: { _ in Self.open(path, length: size) })
      try await withServer(.init(), handler) { port in
        try await onThread {
          let client = try RawClient(port: port)
          for _ in 0..<2 {
            let answer = try client.exchange(.get("/"))
            #expect(answer.body == bytes)
            #expect(answer.headers["Content-Length"] == "\(size)" && answer.headers["Transfer-Encoding"] == nil)
          }
          try client.send(.get("/", "HEAD"))
          let head = try client.receiveAnswer(toHead: true)
          if size > 0 { #expect(head.headers["Content-Length"] == "\(size)") }
          let old = try RawClient(port: port).exchange("GET / HTTP/1.0\r\n\r\n")
          #expect(old.body == bytes)
        }
      }
    }
  }

  @Test("sends one file to many clients at once")
  func shared() async throws {
    try await withFile(3_000_000) { path, bytes in
      let response = Self.open(path, length: bytes.count)
      try await withServer(.init(), TestHandler.responding(response)) { port in
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
          for _ in 0..<8 { group.addTask { try await ask(port, .get("/")).body } }
          for try await body in group { #expect(body == bytes) }
        }
      }
    }
  }

  @Test("closes the connection after the idle timeout if the file was truncated")
  func cut() async throws {
    try await withFile(1_000_000) { path, bytes in
      let handler = TestHandler(slow: { _ in Self.open(path, length: 2_000_000) })
      var configuration = HTTPServer.Configuration()
      configuration.idleSeconds = 1
      try await withServer(configuration, handler) { port in
        try await onThread {
          let client = try RawClient(port: port)
          try client.send(.get("/"))
          #expect(try client.receiveHead().headers["Content-Length"] == "2000000")
          #expect(try client.receiveAll() == bytes)
        }
      }
    }
  }
}
