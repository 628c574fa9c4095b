@testable import Transforms
import Cassettes
import ControlAPI
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Interactions that are cut off")
struct BrokenOffTests {
  /// Response heads, each with the beginning of its body.
  private static let heads = [
    "a text with a length": "Content-Type: text/plain\r\nContent-Length: 5000\r\n",
    "a binary with a length": "Content-Type: image/png\r\nContent-Length: 5000\r\n",
    "a large body": "Content-Type: image/png\r\nContent-Length: 5000000\r\n",
    "a large text": "Content-Type: text/plain\r\nContent-Length: 5000000\r\n",
  ]

  @Test(
    "by the upstream are cut off for the app, counted as failed and not recorded",
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
      // Cut off, or a status if no part of the response had been sent: never half a response that looks complete.
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

  @Test(
    "in a response without a length are cut off for the app, and fail the recording unless that is permitted",
    arguments: [false, true])
  func cutChunks(isPermitted: Bool) async throws {
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    }) { fixture, upstream in
      let environment = try fixture.provision(.record, ["api": upstream.origin]) {
        $0.policies = CassettePolicies()
        $0.policies?.allowsUpstreamFailures = isPermitted
      }
      await #expect(throws: RawClient.Failure.self) { try await environment.get("/") }
      let (report, _) = await environment.end()
      #expect(report.ok == isPermitted)
      #expect(report.recording?.outcome == (isPermitted ? .written : .aside))
      #expect(report.requests.recorded == 1)
      let failure = try #require(report.upstreamFailures?.first)
      #expect(failure.url == "\(upstream.origin)/" && failure.cause.hasPrefix("cut off, and recorded up to there: "))
      guard isPermitted else { return }
      try await fixture.run(.replay) { environment async throws in
        await #expect(throws: RawClient.Failure.self) { try await environment.get("/") }
      }
    }
  }

  @Test("because the upstream refuses are a 502 with a problem document, and count as failed")
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
    "because a field is invalid are a 502 that names it, and are not recorded",
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
    "by the app close the upstream's connection and fail the recording, which lacks them, unless that is permitted",
    arguments: ["before the head", "in a binary", "in a text"], [Mode.record, .extend, .proxy])
  func appLeaves(moment: String, mode: Mode) async throws {
    // One of the three shows the permission.
    let isPermitted = moment == "in a text"
    let hasAsked = Event()
    let isClosed = Event()
    try await withService(script: { connection in
      _ = try connection.readHead()
      switch moment {
      case "in a binary":
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
      case "in a text":
        try connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhello")
      default: break
      }
      hasAsked.happen()
      _ = connection.readToEnd()
      isClosed.happen()
    }) { fixture, upstream in
      let environment = try fixture.provision(mode, ["api": upstream.origin]) {
        $0.policies = CassettePolicies()
        $0.policies?.allowsUpstreamFailures = isPermitted
      }
      let client = try RawClient(port: environment.upstreams[0].port)
      try client.send(request("GET", "/a"))
      try await hasAsked.wait()
      if moment == "in a binary" { _ = try await onThread { try client.receiveHead() } }
      client.close()
      try await isClosed.wait()
      let (report, _) = await environment.end()
      #expect(report.requests.left == 1)
      #expect(report.requests.failed == 0)
      #expect(report.requests.total == 1)
      #expect(report.requests.recorded == 0)
      #expect(report.ok == (mode == .proxy || isPermitted))
      #expect(report.brokenOff?.map(\.url) == ["\(upstream.origin)/a"])
      #expect(
        ReportText(report).lines().contains {
          $0.hasPrefix("cancelled by the app: GET \(upstream.origin)/a: the app disconnected before ")
        })
    }
  }

  @Test("by the app during its upload are not recorded", arguments: [Mode.record, .extend])
  func appLeavesUploading(mode: Mode) async throws {
    let hasBegun = Event()
    let isClosed = Event()
    try await withService(script: { connection in
      _ = try connection.readHead()
      hasBegun.happen()
      _ = connection.readToEnd()
      isClosed.happen()
    }) { fixture, upstream in
      // With an existing cassette, `extend` holds the body back to match it.
      try fixture.write(
        #"{"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": []}}"#, to: "c.har")
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let client = try RawClient(port: environment.upstreams[0].port)
      // More than the system buffers (36 MB since Linux 6.16): once it is sent, the server has started to read it.
      try await onThread {
        try client.send(
          "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 60000000\r\n\r\n")
        try client.send(mode == .extend ? [UInt8](repeating: 0x78, count: 50_000_000) : [0x78])
      }
      if mode == .record { try await hasBegun.wait() }
      client.close()
      if mode == .record { try await isClosed.wait() }
      let (report, _) = await environment.end()
      let told = environment.journalPage(after: 0, limit: 10).entries.map {
        "\($0.kind): \($0.detail ?? "")"
      }
      #expect(told.first?.hasPrefix("left: the app disconnected before ") == true, "\(told)")
      #expect(
        ReportText(report).lines().first?.contains("1 request (1 cancelled by the app)") == true)
      #expect(report.requests.left == 1)
      #expect(report.requests.failed == 0)
      #expect(report.requests.total == 1)
      #expect(report.requests.recorded == 0)
      // A replay needs no response to an upload that the app cancels again.
      #expect(report.ok && report.brokenOff == nil)
    }
  }

  @Test("in their upload by an early response are recorded with the whole request")
  func earlyAnswer() async throws {
    let body = String(decoding: noise(500_000), as: UTF8.self)
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
      connection.endWriting()
      // If it were closed with unread bytes, the connection would be reset, and data on its way would be lost.
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
