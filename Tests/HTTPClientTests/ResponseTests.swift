import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Responses", .timeLimit(.minutes(5)))
struct ResponseTests {
  /// The client's result for a literal response, after which the upstream closes.
  private func response(to method: String = "GET", _ answer: [UInt8]) async throws -> (Response, [UInt8]) {
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write(answer)
    } _: { client, upstream in
      let response = try await client.send(Request(method: method, target: "/"), to: upstream.origin)
      return (response, try await response.body.collect(upTo: 1 << 20))
    }
  }

  private func response(to method: String = "GET", _ answer: String) async throws -> (Response, String) {
    let (response, body) = try await response(to: method, [UInt8](answer.utf8))
    return (response, String(decoding: body, as: UTF8.self))
  }

  @Test("keep order, case, repetitions, empty values and hop-by-hop fields")
  func fields() async throws {
    let (response, body) = try await response(
      "HTTP/1.1 299 Quite  Fine\r\nx-a: 1\r\nSet-Cookie: a=1; Path=/\r\nX-Empty:\r\nset-cookie:b=2\r\nX-A:   two words \t\r\n"
        + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    #expect(response.status == 299)
    #expect(response.reason == "Quite  Fine")
    #expect(
      response.headers == [
        "x-a": "1", "Set-Cookie": "a=1; Path=/", "X-Empty": "", "set-cookie": "b=2", "X-A": "two words",
        "Connection": "close", "Transfer-Encoding": "chunked",
      ])
    #expect(body == "abc")
  }

  @Test("may lack a reason, contain folded lines, and use UTF-8 or ISO 8859-1")
  func oddities() async throws {
    let head = "HTTP/1.1 200\r\nX-Folded: a\r\n  b\r\nX-UTF: grün\r\nContent-Length: 0\r\nX-Latin: gr"
    let (response, _) = try await response([UInt8](head.utf8) + [0xFC] + [UInt8]("n\r\n\r\n".utf8))
    #expect(response.reason == "")
    #expect(response.headers["X-Folded"] == "a b")
    #expect(response.headers["X-UTF"] == "grün")
    #expect(response.headers["X-Latin"] == "grün")
  }

  @Test("may begin with a folded line without harm, whatever preceded on the connection")
  func foldedFirst() async throws {
    let heads = ["X-Long: \(String(repeating: "x", count: 500))", " folded: \(String(repeating: "y", count: 5000))"]
    try await withUpstream { connection in
      for round in 0... {
        _ = try connection.readHead()
        try connection.write("HTTP/1.1 200 OK\r\n\(heads[round % 2])\r\nContent-Length: 2\r\n\r\nok")
      }
    } _: { client, upstream in
      for round in 0..<20 {
        do {
          let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
          #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        } catch let error as UpstreamError {
          // libcurl before 8.1.0 rejects it and opens a new connection.
          #expect(error.message.contains("a response head that is not HTTP"), "\(round)")
        }
      }
    }
  }

  @Test("are final, not interim")
  func interim() async throws {
    let (response, body) = try await response(
      "HTTP/1.1 100 Continue\r\nX-No: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok("x"))
    #expect(response.status == 200)
    #expect(response.headers == ["Content-Length": "1"])
    #expect(body == "x")
  }

  @Test("do not include trailers among their fields")
  func trailers() async throws {
    let (response, body) = try await response(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nab\r\n0\r\nX-T: 1\r\n\r\n")
    #expect(response.headers == ["Transfer-Encoding": "chunked", "Trailer": "X-T"])
    #expect(response.trailers?.headers == ["X-T": "1"])
    #expect(body == "ab")
  }

  @Test("to HEAD or with status 204 or 304 have no body and keep their fields")
  func noBody() async throws {
    for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304), ("HEAD", 404)] {
      let (response, body) = try await response(
        to: method, "HTTP/1.1 \(status) X\r\nContent-Length: 1234\r\nETag: \"e\"\r\n\r\n")
      #expect(response.status == status)
      #expect(response.headers == ["Content-Length": "1234", "ETag": "\"e\""])
      guard case .bytes(let bytes) = response.body else { throw Failure(what: "a stream") }
      #expect(bytes.isEmpty && body.isEmpty)
    }
  }

  @Test("that arrived completely have a body of bytes")
  func bytesAtHand() async throws {
    guard case .bytes(let bytes) = try await response(ok("hello")).0.body else { throw Failure(what: "a stream") }
    #expect(bytes == [UInt8]("hello".utf8))
  }

  @Test("may end with the connection")
  func endsWithConnection() async throws {
    #expect(try await response("HTTP/1.1 200 OK\r\n\r\nall of it").1 == "all of it")
    #expect(try await response("HTTP/1.0 200 OK\r\n\r\nall of it").1 == "all of it")
  }

  @Test("are not decoded", arguments: ["gzip", "deflate", "br", "zstd"])
  func notDecoded(coding: String) async throws {
    let bytes = [UInt8](0...255)
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: 256\r\n\r\n"
    let (response, body) = try await response([UInt8](head.utf8) + bytes)
    #expect(response.headers["content-encoding"] == coding)
    #expect(body == bytes)
  }

  @Test("with redirects are returned, not followed", arguments: [301, 302, 303, 307, 308])
  func redirect(status: Int) async throws {
    try await withUpstream { connection in
      try connection.serve { head in
        head.hasPrefix("GET /old ")
          ? "HTTP/1.1 \(status) Moved\r\nLocation: /new\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"
          : ok(head.contains("Cookie") ? "a cookie" : "new")
      }
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/old"), to: upstream.origin)
      #expect(response.status == status)
      #expect(response.headers["Location"] == "/new")
      let next = try await client.send(Request(method: "GET", target: "/new"), to: upstream.origin)
      #expect(try await next.body.collect(upTo: 99) == [UInt8]("new".utf8))
    }
  }

  @Test("have a stream as body if the head arrives first")
  func headFirst() async throws {
    let isRead = Gate()
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
      isRead.wait()
      try connection.write("def")
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      guard case .stream(let pipe, let length) = response.body else { throw Failure(what: "no stream") }
      #expect(length == 6)
      #expect(try await pipe.read() == [UInt8]("abc".utf8))
      isRead.open()
      #expect(try await pipe.read() == [UInt8]("def".utf8))
      #expect(try await pipe.read() == nil)
    }
  }
}
