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
  /// Calls the admin API; the answer is JSON.
  func call(_ method: String, _ path: String, _ body: String = "") async throws -> (status: Int, json: JSON) {
    let answer = await admin(method, path, Array(body.utf8))
    return (answer.status, try JSON.parse(answer.body))
  }

  /// Sends an event; returns its id and how many clients got it.
  @discardableResult
  func send(_ event: String, to path: String = "/events", _ more: String = "") async throws -> String {
    let (status, json) = try await call("POST", "/events", #"{"path": "\#(path)", "event": \#(event)\#(more)}"#)
    return status == 200 ? "\(json["id"]?.text ?? "-") \(json["clients"]?.text ?? "")" : json.text
  }
}

/// An app that reads a stream event by event.
private struct Listener {
  let client: RawClient
  let head: RawClient.Answer

  init(_ port: UInt16, _ target: String = "/events", _ headers: Headers = [:], receiveBuffer: Int32? = nil) async throws
  {
    (client, head) = try await onThread {
      let client = try RawClient(port: port, receiveBuffer: receiveBuffer)
      try client.send(request("GET", target, headers))
      return (client, try client.receiveHead())
    }
  }

  /// The next event; nil at the end.
  func next() async throws -> String? {
    try await onThread { [client] in try client.receiveChunk().map { String(decoding: $0, as: UTF8.self) } }
  }
}

@Suite("Event streams of stubs")
struct EventStreamStubTests {
  private let stub = #"{"request": {"method": "GET", "urlPath": "/events"}, "response": {"events": []}}"#

  @Test("deliver a test's events to every app, on an endpoint and on the main port")
  func everyone() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked(.mock, ["api": Origin(parsing: "https://a.test")])
      async let first = environment.send(#"{"data": "one"}"#, #", "afterConnections": 2"#)
      let apps = [
        try await Listener(environment.mainPort), try await Listener(environment.upstreams[0].port, "/events?x=1"),
      ]
      #expect(try await first == "1 2")
      #expect(try await environment.send(#"{"data": {"a": "https://a.test/x"}, "event": "e", "id": "k"}"#) == "k 2")
      #expect(try await environment.send(#"{"comment": "ping"}"#) == "- 2")
      #expect(try await environment.send(#"{"data": "three"}"#) == "3 2")
      let urls = ["https://a.test", "http://127.0.0.1:\(environment.upstreams[0].port)"]
      for (app, url) in zip(apps, urls) {
        #expect(app.head.status == 200)
        #expect(app.head.headers["Content-Type"] == "text/event-stream")
        #expect(app.head.headers["Cache-Control"] == "no-store")
        #expect(try await app.next() == "id: 1\ndata: one\n\n")
        #expect(try await app.next() == "id: k\nevent: e\ndata: {\"a\":\"\(url)/x\"}\n\n")
        #expect(try await app.next() == ": ping\n\n")
        #expect(try await app.next() == "id: 3\ndata: three\n\n")
      }
      let report = await environment.end().report
      #expect(report.requests.mocked == 2)
      #expect(report.ok)
      for app in apps { #expect(try await app.next() == nil) }
    }
  }

  @Test("keep events until the first app connects, and resend events that an app missed")
  func missed() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"request": {"urlPath": "/events"}, "response": {"events": [{"data": "hello"}, {"data": "again"}]}}"#)
      let environment = try fixture.mocked()
      #expect(try await environment.send(#"{"data": "early"}"#) == "3 0")
      let first = try await Listener(environment.mainPort)
      for text in ["id: 1\ndata: hello\n\n", "id: 2\ndata: again\n\n", "id: 3\ndata: early\n\n"] {
        #expect(try await first.next() == text)
      }
      first.client.close()
      let closed = try await environment.call("GET", "/events?path=/events&untilClosed=true&timeout=60")
      #expect(closed.json["open"] == .int(0))
      #expect(closed.json["connections"] == .int(1))
      #expect(try await environment.send(#"{"data": "late"}"#) == "4 0")
      // By the script's event, by an event of the test, and from the start.
      let script = try await Listener(environment.mainPort, "/events", ["Last-Event-ID": "1"])
      for text in ["id: 2\ndata: again\n\n", "id: 3\ndata: early\n\n", "id: 4\ndata: late\n\n"] {
        #expect(try await script.next() == text)
      }
      let sent = try await Listener(environment.mainPort, "/events", ["Last-Event-ID": "3"])
      #expect(try await sent.next() == "id: 4\ndata: late\n\n")
      let fresh = try await Listener(environment.mainPort)
      let unknown = try await Listener(environment.mainPort, "/events", ["Last-Event-ID": "x"])
      #expect(try await environment.send(#"{"data": "five"}"#) == "5 4")
      for app in [fresh, unknown] {
        for text in ["id: 1\ndata: hello\n\n", "id: 2\ndata: again\n\n", "id: 5\ndata: five\n\n"] {
          #expect(try await app.next() == text)
        }
      }
      #expect(try await script.next() == "id: 5\ndata: five\n\n")
      #expect(try await sent.next() == "id: 5\ndata: five\n\n")
      let notes = environment.journalPage(after: 0, limit: 100).entries.filter { $0.kind == "note" }
      #expect(notes.compactMap(\.detail).contains { $0.contains("resumes after event 'x'") })
      _ = await environment.end()
    }
  }

  @Test("play their script on the environment's timeline, up to the clock's time, and then end")
  func script() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"request": {"urlPathTemplate": "/rooms/{id}"}, "response": {"transformers": ["response-template"], "events": ["#
          + #"{"data": "room {{request.path.id}}"}, {"data": "{{now}}", "delayMilliseconds": 60000},"#
          + #"{"delayMilliseconds": 30000}, {"data": "bye", "delayMilliseconds": 30000}, {"close": true}]}}"#)
      let environment = try fixture.mocked {
        $0.clock.kind = "manual"
        $0.clock.start = RFC3339.parse("2018-10-08T09:00:00Z")
      }
      let app = try await Listener(environment.mainPort, "/rooms/7")
      #expect(try await app.next() == "id: 1\ndata: room 7\n\n")
      try await DioramaClock(environment.state.withLock { $0.live.state.timeline }).waitForSleepers(1)
      _ = try await environment.moveClock(.advance(.seconds(120)), afterSleepers: nil, timeout: .seconds(60))
      #expect(try await app.next() == "id: 2\ndata: 2018-10-08T09:02:00Z\n\n")
      #expect(try await app.next() == "id: 3\ndata: bye\n\n")
      #expect(try await app.next() == nil)
      _ = await environment.end()
    }
  }

  @Test("drop an app that does not read, with a note, and keep serving others")
  func slow() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      let slow = try await Listener(environment.mainPort, receiveBuffer: 4096)
      let quick = try await Listener(environment.mainPort)
      let event = #"{"data": "\#(String(repeating: "x", count: 100_000))"}"#
      let read = Monitor(0)
      let reading = Task {
        // A large event comes in several chunks.
        while let chunk = try await quick.next(), !chunk.hasSuffix("data: last\n\n") {
          if chunk.hasSuffix("\n\n") { read.withLock { $0 += 1 } }
        }
      }
      var sent = 0
      var answer = ""
      repeat {
        answer = try await environment.send(event)
        sent += 1
        try await read.wait { [sent] in $0 == sent }
      } while answer == "\(sent) 2" && sent < 1000
      #expect(answer == "\(sent) 1")
      #expect(try await environment.send(#"{"data": "last"}"#) == "\(sent + 1) 1")
      try await reading.value
      let notes = environment.journalPage(after: 0, limit: 100).entries.filter { $0.kind == "note" }
      #expect(
        notes.map(\.detail) == [
          "stub GET /events: connection 1 was dropped because the app did not read 1048576 bytes"
        ])
      _ = slow
      _ = await environment.end()
    }
  }

  @Test("can be ended by a test, and reopened")
  func ended() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      let app = try await Listener(environment.mainPort)
      #expect(try await environment.send(#"{"data": "one"}"#) == "1 1")
      let closed = try await environment.call("POST", "/events", #"{"path": "/events", "close": true}"#)
      #expect(closed.json["clients"] == .int(1))
      #expect(try await app.next() == "id: 1\ndata: one\n\n")
      #expect(try await app.next() == nil)
      _ = try await environment.call("GET", "/events?path=/events&untilClosed=true&timeout=60")
      let again = try await Listener(environment.mainPort)
      #expect(try await environment.send(#"{"data": "two"}"#) == "2 1")
      #expect(try await again.next() == "id: 2\ndata: two\n\n")
      _ = await environment.end()
    }
  }

  @Test("are cut off if their script cannot be played, and fail the environment")
  func broken() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"request": {"url": "/events"}, "response": {"transformers": ["response-template"], "events": ["#
          + #"{"data": "x"}, {"data": "{{ljust 'x' size=2000000000}}", "#
          + #""delayMilliseconds": 1}]}}"#)
      let environment = try fixture.mocked()
      let app = try await Listener(environment.mainPort)
      #expect(try await app.next() == "id: 1\ndata: x\n\n")
      await #expect(throws: RawClient.Failure.self) { try await app.next() }
      let report = await environment.end().report
      #expect(!report.ok)
      #expect(
        report.failures.first?.hasPrefix("stub ANY /events: response.events[1].data: ") == true, "\(report.failures)")
    }
  }

  @Test("answer a test's mistakes with what to do")
  func mistakes() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      let cases = [
        (#"{"event": {"data": ""}}"#, "path: missing; add the app's path"),
        (#"{"path": "events", "event": {"data": ""}}"#, "path: 'events' is not a path; begin with '/'"),
        (#"{"path": "/events"}"#, "event: missing; add an object with 'data', or \"close\": true"),
        (#"{"path": "/events", "event": {"dat": ""}}"#, "dat: unknown member; did you mean 'data'?"),
        (
          #"{"path": "/event", "event": {"data": ""}}"#,
          #"path: no stub for GET /event has the response .events() (in a mapping: {"events": []}); add one; "#
            + "stubs that do: GET /events"
        ),
        (#"{"path": "/events", "event": {"data": ""}, "timeoutSeconds": 61}"#, "timeoutSeconds: expected 0 to 60"),
      ]
      for (body, text) in cases {
        let (status, json) = try await environment.call("POST", "/events", body)
        #expect(status == 422)
        let detail = json["errors"]?.array?.first?["detail"]?.string ?? ""
        #expect(detail.contains(text), "\(detail)")
      }
      let late = try await environment.call(
        "POST", "/events", #"{"path": "/events", "event": {"data": ""}, "afterConnections": 1, "timeoutSeconds": 0}"#)
      #expect(late.status == 408)
      #expect(
        late.json["detail"]?.string
          == "no app is connected to /events; 0 connected so far; launch the app first, or wait longer")
      // Web pages are refused, as everywhere in this API.
      let page = try await ask(
        environment.mainPort,
        request(
          "POST", "/__admin/events", ["Host": "127.0.0.1:\(environment.mainPort)", "Origin": "https://evil.test"],
          #"{"path": "/events", "event": {"data": ""}}"#))
      #expect(page.status == 403)
      _ = await environment.end()
    }
  }

  @Test("do not prevent the environment from ending while a test waits for an app")
  func ending() async throws {
    try await withService { fixture in
      try fixture.writeMappings(stub)
      let environment = try fixture.mocked()
      async let waiting = environment.call(
        "POST", "/events", #"{"path": "/events", "event": {"data": ""}, "afterConnections": 1, "timeoutSeconds": 60}"#)
      while environment.stubs.conversations.waiting == 0 { await Task.yield() }
      _ = await environment.end()
      #expect(try await waiting.status == 408)
    }
  }
}
