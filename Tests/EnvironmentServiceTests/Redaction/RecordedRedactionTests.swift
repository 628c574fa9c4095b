import ControlAPI
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A recording")
struct RecordedRedactionTests {
  private static let secret = "hunter2-and-more"

  private static func credentials(_ secret: String) -> (inout EnvironmentSpecification) -> Void {
    { $0.credentials = [.init(service: "s", account: "a", secret: Array(secret.utf8))] }
  }

  /// Answers with the request, and sets a cookie.
  private static func echo() throws -> TestUpstream {
    try TestUpstream { request in
      let body = String(decoding: try await request.body.collect(upTo: 1 << 24), as: UTF8.self)
      let sent = request.headers.fields.map { "\($0.name): \($0.value)" }.joined(separator: "|")
      return Response(
        status: 200,
        headers: [
          "Content-Type": "text/plain", "Set-Cookie": "sid=\(secret); Path=/", "Location": "/next?t=\(secret)",
          "X-Seen": request.target,
        ], body: .bytes(Array("\(request.target) \(sent) \(body)".utf8)))
    }
  }

  private static func written(_ fixture: ServiceFixture) throws -> String {
    try fixture.files.filter { $0.hasPrefix("c.") && !$0.hasSuffix(".bodies") }.map { try fixture.read($0) }.joined()
      + fixture.bodies.map { try fixture.read("c.bodies/\($0)") }.joined()
  }

  @Test("drops a text on which a pattern takes too long, and the report names the pattern")
  func tooSlow() async throws {
    let slow = "private " + String(repeating: "a", count: 80) + "b"
    let upstream = try TestUpstream { _ in text(slow) }
    try await withService(upstream) { fixture in
      try fixture.project(redaction: #"{"patterns": ["(a|aa)+$"]}"#)
      let report = try await fixture.run(.record, ["api": upstream.origin], with: ServiceFixture.replaces) {
        environment async throws in
        #expect(try await environment.get("/").text == slow)
      }
      #expect(!report.ok)
      #expect(report.failures.contains { $0.contains("'(a|aa)+$' takes too long") }, "\(report.failures)")
      #expect(!(try Self.written(fixture)).contains("private"))
      #expect(try fixture.cassette().interactions[0].response.body == .bytes(Array("<redacted>".utf8)))
    }
  }

  @Test("contains no credential, though app and upstream have the real one, and replays with another one")
  func credential() async throws {
    let upstream = try Self.echo()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.credentials(Self.secret)) { environment in
        let answer = try await environment.post(
          "/login?password=\(Self.secret)", #"{"password": "\#(Self.secret)"}"#)
        #expect(answer.text.contains("/login?password=\(Self.secret)"))
        #expect(answer.text.contains(#"{"password": "\#(Self.secret)"}"#))
        #expect(answer.headers["Set-Cookie"]?.contains(Self.secret) == true)
        let partial = try fixture.read("c.har.partial")
        #expect(!partial.contains(Self.secret))
        #expect(partial.contains("<redacted:s/a>"))
      }
      let text = try Self.written(fixture)
      #expect(!text.contains(Self.secret))
      let interaction = try fixture.cassette().interactions[0]
      #expect(interaction.request.url.hasSuffix("/login?password=%3Credacted%3As%2Fa%3E"))
      #expect(interaction.request.body == .bytes(Array(#"{"password": "<redacted:s/a>"}"#.utf8)))
      #expect(interaction.response.headers["Set-Cookie"] == "sid=<redacted>; Path=/")
      #expect(interaction.response.headers["Location"] == "/next?t=%3Credacted%3As%2Fa%3E")
      for secret in [Self.secret, "quite another one"] {
        let report = try await fixture.run(.replay, with: Self.credentials(secret)) { environment in
          let encoded = secret.replacing(" ", with: "%20")
          let answer = try await environment.post("/login?password=\(encoded)", #"{"password": "\#(secret)"}"#)
          #expect(answer.status == 200)
          #expect(answer.headers["Set-Cookie"] == "sid=<redacted>; Path=/")
          let again = try await environment.post(
            "/login?password=%3Credacted:s%2Fa%3E", #"{"password": "<redacted:s/a>"}"#)
          #expect(again.status == 200)
        }
        #expect(report.ok && report.requests.replayed == 2)
      }
      let report = try await fixture.run(.replay, with: Self.credentials(Self.secret)) { environment in
        let miss = try await environment.post("/login?password=\(Self.secret)", #"{"password": "x\#(Self.secret)"}"#)
        #expect(miss.status == 501)
        #expect(!miss.text.contains(Self.secret))
      }
      #expect(!"\(report)".contains(Self.secret))
    }
  }

  @Test("contains nothing that a rule names, and replays requests that the rule makes equal in order")
  func rules() async throws {
    let rules =
      #"{"headers": ["X-Session"], "query": ["token"], "json": ["$.pin"], "form": ["pin"], "patterns": ["sk_[a-z]+"]}"#
    let upstream = try Self.echo()
    try await withService(upstream) { fixture in
      try fixture.project(redaction: rules)
      try await fixture.run(.record, ["api": upstream.origin]) { environment in
        _ = try await environment.get(
          "/a?token=canary&x=1", ["X-Session": "canary", "Referer": "http://x/?token=canary"])
        _ = try await environment.post("/b", #"{"pin": 7777, "x": "sk_canary"}"#)
        _ = try await environment.post("/c", "pin=canary&x=1", type: "application/x-www-form-urlencoded")
      }
      let text = try Self.written(fixture)
      let requests = try fixture.cassette().interactions.map(\.request)
      #expect(requests[0].url.hasSuffix("/a?token=%3Credacted%3E&x=1"))
      #expect(requests[0].headers["X-Session"] == "<redacted>")
      #expect(requests[1].body == .bytes(Array(#"{"pin": 0, "x": "<redacted>"}"#.utf8)))
      #expect(requests[2].body == .bytes(Array("pin=%3Credacted%3E&x=1".utf8)))
      // The upstream answers in plain text, in which only patterns and query items match.
      #expect(!text.contains("token=canary") && !text.contains("sk_canary"))
      let report = try await fixture.run(.replay) { environment in
        let first = try await environment.get("/a?token=other&x=1")
        let second = try await environment.post("/b", #"{"x": "sk_zzz", "pin": 1}"#)
        let third = try await environment.post("/c", "x=1&pin=other", type: "application/x-www-form-urlencoded")
        let miss = try await environment.get("/a?token=other&x=2")
        #expect([first, second, third, miss].map(\.status) == [200, 200, 200, 501])
      }
      #expect(!"\(report)".contains("token=other"))
    }
  }

  @Test("stays valid when a redaction rule is added later")
  func later() async throws {
    let upstream = try Self.echo()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        _ = try await environment.post("/b?token=one", #"{"pin": 7777}"#)
      }
      try fixture.project(redaction: #"{"query": ["token"], "json": ["$.pin"]}"#)
      let report = try await fixture.run(.replay) { environment in
        let answer = try await environment.post("/b?token=two", #"{"pin": 1}"#)
        #expect(answer.status == 200)
      }
      #expect(report.ok)
    }
  }

  @Test("is redacted in coded bodies, which are kept decoded, in requests too", arguments: ["gzip", "deflate", "br"])
  func coded(coding: String) async throws {
    let codings = try #require(ContentCodings(header: coding))
    let content = #"{"password": "\#(Self.secret)", "filler": "\#(String(repeating: "x", count: 5000))"}"#
    let coded = try codings.encode(Array(content.utf8))
    let upstream = try TestUpstream { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      #expect(body == coded)
      return Response(
        status: 200, headers: ["Content-Type": "application/json", "Content-Encoding": coding], body: .bytes(body))
    }
    try await withService(upstream) { fixture in
      func send(_ environment: Environment, _ body: [UInt8]) async throws -> RawClient.Answer {
        let head =
          "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Encoding: \(coding)\r\n"
          + "Accept-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        let port = environment.upstreams[0].port
        return try await onThread {
          let client = try RawClient(port: port)
          try client.send(Array(head.utf8) + body)
          return try client.receiveAnswer()
        }
      }
      try await fixture.run(.record, ["api": upstream.origin], with: Self.credentials(Self.secret)) { environment in
        let answer = try await send(environment, coded)
        #expect(answer.body == coded)
      }
      let expected = content.replacing(Self.secret, with: "<redacted:s/a>")
      let interaction = try fixture.cassette().interactions[0]
      #expect(interaction.request.body == .bytes(Array(expected.utf8)))
      #expect(interaction.response.body == .bytes(Array(expected.utf8)))
      let report = try await fixture.run(.replay, with: Self.credentials(Self.secret)) { environment in
        let answer = try await send(environment, coded)
        #expect(answer.status == 200)
        #expect(try codings.decode(answer.body, limit: 1 << 20) == Array(expected.utf8))
      }
      #expect(report.ok)
    }
  }

  @Test("is redacted in a large streamed body, wherever chunks end")
  func large() async throws {
    let piece = [UInt8](repeating: 0x78, count: 65_530) + Array(Self.secret.utf8)
    let pipe = BytePipe()
    let upstream = try TestUpstream { _ in
      Response(status: 200, headers: ["Content-Type": "application/octet-stream"], body: .stream(pipe, length: nil))
    }
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.credentials(Self.secret)) { environment in
        async let answer = environment.get("/x")
        for number in 0..<20 {
          // Cut the secret at a different position each time.
          let cut = piece.count - number % Self.secret.count
          try await pipe.write(Array(piece[..<cut]))
          try await pipe.write(Array(piece[cut...]))
          #expect(!(try Self.written(fixture)).contains(Self.secret))
        }
        pipe.finish()
        #expect(try await answer.body.count == 20 * piece.count)
      }
      let text = try Self.written(fixture)
      #expect(!text.contains(Self.secret) && !text.contains("hunter2"))
      #expect(text.components(separatedBy: "<redacted:s/a>").count == 21)
    }
  }

  @Test("starts with a warning if a credential is too short to be found")
  func short() async throws {
    let upstream = try Self.echo()
    try await withService(upstream) { fixture in
      for (secret, count) in [("abc", 1), ("abcd", 0), ("", 0)] {
        let environment = try fixture.provision(.record, ["api": upstream.origin], Self.credentials(secret))
        #expect(environment.notes.count == count)
        #expect(environment.notes.allSatisfy { $0.contains("credential s/a is too short") && !$0.contains("abc") })
        _ = await environment.end()
      }
      try fixture.project(redaction: #"{"keep": {"credentials": ["s/a"]}}"#)
      let kept = try fixture.provision(.record, ["api": upstream.origin], Self.credentials("abc"))
      #expect(kept.notes.isEmpty)
      _ = await kept.end()
    }
  }

  @Test("refuses a secret as a string's key before it is written")
  func key() async throws {
    let upstream = try Self.echo()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: Self.credentials(Self.secret)) { environment in
        let answer = try await environment.control("/strings", #"{"key": "mail-\#(Self.secret)", "length": 8}"#)
        #expect(answer.status == 400)
        #expect(!answer.text.contains(Self.secret))
        #expect(try await environment.control("/strings", #"{"key": "mail", "length": 8}"#).status == 200)
      }
      #expect(!(try Self.written(fixture)).contains(Self.secret))
    }
  }
}
