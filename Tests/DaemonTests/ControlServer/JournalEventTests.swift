import Basics
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Journal event stream", .timeLimit(.minutes(5)))
struct JournalEventTests {
  private static let accept = "Accept: text/event-stream"

  /// Reads until the text appears or the stream ends.
  private func read(_ client: RawClient, until text: String) async throws -> String {
    try await onThread {
      var all: [UInt8] = []
      while !String(decoding: all, as: UTF8.self).contains(text) {
        let bytes = try client.receive()
        if bytes.isEmpty { break }
        all += bytes
      }
      return String(decoding: all, as: UTF8.self)
    }
  }

  private func open(_ served: RunningControlServer, _ target: String, _ headers: [String] = []) async throws
    -> RawClient
  {
    let port = served.port
    let request = served.request("GET", target, headers: [Self.accept] + headers)
    return try await onThread {
      let client = try RawClient(port: port)
      try client.send(request)
      return client
    }
  }

  @Test("sends entries with their numbers as they occur, and ends with the environment")
  func stream() async throws {
    let operations = FakeOperations()
    operations.state.withLock { $0.entries = [FakeOperations.entry(1), FakeOperations.entry(2)] }
    try await withControlServer(operations) { served in
      let client = try await open(served, "/v1/environments/e1/journal?after=1")
      let first = try await read(client, until: "id: 2")
      #expect(first.contains("Content-Type: text/event-stream"))
      #expect(first.contains("event: entry") && !first.contains("id: 1\n"))
      operations.state.withLock { $0.entries.append(FakeOperations.entry(3)) }
      _ = try await read(client, until: "id: 3")
      operations.state.withLock { state in
        state.entries.append(FakeOperations.entry(4))
        state.isOver = true
      }
      let last = try await read(client, until: "0\r\n\r\n")
      #expect(last.contains("id: 4"))
      #expect(last.contains("event: end\ndata: {\"last\":4,\"report\":\"/v1/environments/e1/report\"}\n\n"))
    }
  }

  @Test("resumes after Last-Event-ID")
  func resume() async throws {
    let operations = FakeOperations()
    operations.state.withLock { $0.entries = (1...5).map(FakeOperations.entry) }
    try await withControlServer(operations) { served in
      let client = try await open(served, "/v1/environments/e1/journal?after=0", ["Last-Event-ID: 3"])
      let text = try await read(client, until: "id: 5")
      #expect(text.contains("id: 4") && !text.contains("id: 3\n"))
    }
  }

  @Test("sends comments while nothing happens")
  func keepAlive() async throws {
    try await withControlServer(keepAlive: .milliseconds(10)) { served in
      let client = try await open(served, "/v1/environments/e1/journal")
      let text = try await read(client, until: ": nothing new")
      #expect(text.contains("retry: 1000"))
    }
  }

  @Test("ends when the client disconnects")
  func departure() async throws {
    try await withControlServer { served in
      let client = try await open(served, "/v1/environments/e1/journal")
      _ = try await read(client, until: "retry")
      #expect(served.server.streams.count == 1)
      client.close()
      try await until { served.server.streams.count == 0 }
    }
  }

  @Test("ends without an end event when the daemon stops")
  func closing() async throws {
    try await withControlServer { served in
      let client = try await open(served, "/v1/environments/e1/journal")
      _ = try await read(client, until: "retry")
      served.server.close()
      let rest = try await read(client, until: "0\r\n\r\n")
      #expect(!rest.contains("event: end"))
    }
  }

  @Test("returns 404 for an unknown environment")
  func unknown() async throws {
    let answer = try await withControlServer {
      try await $0.call("GET", "/v1/environments/e2/journal", headers: [Self.accept])
    }
    #expect(answer.status == 404 && !answer.detail.isEmpty)
  }

  @Test("encodes an entry in one data line")
  func lines() {
    let event = ServerSentEvent(id: 7, name: "entry", data: #"{"a":"b"}"#)
    #expect(String(decoding: event.bytes, as: UTF8.self) == "id: 7\nevent: entry\ndata: {\"a\":\"b\"}\n\n")
  }

  @Test("is sent only to clients that accept it")
  func accept() {
    #expect(ServerSentEvent.isAskedFor(["Accept": "text/event-stream"]))
    #expect(ServerSentEvent.isAskedFor(["Accept": "application/json;q=0.5, Text/Event-Stream;q=1"]))
    #expect(!ServerSentEvent.isAskedFor(["Accept": "*/*"]))
    #expect(!ServerSentEvent.isAskedFor([:]))
  }
}

@Suite("Journal pages", .timeLimit(.minutes(5)))
struct JournalPageTests {
  @Test("contain the entries after a number, up to the limit, and report whether more follow")
  func pages() async throws {
    let operations = FakeOperations()
    operations.state.withLock { $0.entries = (1...150).map(FakeOperations.entry) }
    try await withControlServer(operations) { served in
      let first = try await served.call("GET", "/v1/environments/e1/journal").json
      #expect(first["entries"]?.array?.count == 100 && first["last"]?.int == 100 && first["more"]?.bool == true)
      let next = try await served.call("GET", "/v1/environments/e1/journal?after=100&limit=1000").json
      #expect(next["entries"]?.array?.count == 50 && next["last"]?.int == 150 && next["more"]?.bool == false)
      let none = try await served.call("GET", "/v1/environments/e1/journal?after=150&limit=1").json
      #expect(none["entries"]?.array?.isEmpty == true && none["last"]?.int == 150)
    }
  }
}
