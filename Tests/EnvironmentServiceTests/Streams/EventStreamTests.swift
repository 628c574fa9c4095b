import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Diorama
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

private func streamHead(_ type: String = "text/event-stream") -> String {
  "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
}

private func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }

/// An app that reads a stream chunk by chunk.
private struct Listener {
  let client: RawClient

  init(_ environment: Environment, _ headers: Headers = [:]) async throws {
    client = try await onThread {
      let client = try RawClient(port: environment.upstreams[0].port)
      try client.send(request("GET", "/events", headers))
      _ = try client.receiveHead()
      return client
    }
  }

  /// The next chunk; nil at the end.
  func next() async throws -> String? {
    try await onThread { [client] in try client.receiveChunk().map { String(decoding: $0, as: UTF8.self) } }
  }

  func rest() async throws -> [String] {
    var all: [String] = []
    while let chunk = try await next() { all.append(chunk) }
    return all
  }
}

@Suite("Event streams")
struct EventStreamTests {
  /// Any type of response may be a stream.
  private static let types = [
    "text/event-stream", "application/json", "application/json-seq", "text/plain",
    "multipart/x-mixed-replace; boundary=b", "application/octet-stream",
  ]

  private let events = ["data: a\n\n", "id: 2\ndata: b\n\n", "data: c\n\n"]

  @Test("deliver each event before the upstream sends the next, and replay them one by one")
  func live() async throws {
    let hasSeen = [Event(), Event()]
    let upstream = try TestUpstream { [events] _ in
      let pipe = BytePipe()
      Task {
        try await pipe.write(Array(events[0].utf8))
        for (seen, event) in zip(hasSeen, events.dropFirst()) {
          try await seen.wait()
          try await pipe.write(Array(event.utf8))
        }
        pipe.finish()
      }
      return Response(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(pipe, length: nil))
    }
    try await withService(upstream) { fixture in
      let report = try await fixture.record(["api": upstream.origin]) { environment async throws in
        let listener = try await Listener(environment)
        #expect(try await listener.next() == events[0])
        hasSeen[0].happen()
        #expect(try await listener.next() == events[1])
        hasSeen[1].happen()
        #expect(try await listener.rest() == [events[2]])
      }
      #expect(report.requests.recorded == 1)
      let response = try #require(try fixture.cassette().interactions.first).response
      #expect(response.parts.map(\.count) == events.map(\.utf8.count))
      #expect(response.end == .whole)
      try await fixture.run(.replay) { environment async throws in
        #expect(try await Listener(environment).rest() == events)
      }
    }
  }

  @Test("replay events one by one even if they arrived together, with the app's addresses, coded or not")
  func together() async throws {
    let upstream = try TestUpstream { request in
      let bytes = Array("data: http://\(request.headers["Host"] ?? "")/a\n\ndata: b\n\n".utf8)
      let coded = try #require(ContentCodings(header: "gzip")).encode(bytes)
      return Response(
        status: 200, headers: ["Content-Type": "text/event-stream", "Content-Encoding": "gzip"],
        body: .stream(BytePipe(holding: coded), length: nil))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        let answer = try await environment.get("/events", ["Accept-Encoding": "gzip"])
        #expect(
          try CodedUpstream.decode(answer.body, "gzip")
            == "data: \(environment.endpoint("api") ?? "")/a\n\ndata: b\n\n")
      }
      try await fixture.run(.replay) { environment async throws in
        let first = "data: \(environment.endpoint("api") ?? "")/a\n\n"
        let chunks = try await Listener(environment).rest()
        #expect(chunks == [first, "data: b\n\n"])
        let answer = try await environment.get("/events", ["Accept-Encoding": "gzip"])
        #expect(answer.headers["Content-Encoding"] == "gzip")
        #expect(try CodedUpstream.decode(answer.body, "gzip") == first + "data: b\n\n")
      }
    }
  }

  @Test("that are too large for the HAR are replayed from a file, event by event")
  func large() async throws {
    let large = "data: " + String(decoding: noise(300_000), as: UTF8.self) + "\n\n"
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write(streamHead() + chunk("data: a\n\n") + chunk(large) + chunk("data: b\n\n") + "0\r\n\r\n")
    }) { fixture, upstream in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        #expect(try await environment.get("/events").text == "data: a\n\n\(large)data: b\n\n")
      }
      #expect(fixture.bodies.count == 1)
      try await fixture.run(.replay) { environment async throws in
        let chunks = try await Listener(environment).rest()
        #expect(chunks.first == "data: a\n\n")
        #expect(chunks.last == "data: b\n\n")
        #expect(chunks.dropFirst().dropLast().joined() == large)
      }
    }
  }

  @Test("that the upstream cuts off are recorded and replayed as cut off")
  func cut() async throws {
    try await withService(script: { [events] connection in
      _ = try connection.readHead()
      try connection.write(streamHead() + chunk(events[0]))
    }) { fixture, upstream in
      let use: (Environment) async throws -> Void = { environment async throws in
        let listener = try await Listener(environment)
        #expect(try await listener.next() == events[0])
        await #expect(throws: RawClient.Failure.self) { try await listener.next() }
      }
      #expect(try await fixture.record(["api": upstream.origin], use).requests.recorded == 1)
      #expect(try fixture.cassette().interactions.first?.response.end == .cut)
      try await fixture.run(.replay, use: use)
    }
  }

  @Test(
    "that the app leaves are recorded up to there, and stay open in replay until the environment ends",
    arguments: types)
  func left(type: String) async throws {
    let isClosed = Event()
    try await withService(script: { [events] connection in
      _ = try connection.readHead()
      try connection.write(streamHead(type) + chunk(events[0]))
      _ = connection.readToEnd()
      isClosed.happen()
    }) { fixture, upstream in
      let report = try await fixture.record(["api": upstream.origin]) { environment async throws in
        let listener = try await Listener(environment)
        #expect(try await listener.next() == events[0])
        listener.client.close()
        // The upstream sees the disconnect at once.
        try await isClosed.wait()
      }
      #expect(report.ok && report.requests.recorded == 1)
      #expect(report.requests.failed == 0)
      #expect(try fixture.cassette().interactions.first?.response.end == .open)
      let environment = try fixture.provision(.replay)
      let listener = try await Listener(environment)
      #expect(try await listener.next() == events[0])
      #expect(!listener.client.hasMore)
      // The end does not wait for the stream, whatever the grace period.
      _ = await environment.end(grace: .seconds(100_000))
      await #expect(throws: RawClient.Failure.self) { try await listener.next() }
    }
  }

  @Test("end with the recording, and keep what has arrived", arguments: types)
  func ended(type: String) async throws {
    try await withService(script: { [events] connection in
      _ = try connection.readHead()
      try connection.write(streamHead(type) + chunk(events[0]))
      _ = connection.readToEnd()
    }) { fixture, upstream in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      let listener = try await Listener(environment)
      #expect(try await listener.next() == events[0])
      let (report, sealed) = await environment.end(grace: .seconds(100_000))
      #expect(report.requests.recorded == 1)
      #expect(try sealed.get()?.interactions == 1)
      let response = try #require(try fixture.cassette().interactions.first).response
      #expect(response.end == .open)
      #expect(response.body == .bytes(Array(events[0].utf8)))
    }
  }

  @Test("are any responses without a length that come with pauses, and keep their parts if redaction changes them")
  func paused() async throws {
    let lines = ["{\"created\":true}\n", "{\"password\":\"very secret words\"}\n", "{\"a\":1}\n"]
    let hasSeen = [Event(), Event()]
    let upstream = try TestUpstream { _ in
      let pipe = BytePipe()
      Task {
        try await pipe.write(Array(lines[0].utf8))
        for (seen, line) in zip(hasSeen, lines.dropFirst()) {
          try await seen.wait()
          // The pause that makes it a stream.
          try await Task.sleep(for: .milliseconds(60))
          try await pipe.write(Array(line.utf8))
        }
        pipe.finish()
      }
      return Response(status: 200, headers: ["Content-Type": "application/json"], body: .stream(pipe, length: nil))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        let listener = try await Listener(environment)
        #expect(try await listener.next() == lines[0])
        hasSeen[0].happen()
        #expect(try await listener.next() == lines[1])
        hasSeen[1].happen()
        #expect(try await listener.rest() == [lines[2]])
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(
          try await Listener(environment).rest() == [lines[0], "{\"password\":\"<redacted>\"}\n", lines[2]])
      }
    }
  }

  @Test("that follow the timeline deliver an event when the clock is moved to it, and not before")
  func timeline() async throws {
    try await withService { fixture in
      let body = events.joined()
      var response = RecordedResponse(
        status: 200, reason: "OK", headers: ["Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"],
        body: .bytes(Array(body.utf8)))
      response.parts = zip(events, [0, 30_000, 90_000]).map { BodyPart(milliseconds: $1, count: $0.utf8.count) }
      let interaction = Interaction(
        upstream: "api", startedAt: "2018-10-08T09:00:00.000Z", milliseconds: 90_000,
        request: RecordedRequest(method: "GET", url: "http://a.test/events", headers: [:], body: .empty),
        response: response)
      let header = CassetteHeader(
        recordedAt: "2018-10-08T09:00:00Z",
        upstreams: [.init(name: "api", origin: try Origin(parsing: "http://a.test"))])
      try fixture.write(
        String(decoding: HAR.write(Cassette(header: header, interactions: [interaction])), as: UTF8.self), to: "c.har")
      try await fixture.run(.replay, with: { $0.streams = .timeline }) { environment async throws in
        let clock = DioramaClock(environment.state.withLock { $0.live.state.timeline })
        let listener = try await Listener(environment)
        #expect(try await listener.next() == events[0])
        for (event, seconds) in [(events[1], 30), (events[2], 60)] {
          // It only waits for the clock.
          try await clock.waitForSleepers(1)
          _ = try await environment.moveClock(
            .advance(.milliseconds(seconds * 1000 - 1)), afterSleepers: nil, timeout: .seconds(60))
          #expect(clock.sleeperCount == 1)
          #expect(!listener.client.hasMore)
          _ = try await environment.moveClock(.advance(.milliseconds(1)), afterSleepers: nil, timeout: .seconds(60))
          #expect(try await listener.next() == event)
        }
        #expect(try await listener.next() == nil)
      }
      // By default nothing waits.
      try await fixture.run(.replay) { environment async throws in
        #expect(try await Listener(environment).rest() == events)
      }
    }
  }
}
