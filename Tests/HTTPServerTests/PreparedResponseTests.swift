import Basics
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Prepared responses", .timeLimit(.minutes(5)))
struct PreparedResponseTests {
  /// The heads and bodies for GET and HEAD with HTTP/1.1 and for GET with HTTP/1.0, each sent twice.
  private func answers(_ prepared: PreparedResponse) async throws -> [RawClient.Answer] {
    try await withServer(.init(), TestHandler(fast: { _ in prepared })) { port in
      try await onThread {
        try [String.get("/"), .get("/", "HEAD"), "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"].flatMap {
          request in
          let client = try RawClient(port: port)
          let first = try client.exchange(request)
          if first.headers["Connection"] == "close" { return [first, try RawClient(port: port).exchange(request)] }
          return [first, try client.exchange(request)]
        }
      }
    }
  }

  @Test("sends the length, and the same head for HEAD")
  func length() async throws {
    let headers: Headers = ["Set-Cookie": "a=1", "set-cookie": "b=2"]
    let answers = try await answers(PreparedResponse(status: 203, headers: headers, body: Array("body".utf8)))
    let head = [
      "HTTP/1.1 203 Non-Authoritative Information", "Set-Cookie: a=1", "set-cookie: b=2", "Content-Length: 4",
    ]
    #expect(answers.prefix(4).map(\.lines) == Array(repeating: head, count: 4))
    #expect(answers.map(\.text) == ["body", "body", "", "", "body", "body"])
  }

  @Test("sends chunks, a length for HTTP/1.0, and neither for HEAD", arguments: ["", "body"])
  func chunked(body: String) async throws {
    let answers = try await answers(
      PreparedResponse(status: 200, headers: ["X-A": "1"], body: Array(body.utf8), framing: .chunked))
    #expect(answers.map(\.text) == [body, body, "", "", body, body])
    for answer in answers[0...1] {
      #expect(answer.headers["Transfer-Encoding"] == "chunked" && answer.headers["Content-Length"] == nil)
    }
    for answer in answers[2...3] { #expect(answer.headers["Content-Length"] == nil) }
    for answer in answers[4...5] {
      #expect(answer.headers["Transfer-Encoding"] == nil && answer.headers["Content-Length"] == "\(body.utf8.count)")
    }
  }

  @Test("sends trailers after a chunked body only")
  func trailers() async throws {
    let prepared = try PreparedResponse(
      status: 200, headers: ["Trailer": "X-T"], body: Array("body".utf8), framing: .chunked,
      trailers: ["X-T": "1", "x-empty": ""])
    let (first, second, head) = try await withServer(.init(), TestHandler(fast: { _ in prepared })) { port in
      try await onThread {
        func all(_ request: String) throws -> String {
          let client = try RawClient(port: port)
          try client.send(request)
          var bytes: [UInt8] = []
          while true {
            let part = try client.receive()
            guard !part.isEmpty else { return String(decoding: bytes, as: UTF8.self) }
            bytes += part
          }
        }
        let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        return (try all(get), try all(get), try all(get.replacing("GET", with: "HEAD")))
      }
    }
    #expect(first.contains("Trailer: X-T\r\n") && first.contains("\r\n0\r\nX-T: 1\r\nx-empty:"), "\(first)")
    #expect(first == second)
    #expect(!head.contains("Trailer") && !head.contains("X-T"), "\(head)")
  }

  @Test("sends a head without a body, with the given length")
  func headOnly() async throws {
    let prepared = try PreparedResponse(
      status: 200, headers: ["X-A": "1"], body: [], framing: .headOnly(contentLength: 99))
    let answer = try await withServer(.init(), TestHandler(fast: { _ in prepared })) { port in
      try await ask(port, .get("/", "HEAD"))
    }
    #expect(answer.lines == ["HTTP/1.1 200 OK", "X-A: 1", "Content-Length: 99"])
  }

  @Test("sends no body with 204 and 304", arguments: [204, 304])
  func emptyStatuses(status: Int) async throws {
    let prepared = try PreparedResponse(status: status, headers: ["Content-Length": "7"], body: [1, 2, 3])
    for answer in try await answers(prepared) {
      #expect(answer.body.isEmpty)
      #expect(answer.headers["Content-Length"] == (status == 304 ? "7" : nil))
    }
  }

  @Test("rejects statuses and fields that cannot be sent")
  func refusals() {
    #expect(throws: CodedError.self) { try PreparedResponse(status: 99, headers: [:], body: []) }
    #expect(throws: CodedError.self) { try PreparedResponse(status: 200, headers: ["A": "\n"], body: []) }
    #expect(throws: CodedError.self) { try PreparedResponse(status: 200, headers: ["": "a"], body: []) }
    #expect(throws: CodedError.self) { try PreparedResponse(status: 200, headers: ["A:": "a"], body: []) }
  }

  @Test("can be dropped while it is being sent")
  func dropped() async throws {
    let body = [UInt8](repeating: 5, count: 8 << 20)
    let handler = TestHandler(fast: { _ in try? PreparedResponse(status: 200, headers: [:], body: body) })
    try await withServer(.init(), handler) { port in
      let answer = try await ask(port, .get("/"))
      #expect(answer.body == body)
    }
  }
}
