import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

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
      #expect(try document(of: answer).detail.contains(";"), "it says what to do next")
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
