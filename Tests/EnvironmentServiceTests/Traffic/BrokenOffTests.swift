@testable import Transforms
import Cassettes
import ControlAPI
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Exchanges that break off")
struct BrokenOffTests {
  /// Heads of answers that end after a part of their body; the body's beginning follows each.
  private static let heads = [
    "a text with a length": "Content-Type: text/plain\r\nContent-Length: 5000\r\n",
    "a binary with a length": "Content-Type: image/png\r\nContent-Length: 5000\r\n",
    "a large body": "Content-Type: image/png\r\nContent-Length: 5000000\r\n",
    "a large text": "Content-Type: text/plain\r\nContent-Length: 5000000\r\n",
  ]

  @Test(
    "an upstream that is cut half-way cuts the app off, is counted as failed and leaves nothing recorded",
    arguments: heads.keys.sorted(), [Mode.record, .proxy])
  func cut(kind: String, mode: Mode) async throws {
    let head = try #require(Self.heads[kind])
    let size = kind.contains("large") ? 400_000 : 1000
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\n\(head)\r\n" + String(repeating: "x", count: size))
    }) { fixture, upstream in
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let answer = try? await environment.get("/")
      // Cut off, or told by a status where nothing of the answer had left yet: never half of it for the whole.
      #expect(answer == nil || answer?.status == 502)
      let (report, sealed) = await environment.end()
      _ = try sealed.get()
      #expect(report.requests.failed == 1)
      #expect(report.requests.total == 1)
      #expect(report.requests.recorded == 0)
      #expect(!fixture.location().exists)
      #expect(!fixture.exists("c.bodies"))
    }
  }

  @Test("a chunked answer without its end cuts the app off and is not recorded")
  func cutChunks() async throws {
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    }) { fixture, upstream in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      await #expect(throws: RawClient.Failure.self) { try await environment.get("/") }
      let (report, _) = await environment.end()
      #expect(report.requests.failed == 1)
      #expect(report.requests.recorded == 0)
    }
  }

  @Test("an upstream that refuses answers 502 with a problem, and counts as failed")
  func refused() async throws {
    let silent = try SilentPort()
    let gone = silent.origin
    try await withService { fixture in
      let closed = try ScriptedUpstream { _ in }
      let origin = closed.origin
      closed.stop()
      let environment = try fixture.provision(.record, ["api": origin, "other": gone])
      let answer = try await environment.get("/x")
      #expect(answer.status == 502)
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      #expect(answer.text.contains("\(origin)/x"))
      let (report, _) = await environment.end()
      #expect(report.requests.failed == 1)
      #expect(report.requests.total == 1)
    }
  }

  @Test(
    "an answer with a field that no message can have is a 502 that names it, and is not recorded",
    arguments: [Mode.record, .proxy])
  func badField(mode: Mode) async throws {
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nX Bad: 1\r\nContent-Length: 2\r\n\r\nok")
    }) { fixture, upstream in
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let answer = try await environment.get("/")
      #expect(answer.status == 502)
      #expect(answer.text.contains("'X Bad'"))
      let (report, _) = await environment.end()
      #expect(report.requests.failed == 1 && report.requests.total == 1)
    }
  }

  @Test(
    "when the app leaves, the upstream's connection is closed and nothing is recorded",
    arguments: ["before the head", "in a stream", "in a text"], [Mode.record, .proxy])
  func appLeaves(moment: String, mode: Mode) async throws {
    let hasAsked = Event()
    let isClosed = Event()
    try await withService(script: { connection in
      _ = try connection.readHead()
      switch moment {
      case "in a stream":
        try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      case "in a text":
        try connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhello")
      default: break
      }
      hasAsked.happen()
      _ = connection.readToEnd()
      isClosed.happen()
    }) { fixture, upstream in
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let client = try RawClient(port: environment.upstreams[0].port)
      try client.send(request("GET", "/"))
      try await hasAsked.wait()
      if moment == "in a stream" { _ = try await onThread { try client.receiveHead() } }
      client.close()
      try await isClosed.wait()
      let (report, _) = await environment.end()
      #expect(report.requests.left == 1)
      #expect(report.requests.failed == 0)
      #expect(report.requests.total == 1)
      #expect(report.requests.recorded == 0)
    }
  }

  @Test("an app that leaves in its upload leaves nothing recorded", arguments: [Mode.record, .extend])
  func appLeavesUploading(mode: Mode) async throws {
    let hasBegun = Event()
    let isClosed = Event()
    try await withService(script: { connection in
      _ = try connection.readHead()
      hasBegun.happen()
      _ = connection.readToEnd()
      isClosed.happen()
    }) { fixture, upstream in
      // A stored cassette makes `extend` hold the body to match it.
      try fixture.write(
        #"{"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": []}}"#, to: "c.har")
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let client = try RawClient(port: environment.upstreams[0].port)
      // More than the system holds for us: once it is sent, the exchange has begun.
      try await onThread {
        try client.send(
          "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 30000000\r\n\r\n")
        if mode == .extend { try client.send([UInt8](repeating: 0x78, count: 20_000_000)) }
      }
      if mode == .record {
        try client.send("some")
        try await hasBegun.wait()
        client.close()
        try await isClosed.wait()
      } else {
        client.close()
      }
      let (report, _) = await environment.end()
      let told = environment.journalPage(after: 0, limit: 10).entries.map {
        "\($0.kind): \($0.detail ?? "")"
      }
      #expect(told.first?.hasPrefix("left: the app left before ") == true, "\(told)")
      #expect(
        ReportText(report).lines().first?.contains("1 request (1 broken off by the app)") == true)
      #expect(report.requests.left == 1)
      #expect(report.requests.failed == 0)
      #expect(report.requests.total == 1)
      #expect(report.requests.recorded == 0)
    }
  }

  @Test("the whole request is recorded, also when the upstream answers before it has read it")
  func earlyAnswer() async throws {
    let body = String(decoding: noise(500_000), as: UTF8.self)
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
      connection.endWriting()
      // Closed with bytes unread, the connection would be reset, and with it goes what is still on its way.
      while !(try connection.readSome(upTo: 65_536)).isEmpty {}
    }) { fixture, upstream in
      let post = request("POST", "/", ["Content-Type": "image/png"], body)
      try await fixture.record(["api": upstream.origin]) {
        let answer = try await ask($0.upstreams[0].port, post)
        #expect(answer.status == 403)
      }
      #expect(try fixture.cassette().interactions.first?.request.body.length == 500_000)
      let environment = try fixture.provision(.replay)
      #expect(try await ask(environment.upstreams[0].port, post).status == 403)
    }
  }
}
