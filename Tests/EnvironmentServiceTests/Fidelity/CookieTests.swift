import ControlAPI
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Cookies of two upstreams on one host", .timeLimit(.minutes(5)))
struct CookieTests {
  /// Sets a cookie of its own and one that both upstreams set, and answers with the cookies that it got.
  private static func upstream(_ name: String) throws -> TestUpstream {
    try TestUpstream { request in
      text(
        request.headers.all("Cookie").joined(separator: " | "),
        headers: request.target.hasPrefix("/login")
          ? ["Set-Cookie": "\(name)=1; Path=/", "set-cookie": "sid=\(name)"] : [:])
    }
  }

  /// An app like a browser, whose cookie jar ignores ports.
  private static func visit(_ environment: Environment) async throws -> [String] {
    var seen: [String] = []
    for upstream in 0...1 {
      #expect(try await environment.get("/login", ["Cookie": "theme=dark"], of: upstream).status == 200)
    }
    for upstream in 0...1 {
      let cookie = "theme=dark; a=1; b=1; sid=b"
      seen.append(try await environment.get("/me", ["Cookie": cookie], of: upstream).text)
    }
    return seen
  }

  @Test("go back to the upstream that set them: sent, recorded and matched")
  func apart() async throws {
    let (a, b) = (try Self.upstream("a"), try Self.upstream("b"))
    try await withService(a) { fixture in
      // No cookie is redacted, so the recording shows what was sent.
      try fixture.project(
        matching: #"{"rules": [{"compare": {"headers": ["Cookie"]}}]}"#,
        redaction: #"{"keep": {"headers": ["Cookie", "Set-Cookie"]}}"#)
      let expected = ["theme=dark; a=1; sid=a", "theme=dark; b=1; sid=b"]
      try await fixture.record(["a": a.origin, "b": b.origin]) { environment async throws in
        #expect(try await Self.visit(environment) == expected)
      }
      let sent = try fixture.cassette().interactions.suffix(2).map { $0.request.headers.all("Cookie") }
      #expect(sent == expected.map { [$0] })
      let report = try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.visit(environment) == expected)
      }
      #expect(report.ok, "\(report)")
      // A cookie from A does not change requests to B, even if the recording sets it only later.
      let early = try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/login", ["Cookie": "theme=dark; a=1"], of: 1).status == 200)
        #expect(try await environment.get("/login", ["Cookie": "theme=dark; mine=1"], of: 1).status == 501)
      }
      #expect(early.unmatched.count == 1)
    }
    await b.stop()
  }

  @Test("do not go to the other upstream in extend, whether an answer was recorded or live")
  func extended() async throws {
    let (a, b) = (try Self.upstream("a"), try Self.upstream("b"))
    try await withService(a) { fixture in
      try await fixture.record(["a": a.origin, "b": b.origin]) { environment async throws in
        for upstream in 0...1 { _ = try await environment.get("/login", of: upstream) }
      }
      try await fixture.run(.extend, ["a": a.origin, "b": b.origin]) { environment async throws in
        _ = try await environment.get("/login-anew", of: 0)
        #expect(try await environment.get("/me", ["Cookie": "sid=a"], of: 1).text == "")
        let replayed = try await environment.get("/login", of: 1)
        #expect(replayed.headers.all("Set-Cookie").contains { $0.hasPrefix("sid=<redacted>") })
        #expect(try await environment.get("/me", ["Cookie": "sid=<redacted>"], of: 0).text == "sid=a")
      }
    }
    await b.stop()
  }

  @Test("are unchanged for a proxy's client, which sees each upstream under its own host")
  func absolute() async throws {
    let (a, b) = (try Self.upstream("a"), try Self.upstream("b"))
    _ = try await withService(a) { fixture in
      try await fixture.run(.proxy, ["a": a.origin, "b": b.origin]) { environment async throws in
        _ = try await environment.get("/login", of: 0)
        let answer = try await ask(environment.mainPort, request("GET", "\(b.origin)/me", ["Cookie": "a=1"]))
        #expect(answer.text == "a=1")
      }
    }
    await b.stop()
  }
}
