import Basics
import ControlAPI
import Diorama
import Foundation
import HTTPMessages
import Stubs
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

extension Environment {
  /// Sends something to the WebSockets at `/chat`; returns how many clients got it.
  fileprivate func say(_ member: String, _ more: String = "") async throws -> Int? {
    try await call("POST", "/sockets", #"{"path": "/chat", \#(member)\#(more)}"#).json["clients"]?.int
  }

  /// The messages of apps at `/chat`, once there is one after a number.
  fileprivate func heard(after number: Int = 0) async throws -> [String] {
    let answer = try await call("GET", "/sockets?path=/chat&after=\(number)&timeout=60")
    return (answer.json["messages"]?.array ?? []).map { message in
      "\(message["number"]?.text ?? "") \(message["connection"]?.text ?? "") "
        + (message["text"]?.string ?? message["base64"]?.string ?? "")
    }
  }
}

@Suite("WebSockets of stubs")
struct WebSocketStubTests {
  private let stub = #"{"request": {"method": "GET", "urlPath": "/chat"}, "response": {"webSocket": {}}}"#

  private func script(_ steps: String, _ more: String = "") -> String {
    #"{"name": "c", "request": {"urlPath": "/chat"}, "response": {\#(more)"webSocket": {"conversation": [\#(steps)]}}}"#
  }

  @Test("pass messages between apps and a test, on an endpoint and on the main port")
  func passed() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked(.mock, ["api": Origin(parsing: "https://a.test")])
      async let first = environment.say(#""send": "hello""#, #", "afterConnections": 2"#)
      let main = try await Chat(port: environment.mainPort, protocols: "chat, other")
      let own = try await Chat(environment)
      #expect(try await first == 2)
      for chat in [main, own] {
        #expect(chat.head.status == 101)
        #expect(chat.head.headers["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(chat.head.headers["Sec-WebSocket-Protocol"] == "chat")
        #expect(chat.head.headers["Sec-WebSocket-Extensions"] == nil)
        #expect(try await chat.nextText() == "hello")
      }
      let endpoint = "http://127.0.0.1:\(environment.upstreams[0].port)"
      try own.say("see \(endpoint)/x")
      #expect(try await environment.heard() == ["1 2 see https://a.test/x"])
      try main.send(WebSocketMessage(.binary, [1, 2]))
      #expect(try await environment.heard(after: 1) == ["2 1 AQI="])
      #expect(try await environment.say(#""send": {"at": "https://a.test/y"}"#) == 2)
      #expect(try await main.nextText() == #"{"at":"https://a.test/y"}"#)
      #expect(try await own.nextText() == #"{"at":"\#(endpoint)/y"}"#)
      #expect(try await environment.say(#""sendBase64": "/w==""#) == 2)
      #expect(try await main.next() == WebSocketMessage(.binary, [255]))
      try main.send(WebSocketMessage(.ping, [7]))
      #expect(try await main.next() == WebSocketMessage(.pong, [7]))
      let report = await environment.end().report
      #expect(report.requests.mocked == 2)
      #expect(report.ok)
      let entries = environment.journalPage(after: 0, limit: 10).entries
      #expect(
        entries.map { "\($0.kind) \($0.method) \($0.status)" } == Array(repeating: "mocked WEBSOCKET 101", count: 2))
      #expect(try await own.next() == WebSocketMessage(.binary, [255]))
      for chat in [main, own] {
        #expect(try await chat.next() == .close(1001, "the environment has ended"))
        #expect(try await chat.next() == nil)
      }
    }
  }

  @Test("are closed by the test or by the app, and can be opened again")
  func closed() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      let first = try await Chat(port: environment.mainPort)
      #expect(try await environment.say(#""close": {"code": 4000, "reason": "bye"}"#, #", "afterConnections": 1"#) == 1)
      #expect(try await first.next() == .close(4000, "bye"))
      #expect(try await first.next() == nil)
      let second = try await Chat(port: environment.mainPort)
      try second.send(.close(1000, "done"))
      #expect(try await second.next() == .close(1000, "done"))
      #expect(try await second.next() == nil)
      let third = try await Chat(port: environment.mainPort)
      #expect(try await environment.say(#""send": "hello""#, #", "afterConnections": 1"#) == 1)
      #expect(try await third.nextText() == "hello")
      third.client.reset()
      let answer = try await environment.call("GET", "/sockets?path=/chat&untilClosed=true&timeout=60")
      #expect(answer.json["open"] == .int(0))
      #expect(answer.json["connections"] == .int(3))
      #expect(try await environment.say(#""send": "anyone?", "afterConnections": 0"#) == 0)
      #expect(await environment.end().report.ok)
    }
  }

  @Test("play a conversation with conditions, templates and pauses, even if the app sends early")
  func conversation() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        script(
          #"{"send": "hello {{request.query.name}}"}, {"expect": {"matchesJsonPath": "$.symptom"}}, "#
            + #"{"send": {"about": "{{jsonPath message '$.symptom'}}"}, "delayMilliseconds": 60000}, "#
            + #"{"expect": {"equalTo": "thanks"}}, {"close": {"code": 4001, "reason": "healed"}}"#,
          #""transformers": ["response-template"], "#))
      let environment = try fixture.mocked { $0.clock.kind = "manual" }
      let chat = try await Chat(port: environment.mainPort, "/chat?name=Ann")
      try chat.say(#"{"symptom": "headache"}"#)
      try chat.say("thanks")
      #expect(try await chat.nextText() == "hello Ann")
      try await DioramaClock(environment.state.withLock { $0.live.state.timeline }).waitForSleepers(1)
      _ = try await environment.moveClock(.advance(.seconds(60)), afterSleepers: nil, timeout: .seconds(60))
      #expect(try await chat.nextText() == #"{"about":"headache"}"#)
      #expect(try await chat.next() == .close(4001, "healed"))
      #expect(await environment.end().report.ok)
    }
  }

  @Test(
    "report a message that their conversation does not expect as a miss",
    arguments: [
      (
        #"{"expect": {"equalTo": "a"}}, {"send": "x"}"#, ["b"],
        #"the conversation expects one that matches {"equalTo": "a"}, received `b`"#
      ),
      (#"{"expect": {"equalTo": "a"}}"#, ["a", "b"], "the conversation is over, received `b`"),
    ])
  func missed(steps: String, said: [String], reason: String) async throws {
    try await withService { fixture in
      try fixture.writeMappings(script(steps))
      let environment = try fixture.mocked()
      let chat = try await Chat(port: environment.mainPort)
      for text in said { try chat.say(text) }
      let close = try await chat.next()
      #expect(close?.closeCode == 1008)
      #expect(close?.closeReason.hasPrefix("unexpected message: ") == true)
      let report = await environment.end().report
      #expect(!report.ok)
      #expect(report.requests.mocked == 1)
      #expect(report.requests.unmatched == 1)
      // A message is not a request.
      #expect(report.requests.total == 1)
      #expect(report.unmatched.first?.method == "WEBSOCKET")
      #expect(report.unmatched.first?.refusal == "stub c: message \(said.count) is unexpected: \(reason)")
    }
  }

  @Test("note a conversation that ends too early, and fail with a script that cannot be played")
  func unfinished() async throws {
    try await withService { fixture in
      try fixture.writeMappings(script(#"{"expect": {"equalTo": "a"}}"#))
      let environment = try fixture.mocked()
      let chat = try await Chat(port: environment.mainPort)
      try chat.send(.close(1000))
      #expect(try await chat.next() == .close(1000))
      #expect(try await chat.next() == nil)
      #expect(await environment.end().report.ok)
      let notes = environment.journalPage(after: 0, limit: 10).entries.filter { $0.kind == "note" }.compactMap(\.detail)
      #expect(
        notes == [
          #"stub c: the WebSocket closed before the conversation received a message that matches {"equalTo": "a"}"#
        ])
    }
    try await withService { fixture in
      try fixture.writeMappings(script(#"{"expect": {"matches": "(a+)+$"}}"#))
      let environment = try fixture.mocked()
      let chat = try await Chat(port: environment.mainPort)
      try chat.say(String(repeating: "a", count: 40) + "!")
      #expect(try await chat.next()?.closeCode == 1011)
      let report = await environment.end().report
      #expect(report.failures.count == 1)
      #expect(report.failures.first?.hasPrefix("stub c: ") == true, "\(report.failures)")
    }
  }

  @Test("refuse frames that violate the protocol, and use the cassette if no stub matches")
  func others() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked(.mock, ["api": Origin(parsing: "https://a.test")])
      let chat = try await Chat(environment)
      // Without a mask.
      try chat.client.send(WebSocketMessage(.text, [0x61]).frame())
      #expect(try await chat.next()?.closeCode == 1002)
      let other = try await Chat(environment, "/other")
      #expect(other.head.status == 501)
      let plain = try await ask(environment.mainPort, request("GET", "/chat"))
      #expect(plain.status == 404)
      #expect(plain.text.contains("the nearest is stub GET /chat: it answers only WebSocket handshakes"))
      _ = await environment.end()
    }
  }

  @Test("return the apps' messages in responses of about 1 MiB")
  func pages() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      let chat = try await Chat(port: environment.mainPort)
      let texts = (0..<5).map { String(repeating: "\($0)", count: 600_000) }
      try await onThread { for text in texts { try chat.say(text) } }
      _ = try await environment.heard(after: 4)
      var heard: [String] = []
      for count in [2, 2, 1, 0] {
        let answer = try await environment.call("GET", "/sockets?path=/chat&after=\(heard.count)")
        let messages = answer.json["messages"]?.array ?? []
        #expect(messages.count == count)
        heard += messages.compactMap { $0["text"]?.string }
        #expect(answer.json["last"] == .int(heard.count))
      }
      #expect(heard == texts)
      _ = await environment.end()
    }
  }

  @Test("precede recorded ones, which other stubs do not hide")
  func beforeCassette() async throws {
    let upstream = try TestUpstream { request in
      var response = Response(
        status: 101,
        headers: [
          "Upgrade": "websocket",
          "Sec-WebSocket-Accept": WebSocketHandshake.accept(request.headers["Sec-WebSocket-Key"] ?? ""),
        ])
      response.upgrade = { duplex in
        Task {
          try await duplex.outgoing.write(WebSocketMessage(.text, Array("live".utf8)).frame())
          try await duplex.outgoing.write(WebSocketMessage.close(1000).frame())
          duplex.outgoing.finish()
        }
      }
      return response
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        let chat = try await Chat(environment)
        #expect(try await chat.nextText() == "live")
        #expect(try await chat.next()?.closeCode == 1000)
      }
      try fixture.writeMappings(#"{"request": {}, "response": {"body": "any"}}"#)
      let environment = try fixture.mocked(.replay)
      let replayed = try await Chat(environment)
      #expect(try await replayed.nextText() == "live")
      #expect(try await environment.get("/chat").text == "any")
      #expect(try await environment.call("POST", "/mappings", stub).status == 201)
      let mocked = try await Chat(environment)
      #expect(try await environment.say(#""send": "mocked""#, #", "afterConnections": 1"#) == 1)
      #expect(try await mocked.nextText() == "mocked")
      let report = await environment.end().report
      #expect(report.requests.replayed == 1)
      #expect(report.requests.mocked == 2)
    }
  }

  @Test("drop an app that does not read, and end without waiting for it")
  func slow() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      let slow = try await Chat(port: environment.mainPort, receiveBuffer: 4096)
      let message = #""send": "\#(String(repeating: "x", count: 1_000_000))""#
      var count = try await environment.say(message, #", "afterConnections": 1"#)
      var sent = 1
      while count == 1, sent < 100 {
        count = try await environment.say(message)
        sent += 1
      }
      #expect(count == 0)
      let stalled = try await Chat(port: environment.mainPort, receiveBuffer: 4096)
      for _ in 0..<2 { _ = try await environment.say(message, #", "afterConnections": 1"#) }
      #expect(await environment.end().report.ok)
      _ = (slow, stalled)
    }
  }

  @Test("and event streams can be added over the admin API, and are kept across a restart")
  func restored() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      for json in [stub, stub.replacing("chat", with: "events").replacing(#""webSocket": {}"#, with: #""events": []"#)]
      {
        #expect(try await environment.call("POST", "/mappings", json).status == 201)
      }
      let sources = try #require(environment.stubs.progress.sources)
      _ = await environment.end()
      let again = try fixture.provision(.mock)
      try again.stubs.restore(sources: sources, states: [:], collections: nil, uses: [:])
      let chat = try await Chat(port: again.mainPort)
      #expect(chat.head.status == 101)
      #expect(try await again.send(#"{"data": ""}"#) == "1 0")
      _ = await again.end()
    }
  }
}

@Suite("Changes to collections")
struct CollectionChangeTests {
  @Test("are listed with the items before and after, and can be awaited")
  func awaited() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      #expect(try await environment.call("GET", "/collections/people/changes").status == 404)
      for name in ["people", "others"] {
        let body = #"{"path": "/\#(name)/{id}", "items": [{"id": 1}]}"#
        #expect(try await environment.call("PUT", "/collections/\(name)", body).status == 200)
      }
      func changes(_ query: String) async throws -> String {
        let (status, json) = try await environment.call("GET", "/collections/people/changes\(query)")
        #expect(status == 200)
        return String(decoding: json.encoded(.line), as: UTF8.self)
      }
      #expect(try await changes("") == #"{"changes": [], "last": 0}"#)
      async let first = changes("?timeout=60")
      while environment.stubs.conversations.waiting == 0 { await Task.yield() }
      func send(_ method: String, _ target: String, _ body: String) async throws {
        let answer = try await ask(
          environment.mainPort, request(method, target, ["Content-Type": "application/json"], body))
        #expect(answer.status < 300)
      }
      // Another collection's change ends no wait.
      try await send("POST", "/others", "{}")
      try await send("PATCH", "/people/1", #"{"a": 2}"#)
      #expect(
        try await first
          == #"{"changes": [{"number": 2, "kind": "patched", "id": "1", "item": {"id": 1, "a": 2}, "old": {"id": 1}}], "last": 2}"#
      )
      try await send("PUT", "/people/1", #"{"id": 1}"#)
      try await send("POST", "/people", "{}")
      _ = try await environment.call("DELETE", "/collections/people/2")
      #expect(
        try await changes("?after=2&timeout=60")
          == #"{"changes": [{"number": 3, "kind": "replaced", "id": "1", "item": {"id": 1}, "old": {"id": 1, "a": 2}}, "#
          + #"{"number": 4, "kind": "created", "id": "2", "item": {"id": 2}}, "#
          + #"{"number": 5, "kind": "removed", "id": "2", "old": {"id": 2}}], "last": 5}"#)
      #expect(try await environment.call("GET", "/collections/people/changes?after=6").status == 400)
      // Those of a collection that was replaced are gone.
      _ = try await environment.call("PUT", "/collections/people", #"{"path": "/people/{id}"}"#)
      #expect(try await changes("") == #"{"changes": [], "last": 5}"#)
      _ = await environment.end()
    }
  }
}
