import Basics
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Malformed requests", .timeLimit(.minutes(5)))
struct MalformedRequestTests {
  /// The second request of each stream, which must not be handled.
  private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n"
  private static let post = "POST / HTTP/1.1\r\nHost: a\r\n"

  @Test(
    "get a 400, and what follows them is not served",
    arguments: [
      ("both lengths", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      ("both lengths, the coding first", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
      ("both lengths on GET", get + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      ("two lengths", post + "Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello"),
      ("one length twice", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
      ("a list of lengths", post + "Content-Length: 5, 5\r\n\r\nhello"),
      ("a length with a sign", post + "Content-Length: +5\r\n\r\nhello"),
      ("a space before the colon", post + "Content-Length : 5\r\n\r\nhello"),
      ("a tab before the colon", post + "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"),
      ("no field name", get + ": a\r\n\r\n"),
      ("two codings", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
      ("a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      ("NUL in a value", get + "X: a\0b\r\nY: c\r\n\r\n"),
      ("NUL in the last value", get + "X: a\0b\r\n\r\n"),
      ("NUL at a value's end", get + "X: a\0\r\n\r\n"),
      ("NUL at a value's end, before a bare LF", "GET / HTTP/1.1\nHost: a\nX: a\0\nY: b\n\n"),
      ("NUL in the last value, before a bare LF", "GET / HTTP/1.1\nHost: a\nX: a\0b\n\n"),
      ("NUL in a name", get + "X\0Y: a\r\n\r\n"),
      ("NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"),
      ("a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
      ("a bare CR in a value", get + "X: a\rY: b\r\n\r\n"),
      ("two hosts", get + "Host: b\r\n\r\n"),
      ("no host", "GET / HTTP/1.1\r\n\r\n"),
      ("an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
      ("a list of hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
      ("a user in the host", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
      ("a port that is not a number", "GET / HTTP/1.1\r\nHost: a:80.b\r\n\r\n"),
      ("no slash before the path", "GET ?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"),
      ("an asterisk for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
      ("a method that is not a token", "GE@T / HTTP/1.1\r\nHost: a\r\n\r\n"),
      ("NUL in the method", "GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ])
  func refused(what: String, request: String) async throws {
    try await withServer(.init(), TestHandler.mirror) { port in
      let bytes = try await onThread {
        let client = try RawClient(port: port)
        try client.send(request + Self.smuggled)
        return try client.receiveAll()
      }
      let answers = String(decoding: bytes, as: UTF8.self)
      #expect(answers.hasPrefix("HTTP/1.1 400 "), "\(what): \(answers)")
      #expect(!answers.contains("smuggled") && !answers.contains(" 200 "), "\(what): \(answers)")
    }
  }

  @Test(
    "exclude what RFC 9112 allows",
    arguments: [
      "GET /a?b=c&d HTTP/1.1\nHost: a\nX: b\n\n",
      "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \t\r\nZ:  a\tb  \r\nCookie: a=b; c=d\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5;name=\"value\"\r\nhello\r\n0\r\nX: a\r\n\r\n",
    ])
  func accepted(request: String) async throws {
    try await withServer(.init(), TestHandler.mirror) { port in
      let answer = try await ask(port, request)
      #expect(answer.status == 200)
    }
  }

  @Test("are ended even if there is traffic on other connections")
  func busyNeighbours() async throws {
    let start = Self.post + "Transfer-Encoding: chunked\r\n\r\n5;"
    let line = start + String(repeating: "a", count: 60_000)
    try await withServer(.init(threads: 1, idleSeconds: 1000, headSeconds: 1000), TestHandler.mirror) { port in
      let isOver = Guarded(false)
      async let traffic: Void = onThread {
        let client = try RawClient(port: port)
        while !isOver.withLock({ $0 }) { _ = try client.exchange(.get("/")) }
      }
      let answers = try await onThread {
        try (0..<4).map { _ in
          let client = try RawClient(port: port)
          try client.send(line)
          return String(decoding: try client.receiveAll(), as: UTF8.self)
        }
      }
      isOver.withLock { $0 = true }
      try await traffic
      #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 400 ") })
    }
  }

  // libmicrohttpd 0.9.75 waits for the end of the line with a full buffer and keeps its thread busy.
  @Test(
    "are ended if a chunk's size line does not fit into the connection's memory",
    arguments: ["5;", "5\r\nhello\r\n5;"])
  func endlessChunkLine(start: String) async throws {
    let line = Self.post + "Transfer-Encoding: chunked\r\n\r\n" + start + String(repeating: "a", count: 60_000)
    // Only the server's own check may end the connection.
    try await withServer(.init(idleSeconds: 1000, headSeconds: 1000), TestHandler.mirror) { port in
      let bytes = try await onThread {
        let client = try RawClient(port: port)
        try client.send(line)
        return try client.receiveAll()
      }
      #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
      let answer = try await ask(port, .get("/"))
      #expect(answer.status == 200)
    }
  }
}

@Suite("Error responses of the server", .timeLimit(.minutes(5)))
struct RefusalTests {
  private struct Document: Decodable {
    var type: String
    var title: String
    var status: Int
    var detail: String
  }

  private struct Broken: Error, CustomStringConvertible {
    let description = "the \"cassette\"\\\n\u{1}is torn: é"
  }

  private func document(of answer: RawClient.Answer) throws -> Document {
    #expect(answer.headers.all("Content-Type") == ["application/problem+json"])
    let document = try JSONDecoder().decode(Document.self, from: Data(answer.body))
    #expect(document.type == "about:blank" && document.status == answer.status && !document.title.isEmpty)
    return document
  }

  private static let long = String(repeating: "x", count: 4100)

  @Test(
    "are problem documents, whether or not libmicrohttpd could still respond",
    arguments: [
      ("GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n", 431),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: one\r\n two\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\tc\r\nY: d\r\nContent-Length: 2\r\n\r\nhi", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", 413),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello", 413),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ])
  func refusal(request: String, status: Int) async throws {
    try await withServer(.init(headerLimit: 4096, bodyLimit: 10), TestHandler.mirror) { port in
      let answer = try await ask(port, request)
      #expect(answer.status == status)
      #expect(try document(of: answer).detail.contains(";"), "no advice after the problem")
    }
  }

  @Test("end the connection if a folded field may have declared the body's length")
  func folded() async throws {
    try await withServer(.init(), TestHandler.mirror) { port in
      let end = try await onThread {
        let client = try RawClient(port: port)
        let answer = try client.exchange(
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n 7\r\n\r\n\(String.get("/"))")
        #expect(answer.status == 400)
        return try client.receive()
      }
      #expect(end.isEmpty)
    }
  }

  @Test("contain the description of a handler's error")
  func failure() async throws {
    try await withServer(.init(), TestHandler(slow: { _ in throw Broken() })) { port in
      let answer = try await ask(port, .get("/"))
      #expect(answer.status == 500)
      #expect(try document(of: answer).detail == Broken().description)
    }
  }
}
