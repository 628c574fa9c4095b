import Basics
@testable import Transforms
import ControlAPI
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A request without anything to rewrite")
struct PlainPassageTests {
  /// Upstream responses by name: plain ones, and some that may need rewriting.
  private static let answers: [String: String] = [
    "plain": "HTTP/1.1 200 OK\r\nX-B: 1\r\nx-a:  two words \r\nX-B: 2\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello",
    "text": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n\r\nhttp://other.host/a ",
    "empty": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n",
    "missing": "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "none": "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n",
    "unchanged": "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
    "redirect": "HTTP/1.1 302 Found\r\nLocation: http://HOST/next\r\nContent-Length: 0\r\n\r\n",
    "cookie":
      "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Domain=127.0.0.1; Path=/\r\nContent-Length: 2\r\n\r\nok",
    "link": "HTTP/1.1 200 OK\r\nLink: <http://HOST/2>; rel=next\r\nContent-Length: 2\r\n\r\nok",
    "address": "HTTP/1.1 200 OK\r\nX-Where: http://HOST/here\r\nContent-Length: 2\r\n\r\nok",
    "url":
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: LENGTH\r\n\r\n{\"url\": \"http:\\/\\/HOST\\/a\"}",
    "chunked":
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
    "chunked beside a length":
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
    "two types":
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Type: image/png\r\nContent-Length: LENGTH\r\n\r\nhttp://HOST/a",
    "close by name": "HTTP/1.1 200 OK\r\nConnection: close\r\nClose: 1\r\nContent-Length: 2\r\n\r\nok",
    "merged lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1234, 1234\r\n\r\n\(String(repeating: "x", count: 1234))",
    "events": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: a\n\n",
    "named": "HTTP/1.1 200 OK\r\nConnection: X-Own\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nok",
    "of the connection":
      "HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nTE: x\r\nUpgrade: h2c\r\nProxy-Connection: a\r\nProxy-Authenticate: b\r\nX-A: c\r\nContent-Length: 2\r\n\r\nok",
    "folded": "HTTP/1.1 200 OK\r\nX-Fold: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
    "latin": "HTTP/1.1 200 OK\r\nX-Name: J\u{E9}r\u{F4}me\r\nContent-Length: 2\r\n\r\nok",
    "twice": "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    "early": "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "large":
      "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 300000\r\n\r\n\(String(repeating: "x", count: 300_000))",
  ]

  @Test("is answered as on the slow path, whatever the upstream answers", arguments: answers.keys.sorted())
  func sameAnswer(name: String) async throws {
    let answer = try #require(Self.answers[name])
    try await withUpstream(answer) { fixture, upstream in
      var answers: [RawClient.Answer] = []
      // Recorded requests never use the fast path.
      for mode in [Mode.proxy, .record] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let port = environment.upstreams[0].port
          var answer = try await ask(port, request("GET", "/a?b=c"))
          answer.head = answer.head.replacing(":\(port)/", with: ":PORT/")
          answer.body = Array(answer.text.replacing(":\(port)", with: ":PORT").utf8)
          answers.append(answer)
        }
      }
      #expect(answers[0].head == answers[1].head)
      #expect(answers[0].body == answers[1].body)
    }
  }

  /// Requests by name; PORT is the endpoint's own.
  private static let requests: [String: String] = [
    "plain": "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-B: 1\r\nx-a:  two words \r\nX-B: 2\r\n\r\n",
    "empty field": "GET /a HTTP/1.1\r\nHost: localhost\r\nX-Empty:\r\n\r\n",
    "no host": "GET /a HTTP/1.0\r\n\r\n",
    "accepts": "GET /a HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nUser-Agent: test\r\n\r\n",
    "post": "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
    "post nothing": "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    "delete": "DELETE /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "own method": "PURGE /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "chunked": "PUT /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "address":
      "GET /a?next=http%3A%2F%2F127.0.0.1%3APORT%2Fb HTTP/1.1\r\nHost: localhost\r\nReferer: http://127.0.0.1:PORT/\r\n\r\n",
    "address in body":
      "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 23\r\n\r\nhttp://127.0.0.1:PORT/b",
    "hop by hop":
      "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\n\r\n",
    "of the connection":
      "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\nProxy-Connection: close\r\nProxy-Authorization: x\r\nproxy-authenticate: y\r\nX-A: b\r\n\r\n",
    "close by name": "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nClose: 1\r\n\r\n",
    "closes": "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTE: trailers\r\n\r\n",
    "forwarded":
      "GET /a HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: 127.0.0.1:PORT\r\nX-Forwarded-Port: PORT\r\nX-Forwarded-Proto: http\r\n\r\n",
    "forwarded port": "GET /a HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Port: PORT\r\n\r\n",
    "cookie": "GET /a HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; c=d\r\n\r\n",
    "umlaut": "GET /a HTTP/1.1\r\nHost: localhost\r\nX-Name: \u{E4}\r\n\r\n",
    "head": "HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "options": "OPTIONS /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
  ]

  @Test("reaches the upstream as on the slow path, whatever the request is", arguments: requests.keys.sorted())
  func sameRequest(name: String) async throws {
    let text = try #require(Self.requests[name])
    let seen = Guarded<[String]>([])
    try await withService(script: { connection in
      while true {
        guard let head = try? connection.readHead() else { return }
        let length = head.lowercased().firstRange(of: "content-length: ").flatMap {
          Int(head[$0.upperBound...].prefix { $0.isNumber })
        }
        var body = ""
        if let length, length > 0 { body = String(decoding: try connection.readExactly(length), as: UTF8.self) }
        if head.contains("chunked") { body = String(decoding: try connection.readExactly(15), as: UTF8.self) }
        seen.withLock { $0.append(head + body) }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }) { fixture, upstream in
      for mode in [Mode.proxy, .record] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let port = environment.upstreams[0].port
          // A port with five digits has a known length.
          try #require("\(port)".count == 5)
          var text = text.replacing("PORT", with: "\(port)")
          if name == "address in body" { text = text.replacing("Length: 23", with: "Length: 24") }
          #expect(try await ask(port, text).status == 200)
        }
      }
    }
    let heads = seen.withLock { $0 }
    #expect(heads.count == 2 && heads[0] == heads[1])
  }

  @Test("is counted and in the journal, like any forwarded request")
  func journal() async throws {
    try await withUpstream(try #require(Self.answers["plain"])) { fixture, upstream in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      for _ in 0..<3 { #expect(try await environment.get("/a?b=c").text == "hello") }
      let entries = environment.journalPage(after: 0, limit: 10).entries
      #expect(entries.map(\.kind) == ["forwarded", "forwarded", "forwarded"])
      #expect(entries[0].url == "\(upstream.origin)/a?b=c" && entries[0].method == "GET" && entries[0].status == 200)
      let (report, _) = await environment.end()
      #expect(report.requests.total == 3 && report.requests.forwarded == 3)
    }
  }

  private func withUpstream(
    _ answer: String, _ body: @escaping (ServiceFixture, ScriptedUpstream) async throws -> Void
  ) async throws {
    try await withService(script: { connection in
      while let head = try? connection.readHead() {
        let host = head.split(separator: "\r\n").first { $0.hasPrefix("Host: ") }?.dropFirst(6) ?? ""
        var answer = answer.replacing("HOST", with: host)
        let body = answer.firstRange(of: "\r\n\r\n").map { answer[$0.upperBound...] } ?? ""
        answer = answer.replacing("LENGTH", with: "\(body.utf8.count)")
        // As ISO 8859-1 bytes, which old servers send.
        try connection.write(answer.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
      }
    }) { fixture, upstream in try await body(fixture, upstream) }
  }
}
