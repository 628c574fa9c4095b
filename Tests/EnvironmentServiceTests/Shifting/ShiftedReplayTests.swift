import Basics
@testable import Transforms
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A replay with moved dates")
struct ShiftedReplayTests {
  // The two dates are eight years, one month and two and a half weeks apart.
  private static let recorded = "2018-10-08T09:00:00Z"
  private static let replayed = "2026-11-22T19:30:00Z"

  private static func at(
    _ instant: String, _ rules: ShiftRules? = nil
  ) -> (inout EnvironmentSpecification) -> Void {
    {
      $0.clock.start = RFC3339.parse(instant)
      $0.shift = rules
    }
  }

  private static func rules(_ text: String = "{}") throws -> ShiftRules { try ShiftRules(decoding: Data(text.utf8)) }

  private static let answer =
    #"{"at": "2018-10-08T09:00:00.120+00:00", "exp": 1538992800, "ms": 1538989200123, "day": "2018-10-08"}"#
  private static let moved =
    #"{"at": "2026-11-22T19:30:00.120+00:00", "exp": 1795379400, "ms": 1795375800123, "day": "2026-11-22"}"#

  private static func upstream() throws -> TestUpstream {
    try TestUpstream { request in
      let coded =
        request.target.hasPrefix("/coded") ? try ContentCodings(header: "gzip")?.encode(Array(answer.utf8)) : nil
      var headers: Headers = [
        "Content-Type": "application/json", "Last-Modified": "Mon, 08 Oct 2018 09:00:00 GMT",
        "Expires": "Mon, 08 Oct 2018 10:00:00 GMT", "X-Expires": "1538992800", "Cache-Control": "max-age=3600",
        "Set-Cookie": "sid=1; Max-Age=60; Expires=Mon, 08-Oct-2018 10:00:00 GMT", "Content-MD5": "AAAA",
      ]
      if coded != nil { headers.append("Content-Encoding", "gzip") }
      return Response(status: 200, headers: headers, body: .bytes(coded ?? Array(answer.utf8)))
    }
  }

  @Test("sends dates relative to the clock, matches requests that contain them, and leaves the recording unchanged")
  func whole() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        #expect(try await environment.get("/plain").text == Self.answer)
        _ = try await environment.get("/coded", ["Accept-Encoding": "gzip"])
        _ = try await environment.get("/since?at=2018-10-08T09%3A00%3A00Z&n=1538989200")
        _ = try await environment.get("/from?at=2010-01-01T00%3A00%3A00Z")
        _ = try await environment.post("/login", #"{"seen": "2018-10-08T09:00:00Z", "exp": 1538992800}"#)
      }
      let file = try fixture.read("c.har")
      let rules = try Self.rules(
        #"{"epochSeconds": ["$.exp", "header:X-Expires", "query:n"], "epochMilliseconds": ["$.ms"], "dates": ["$.day"]}"#
      )
      let report = try await fixture.run(.replay, with: Self.at(Self.replayed, rules)) { environment async throws in
        #expect(environment.notes.contains { $0.hasPrefix("dates in responses are moved by 2967 days 10:30:00") })
        for _ in 0..<2 {
          let plain = try await environment.get("/plain")
          #expect(plain.text == Self.moved)
          #expect(plain.headers["Content-Length"] == "\(Self.moved.utf8.count)")
          #expect(plain.headers["Last-Modified"] == "Sun, 22 Nov 2026 19:30:00 GMT")
          #expect(plain.headers["Expires"] == "Sun, 22 Nov 2026 20:30:00 GMT")
          #expect(plain.headers["X-Expires"] == "1795379400")
          #expect(plain.headers["Cache-Control"] == "max-age=3600")
          #expect(plain.headers["Set-Cookie"] == "sid=<redacted>; Max-Age=60; Expires=Sun, 22-Nov-2026 20:30:00 GMT")
          #expect(plain.headers["Content-MD5"] == nil)
        }
        let coded = try await environment.get("/coded", ["Accept-Encoding": "gzip"])
        #expect(coded.headers["Content-Encoding"] == "gzip")
        #expect(try CodedUpstream.decode(coded.body, "gzip") == Self.moved)
        #expect(try await environment.get("/since?at=2026-11-22T19%3A30%3A00Z&n=1795375800").status == 200)
        // The app's own dates, which are not from a response, match as recorded.
        #expect(try await environment.get("/from?at=2010-01-01T00%3A00%3A00Z").status == 200)
        let login = try await environment.post("/login", #"{"seen": "2026-11-22T19:30:00Z", "exp": 1795379400}"#)
        #expect(login.status == 200)
      }
      #expect(report.ok && report.requests.replayed == 6 && report.unused.isEmpty, "\(report)")
      #expect(try fixture.read("c.har") == file)
      // Another environment with the same cassette does not move dates.
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/plain").text == Self.answer)
      }
    }
  }

  @Test("describes a miss in the recording's time")
  func miss() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        _ = try await environment.get("/since?at=2018-10-08T09:00:00Z&page=1")
      }
      try await fixture.run(.replay, with: Self.at(Self.replayed, try Self.rules())) { environment async throws in
        let miss = try await environment.get("/since?at=2026-11-22T19:30:00Z&page=2")
        #expect(miss.status == 501)
        #expect(miss.text.contains("page") && !miss.text.contains("2026"), "\(miss.text)")
        #expect(
          miss.text.contains("moved back by 2967 days 10:30:00, to the recording's time"),
          "\(miss.text)")
      }
    }
  }

  @Test("moves dates in long bodies and streams while they are sent")
  func streams() async throws {
    let line = #"{"at":"2018-10-08T09:00:00Z","n":1}"# + "\n"
    let counts = ["/held": 20_000, "/long": 40_000, "/events": 3]
    let upstream = try TestUpstream { request in
      let pipe = BytePipe()
      let count = counts[request.target] ?? 0
      let isStream = request.target == "/events"
      Task {
        for _ in 0..<count { try await pipe.write(Array((isStream ? "data: \(line)\n" : line).utf8)) }
        pipe.finish()
      }
      return Response(
        status: 200, headers: ["Content-Type": isStream ? "text/event-stream" : "text/plain"],
        body: .stream(pipe, length: isStream ? nil : count * line.utf8.count))
    }
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        for target in counts.keys { #expect(try await environment.get(target).status == 200) }
      }
      try await fixture.run(.replay, with: Self.at(Self.replayed, try Self.rules())) { environment async throws in
        let moved = line.replacing(Self.recorded, with: Self.replayed)
        let held = try await environment.get("/held")
        #expect(held.headers["Content-Length"] == "720000")
        #expect(held.text == String(repeating: moved, count: 20_000))
        #expect(try await environment.get("/long").text == String(repeating: moved, count: 40_000))
        #expect(try await environment.get("/events").text == String(repeating: "data: \(moved)\n", count: 3))
      }
    }
  }

  @Test("holds early requests in strict order, even with the app's own dates", .timeLimit(.minutes(2)))
  func strict() async throws {
    let upstream = try TestUpstream { _ in text("ok") }
    try await withService(upstream) { fixture in
      let own = "/from?at=2010-01-01T00:00:00Z"
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        _ = try await environment.get("/first")
        _ = try await environment.get(own)
      }
      let report = try await fixture.run(
        .replay,
        with: {
          Self.at(Self.replayed, ShiftRules())(&$0)
          $0.order = .strict
        }
      ) { environment async throws in
        let isAnswered = Guarded(false)
        async let early = {
          defer { isAnswered.withLock { $0 = true } }
          return try await environment.get(own)
        }()
        while environment.turns.waiting == 0, !isAnswered.withLock({ $0 }) { await Task.yield() }
        #expect(try await environment.get("/first").status == 200)
        let answer = try await early
        #expect(answer.status == 200)
      }
      #expect(report.ok && report.requests.replayed == 2, "\(report)")
    }
  }

  @Test(
    "matches bodies of more than 1 MiB by their moved dates, and unchanged",
    arguments: ["application/json", "application/x-www-form-urlencoded", "text/plain", "application/xml", ""])
  func longBodies(type: String) async throws {
    let upstream = try TestUpstream { request in
      _ = try await request.body.collect(upTo: 1 << 24)
      return text(request.target)
    }
    let filler = String(repeating: "x", count: 1_200_000)
    func post(_ environment: Environment, _ target: String, _ at: String, _ number: Int = 0) async throws -> Int {
      let body =
        switch type {
        case "application/json": #"{"a": "\#(filler)", "exp": \#(number), "at": "\#(at)"}"#
        case "application/x-www-form-urlencoded": "a=\(filler)&exp=\(number)&at=\(at)"
        default: "\(at) \(filler) \(at)"
        }
      let port = environment.upstreams[0].port
      return try await onThread {
        let client = try RawClient(port: port)
        let typed = type.isEmpty ? "" : "Content-Type: \(type)\r\n"
        try client.send(
          "POST \(target) HTTP/1.1\r\nHost: localhost\r\n\(typed)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return try client.receiveAnswer().status
      }
    }
    let own = "2010-01-01T00:00:00Z"
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        #expect(try await post(environment, "/a?at=\(Self.recorded)", Self.recorded, 1_538_989_200) == 200)
        #expect(try await post(environment, "/b?at=\(own)", own) == 200)
      }
      let rules = try Self.rules(#"{"epochSeconds": ["$.exp", "form:exp"]}"#)
      let report = try await fixture.run(.replay, with: Self.at(Self.replayed, rules)) { environment async throws in
        #expect(try await post(environment, "/a?at=\(Self.replayed)", Self.replayed, 1_795_375_800) == 200)
        #expect(try await post(environment, "/b?at=\(own)", own) == 200)
        #expect(try await post(environment, "/b?at=\(own)", Self.replayed) == 501)
      }
      #expect(report.requests.replayed == 2 && report.unused.isEmpty, "\(report)")
    }
  }

  @Test("moves declared query items in the URLs of responses, so that the app's next request matches")
  func links() async throws {
    let upstream = try TestUpstream { request in
      var answer = text(#"{"next": "/list?page=2&since=1538989200"}"#, type: "application/json")
      answer.headers.append("Location", "/list?since=1538989200")
      answer.headers.append("Link", "</list?page=3&since=1538989200>; rel=\"next\"")
      return answer
    }
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        for target in ["/", "/list?since=1538989200", "/list?page=2&since=1538989200"] {
          #expect(try await environment.get(target).status == 200)
        }
      }
      let rules = try Self.rules(#"{"epochSeconds": ["query:since"]}"#)
      let report = try await fixture.run(.replay, with: Self.at(Self.replayed, rules)) { environment async throws in
        let first = try await environment.get("/")
        #expect(first.headers["Location"] == "/list?since=1795375800")
        #expect(first.headers["Link"] == "</list?page=3&since=1795375800>; rel=\"next\"")
        #expect(first.text == #"{"next": "/list?page=2&since=1795375800"}"#)
        #expect(try await environment.get("/list?since=1795375800").status == 200)
        #expect(try await environment.get("/list?page=2&since=1795375800").status == 200)
      }
      #expect(report.ok && report.unused.isEmpty, "\(report)")
    }
  }

  @Test("signs tokens again if there is a key, and restores them in requests")
  func tokens() async throws {
    let key = try TokenKey("a secret", keyID: nil)
    func encode(_ bytes: [UInt8]) -> String {
      Data(bytes).base64EncodedString().replacing("=", with: "").replacing("+", with: "-").replacing("/", with: "_")
    }
    func token(_ claims: String) -> String {
      let message = encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + encode(Array(claims.utf8))
      return message + "." + encode(key.sign("HS256", keyID: nil, Array(message.utf8)) ?? [])
    }
    let recorded = token(#"{"exp":1538992800}"#)
    let moved = token(#"{"exp":1795379400}"#)
    let upstream = try TestUpstream { _ in text(#"{"token": "\#(recorded)"}"#, type: "application/json") }
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        _ = try await environment.get("/token")
        _ = try await environment.post("/refresh", #"{"token": "\#(recorded)"}"#)
      }
      let rules = try Self.rules(#"{"jwt": [{"text": "a secret"}]}"#)
      let report = try await fixture.run(.replay, with: Self.at(Self.replayed, rules)) { environment async throws in
        #expect(try await environment.get("/token").text == #"{"token": "\#(moved)"}"#)
        #expect(try await environment.post("/refresh", #"{"token": "\#(moved)"}"#).status == 200)
      }
      #expect(report.ok)
      // Without a key, the token is not changed.
      try await fixture.run(.replay, with: Self.at(Self.replayed, try Self.rules())) { environment async throws in
        #expect(try await environment.get("/token").text == #"{"token": "\#(recorded)"}"#)
      }
    }
  }

  @Test("follows the machine's time if moving is requested and no clock is set")
  func system() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        _ = try await environment.get("/plain")
      }
      let before = Date().addingTimeInterval(-1)
      try await fixture.run(.replay, with: { $0.shift = ShiftRules() }) { environment async throws in
        #expect(environment.clock.kind == .system)
        let answer = try await environment.get("/plain")
        let text = try #require(answer.text.split(separator: "\"").first { $0.contains("T") })
        let at = try #require(RFC3339.parse(String(text)))
        #expect(at >= before.addingTimeInterval(-1) && at <= Date().addingTimeInterval(1), "\(text)")
      }
    }
  }

  @Test("uses the places in the project file, and moves nothing if the clock is frozen at the recording date")
  func file() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        _ = try await environment.get("/plain")
      }
      try fixture.project(dates: #"{"dates": ["$.day"]}"#)
      try await fixture.run(.replay, with: { $0.clock.start = RFC3339.parse(Self.replayed) }) {
        environment async throws in
        #expect(try await environment.get("/plain").text.contains(#""day": "2026-11-22""#))
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(environment.notes.contains { $0.hasPrefix("dates stay as recorded, since the clock is frozen") })
        #expect(try await environment.get("/plain").text == Self.answer)
      }
    }
  }

  @Test("is refused in extend, and does not change recordings")
  func modes() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded, try Self.rules())) {
        environment async throws in
        #expect(try await environment.get("/plain").text == Self.answer)
      }
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.extend, ["api": upstream.origin]) { $0.shift = ShiftRules() }
      }
      #expect(error?.message.contains("use mode replay") == true)
    }
  }

  @Test("continues with the same offset after its process was killed")
  func restored() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.at(Self.recorded)) {
        environment async throws in
        _ = try await environment.get("/plain")
      }
      let rules = try Self.rules(#"{"epochSeconds": ["$.exp"], "epochMilliseconds": ["$.ms"], "dates": ["$.day"]}"#)
      try await fixture.twoLives(.replay, [:], Self.at(Self.replayed, rules)) { environment async throws in
        #expect(try await environment.get("/plain").text == Self.moved)
      } after: { environment async throws in
        #expect(try await environment.get("/plain").text == Self.moved)
      }
    }
  }
}
