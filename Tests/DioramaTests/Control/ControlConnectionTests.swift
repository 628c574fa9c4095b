import Basics
import Diorama
@testable import Diorama
import Foundation
import LaunchContract
import LocalHTTP
import Testing

@Suite("Control connection")
struct ControlConnectionTests {
  private let use = StringUse(
    key: "email", ordinal: 0, status: .recorded, value: "é🙂", parameters: .string(length: 2, alphabet: "é🙂"))

  @Test("sends the token and JSON to the path below the control URL, on a persistent connection")
  func request() throws {
    try withControlServer { server in
      let connection = try ControlConnection(server.control)
      #expect(try connection.report(use) == .init(value: "é🙂", ordinal: 0))
      try connection.report(UsageReport(toggles: ["a": .bool(true)]))
      let requests = server.requests
      #expect(requests.map(\.path) == ["/__diorama/strings", "/__diorama/usage"])
      #expect(requests.map(\.connection) == [0, 0])
      #expect(requests[0].headers["authorization"] == "Bearer t0ken")
      #expect(requests[0].headers["host"] == "127.0.0.1:\(server.port)")
      #expect(String(decoding: requests[1].body, as: UTF8.self) == #"{"toggles":{"a":true}}"#)
    }
  }

  @Test("reconnects if the persistent connection was closed")
  func reconnects() throws {
    let closing: @Sendable (ControlServer.Received) -> ControlServer.Answer? = { request in
      ControlServer.recording(request).map { .init(bytes: $0.bytes, closes: true) }
    }
    try withControlServer(closing) { server in
      let connection = try ControlConnection(server.control)
      for _ in 0..<3 { _ = try connection.report(use) }
      #expect(server.requests.map(\.connection) == [0, 1, 2])
    }
  }

  @Test("retries a report until an environment that responded before responds again")
  func away() throws {
    let turns = Collected<Int>()
    let cutting: @Sendable (ControlServer.Received) -> ControlServer.Answer? = { request in
      turns.add(0)
      // The first report makes the environment known; then it does not respond for a while.
      guard turns.values.count == 1 || turns.values.count > 6 else { return nil }
      return ControlServer.recording(request).map { .init(bytes: $0.bytes, closes: true) }
    }
    var patience = Patience()
    patience.first = .zero
    try withControlServer(cutting) { server in
      let connection = try ControlConnection(server.control, patience: patience)
      for _ in 0..<2 { #expect(try connection.report(use).value == "é🙂") }
      #expect(server.requests.count == 7)
    }
  }

  @Test("does not wait for an environment that never responded")
  func neverThere() throws {
    var patience = Patience()
    patience.first = .zero
    try withControlServer({ _ in nil }) { server in
      let connection = try ControlConnection(server.control, patience: patience)
      #expect(throws: DioramaError.self) { try connection.report(use) }
      #expect(server.requests.count == 1)
    }
  }

  @Test("supports many threads")
  func threads() throws {
    try withControlServer { server in
      let connection = try ControlConnection(server.control)
      let found = Collected<Int>()
      DispatchQueue.concurrentPerform(iterations: 16) { thread in
        for turn in 0..<20 {
          var use = use
          use.ordinal = thread * 20 + turn
          if let answer = try? connection.report(use) { found.add(answer.ordinal) }
        }
      }
      #expect(found.values.sorted() == Array(0..<320))
      #expect(server.requests.allSatisfy { $0.connection == 0 })
    }
  }

  @Test("reports that nothing listens at the address")
  func refused() throws {
    let server = try ControlServer { _ in nil }
    server.stop()
    var patience = Patience()
    patience.first = .zero
    let connection = try ControlConnection(server.control, patience: patience)
    let error = #expect(throws: DioramaError.self) { try connection.report(use) }
    #expect(error?.kind == .control)
    #expect(error?.description.contains("Connection refused") == true)
    #expect(error?.description.contains("\(server.control.url)/strings") == true)
    #expect(error?.description.contains("t0ken") == false)
  }

  @Test("fails if no response arrives in time")
  func timeout() throws {
    let release = DispatchSemaphore(value: 0)
    let silent: @Sendable (ControlServer.Received) -> ControlServer.Answer? = { _ in
      release.wait()
      return nil
    }
    try withControlServer(silent) { server in
      defer { release.signal() }
      let connection = try ControlConnection(server.control, timeout: .milliseconds(100))
      let error = #expect(throws: DioramaError.self) { try connection.report(use) }
      #expect(error?.description.contains("no response in time") == true)
    }
  }

  @Test(
    "includes the environment's reason for a refusal",
    arguments: [
      (ControlServer.Answer.json(501, #"{"title":"T","detail":"the reason"}"#), "status 501: the reason"),
      (.json(401, #"{"title":"Who are you"}"#), "status 401: Who are you"),
      (.json(500, "first line\nsecond line"), "status 500: first line"),
      (.json(404, ""), "status 404: no reason given"),
      (.json(200, "{}"), #"the response is not {"value", "ordinal"}"#),
      (.init(bytes: "nonsense\r\n\r\n", closes: true), "not HTTP/1.1"),
      (
        .init(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", closes: true),
        "closed before the end of the response's body"
      ),
    ])
  func refusals(_ answer: ControlServer.Answer, _ words: String) throws {
    var patience = Patience()
    patience.first = .zero
    try withControlServer({ _ in answer }) { server in
      let connection = try ControlConnection(server.control, patience: patience)
      let error = #expect(throws: DioramaError.self) { try connection.report(use) }
      #expect(try #require(error).description.contains(words))
    }
  }

  @Test(
    "rejects a URL that is not HTTP on a loopback address",
    arguments: [
      "https://127.0.0.1:1/x", "http://example.com/x", "http://10.0.0.1:1/x", "", "127.0.0.1:80", "http://127.0.0.1:0/",
    ])
  func urls(_ url: String) {
    let error = #expect(throws: DioramaError.self) { try ControlConnection(.init(url: url, token: "t")) }
    #expect(error?.kind == .contract)
  }

  @Test("rejects a token that would break the header, without showing it")
  func token() {
    let error = #expect(throws: DioramaError.self) {
      try ControlConnection(.init(url: "http://127.0.0.1:1/x", token: "a\r\nX: y"))
    }
    #expect(error?.description.contains("X: y") == false)
  }
}

@Suite("HTTP responses")
struct HTTPResponseTests {
  private func parse(_ text: String, ended: Bool = false) throws -> HTTPResponse? {
    try HTTPResponse.parse(Array(text.utf8), ended: ended)
  }

  @Test(
    "are parsed once they are complete",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true),
      ("HTTP/1.1 200\r\ncontent-length:2\r\n\r\nhi and more", 200, "hi", true),
      ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
      ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200, "", false),
      ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false),
      ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", 404, "x", true),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\nA\r\n0123456789\r\n0\r\n\r\n", 200,
        "hi0123456789", true
      ),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", 200, "", true),
    ] as [(String, Int, String, Bool)])
  func whole(_ text: String, _ status: Int, _ body: String, _ keepsAlive: Bool) throws {
    var answer = HTTPResponse(status: status, body: Array(body.utf8), keepsAlive: keepsAlive)
    answer.headers = try #require(try parse(text)).headers
    #expect(try parse(text) == answer)
    // No prefix of the bytes is a response or an error.
    for length in 0..<text.utf8.count {
      let part = Array(text.utf8.prefix(length))
      let early = try HTTPResponse.parse(part, ended: false)
      #expect(early == nil || early == answer)
    }
  }

  @Test("have their header fields, with repeated ones joined")
  func fields() throws {
    let response = try parse("HTTP/1.1 204 No Content\r\nX-Token: T 1\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n")
    #expect(response?.headers == ["x-token": "T 1", "set-cookie": "a=1, b=2"])
  }

  @Test("end with the connection without any other delimiter")
  func untilClose() throws {
    let text = "HTTP/1.1 200 OK\r\n\r\nhi"
    #expect(try parse(text) == nil)
    #expect(try parse(text, ended: true) == HTTPResponse(status: 200, body: Array("hi".utf8), keepsAlive: false))
  }

  @Test(
    "are rejected if they are incomplete or not HTTP",
    arguments: [
      "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", "SSH-2.0-OpenSSH\r\n\r\n",
      "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi",
    ])
  func malformed(_ text: String) {
    #expect(throws: CodedError.self) { try parse(text, ended: true) }
  }

  @Test("are rejected above 8 MiB")
  func tooLong() {
    let bytes = [UInt8](repeating: 0x61, count: HTTPResponse.limit + 1)
    #expect(throws: CodedError.self) { try HTTPResponse.parse(bytes, ended: false) }
  }
}
