import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("The app's line to its environment")
struct ControlConnectionTests {
  private let use = StringUse(
    key: "email", ordinal: 0, status: .recorded, value: "é🙂", parameters: .string(length: 2, alphabet: "é🙂"))

  @Test("sends the token and JSON to the path below the control URL, on one kept connection")
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

  @Test("connects anew when the kept connection has been closed meanwhile")
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

  @Test("waits for an environment that was there and is away, and reports when it is back")
  func away() throws {
    let turns = Collected<Int>()
    let cutting: @Sendable (ControlServer.Received) -> ControlServer.Answer? = { request in
      turns.add(0)
      // Known after the first; then nobody answers for a while.
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

  @Test("does not wait for one that was never there")
  func neverThere() throws {
    var patience = Patience()
    patience.first = .zero
    try withControlServer({ _ in nil }) { server in
      let connection = try ControlConnection(server.control, patience: patience)
      #expect(throws: DioramaError.self) { try connection.report(use) }
      #expect(server.requests.count == 1)
    }
  }

  @Test("serves many threads")
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

  @Test("says that nobody is there")
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

  @Test("gives up when no answer comes in time")
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
      #expect(error?.description.contains("no answer in time") == true)
    }
  }

  @Test(
    "shows what the environment says when it refuses",
    arguments: [
      (ControlServer.Answer.json(501, #"{"title":"T","detail":"the reason"}"#), "status 501: the reason"),
      (.json(401, #"{"title":"Who are you"}"#), "status 401: Who are you"),
      (.json(500, "first line\nsecond line"), "status 500: first line"),
      (.json(404, ""), "status 404: no reason given"),
      (.json(200, "{}"), #"the answer is not {"value", "ordinal"}"#),
      (.init(bytes: "nonsense\r\n\r\n", closes: true), "not HTTP/1.1"),
      (.init(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", closes: true), "closed within the answer's body"),
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
    "refuses a URL that is not plain HTTP on this machine",
    arguments: [
      "https://127.0.0.1:1/x", "http://example.com/x", "http://10.0.0.1:1/x", "", "127.0.0.1:80", "http://127.0.0.1:0/",
    ])
  func urls(_ url: String) {
    let error = #expect(throws: DioramaError.self) { try ControlConnection(.init(url: url, token: "t")) }
    #expect(error?.kind == .contract)
  }

  @Test("refuses a token that would break the header, without showing it")
  func token() {
    let error = #expect(throws: DioramaError.self) {
      try ControlConnection(.init(url: "http://127.0.0.1:1/x", token: "a\r\nX: y"))
    }
    #expect(error?.description.contains("X: y") == false)
  }
}
