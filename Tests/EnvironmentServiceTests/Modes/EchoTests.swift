import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Echoes in replay")
struct EchoTests {
  private static let old = "550e8400-e29b-41d4-a716-446655440000"
  private static let new = "123e4567-e89b-12d3-a456-426614174000"

  /// Answers JSON-RPC with the id of the call, plain, compressed, as events, large or chunked; redirects `/authorize`.
  private static func upstream() throws -> TestUpstream {
    try TestUpstream { request in
      if request.target.hasPrefix("/authorize") {
        let query = request.target.split(separator: "?")[1]
        return Response(
          status: 302, headers: ["Location": "http://app.test/cb?code=1&\(query)", "Content-MD5": "AAAA"])
      }
      var bytes: [UInt8] = []
      switch request.body {
      case .bytes(let body): bytes = body
      case .stream(let pipe, _): while let chunk = try await pipe.read() { bytes += chunk }
      case .file: break
      }
      let id = String(decoding: try JSON.parse(bytes)["id"]?.encoded() ?? [], as: UTF8.self)
      let answer = #"{"id": \#(id), "result": {"id": 1, "count": 1}}"#
      switch request.target {
      case "/coded":
        return Response(
          status: 200,
          headers: ["Content-Type": "application/json", "Content-Encoding": "gzip", "Digest": "sha-256=x"],
          body: .bytes(try ContentCodings(header: "gzip")?.encode(Array(answer.utf8)) ?? []))
      case "/events":
        let pipe = BytePipe()
        Task {
          try await pipe.write(Array("data: \(answer)\n\n".utf8))
          try await pipe.write(Array("data: \(answer)\n\n".utf8))
          pipe.finish()
        }
        return Response(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(pipe, length: nil))
      case "/large":
        let padding = #"{"id": \#(id), "padding": "\#(String(repeating: "x", count: 3 << 20))"}"#
        return text(padding, type: "application/json")
      default: return text(answer, type: "application/json")
      }
    }
  }

  private static let rule = #"{"rules": [{"echo": {"json": ["$.id"], "query": ["state"]}}]}"#

  @Test("put the id of a call into its answer: plain, compressed, streamed and large, each time its own")
  func answers() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      let targets = ["/plain", "/coded", "/events", "/large"]
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for target in targets { _ = try await environment.post(target, #"{"method": "m", "id": "\#(Self.old)"}"#) }
      }
      try fixture.project(matching: Self.rule)
      let report = try await fixture.run(.replay) { environment async throws in
        for id in ["\"\(Self.new)\"", "7", "\"\(Self.old)\""] {
          for target in targets {
            let answer = try await environment.post(target, #"{"id": \#(id), "method": "m"}"#)
            #expect(answer.status == 200)
            let codings = try #require(ContentCodings(header: answer.headers["Content-Encoding"] ?? "identity"))
            let body = String(decoding: codings.salvage(answer.body, limit: 8 << 20) ?? [], as: UTF8.self)
            #expect(body.contains("{\"id\": \(id), "), "\(target) \(body.prefix(200))")
            #expect(id == "\"\(Self.old)\"" || !body.contains(Self.old))
            #expect(target == "/large" || body.contains(#""result": {"id": 1, "count": 1}"#))
            if target == "/plain" { #expect(answer.headers["Content-Length"] == "\(answer.body.count)") }
          }
        }
        let coded = try await ask(
          environment.upstreams[0].port,
          request(
            "POST", "/coded", ["Content-Type": "application/json", "Accept-Encoding": "gzip"],
            #"{"id": 8, "method": "m"}"#))
        #expect(coded.headers["Content-Encoding"] == "gzip" && coded.headers["Digest"] == nil)
        let plain = try #require(ContentCodings(header: "gzip")?.salvage(coded.body, limit: 1 << 20))
        #expect(String(decoding: plain, as: UTF8.self).contains("{\"id\": 8, "))
      }
      #expect(report.ok && report.unechoed == nil)
    }
  }

  @Test("put an OAuth state into the Location header, whatever it contains")
  func location() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/authorize?client=a&state=x1")
      }
      try fixture.project(matching: Self.rule)
      try await fixture.run(.replay) { environment async throws in
        for state in ["y2", "a%20b%26c", "%0D%0ASet-Cookie:%20a=b"] {
          let answer = try await environment.get("/authorize?state=\(state)&client=a")
          #expect(answer.status == 302)
          let written = state.replacing(":", with: "%3A").replacing("a=b", with: "a%3Db")
          #expect(answer.headers["Location"] == "http://app.test/cb?code=1&client=a&state=\(written)")
          #expect(answer.headers["Set-Cookie"] == nil)
        }
      }
    }
  }

  @Test("are missed in the report once for each place that is only ignored, with the rule that would help")
  func warning() async throws {
    let upstream = try Self.upstream()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.post("/plain", #"{"method": "m", "id": 1, "at": 5}"#)
        _ = try await environment.post("/plain", #"{"method": "n", "id": 2, "at": 6}"#)
      }
      try fixture.project(matching: #"{"rules": [{"ignore": {"json": ["$.id", "$.at"]}}]}"#)
      let report = try await fixture.run(.replay) { environment async throws in
        for method in ["m", "n", "m"] {
          let answer = try await environment.post("/plain", #"{"method": "\#(method)", "id": 8, "at": 9}"#)
          #expect(answer.text.hasPrefix(method == "m" ? "{\"id\": 1," : "{\"id\": 2,"))
        }
      }
      #expect(report.ok)
      #expect(
        report.unechoed == [
          "the answer to POST \(upstream.origin)/plain contains the recorded value of $.id, which rule 1 of "
            + "diorama.json ignores; to put the request's value there, give the rule \"echo\": {\"json\": [\"$.id\"]}"
        ])
      #expect(ReportText(report).lines().contains { $0.hasPrefix("not echoed: the answer to POST ") })
      // Equal values need no echo.
      let same = try await fixture.run(.replay) { environment async throws in
        _ = try await environment.post("/plain", #"{"method": "m", "id": 1, "at": 7}"#)
      }
      #expect(same.unechoed == nil)
    }
  }

  @Test("keep working with redaction and moved dates")
  func redactedAndMoved() async throws {
    let upstream = try TestUpstream { request in
      var bytes: [UInt8] = []
      if case .bytes(let body) = request.body { bytes = body }
      if case .stream(let pipe, _) = request.body { while let chunk = try await pipe.read() { bytes += chunk } }
      return text(String(decoding: bytes, as: UTF8.self), type: "application/json")
    }
    let body = { (token: String, at: String) in
      #"{"nonce": "\#(token)", "at": "\#(at)", "seen": "2018-10-08T10:00:00Z"}"#
    }
    try await withService(upstream) { fixture in
      try fixture.project(
        matching: #"{"rules": [{"echo": {"json": ["$.nonce", "$.at"]}}]}"#, redaction: #"{"json": ["$.nonce"]}"#)
      try await fixture.run(
        .record, ["api": upstream.origin], with: { $0.clock.start = RFC3339.parse("2018-10-08T09:00:00Z") }
      ) { environment async throws in
        _ = try await environment.post("/x", body("secret-secret", "2018-10-08T09:00:00Z"))
      }
      #expect(try !fixture.read("c.har").contains("secret-secret"))
      try await fixture.run(
        .replay,
        with: {
          $0.clock.start = RFC3339.parse("2026-11-22T19:30:00Z")
          $0.shift = ShiftRules()
        }
      ) { environment async throws in
        let sent = #"{"nonce": "hidden-hidden", "at": "2026-11-23T19:30:00Z", "seen": "2026-11-22T20:30:00Z"}"#
        let answer = try await environment.post("/x", sent)
        #expect(answer.text == sent)
      }
    }
  }
}
