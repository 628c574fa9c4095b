import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import HTTPMessages
import LaunchContract
import TestSupport
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("Forms of addressing an endpoint")
struct EndpointFormTests {
  /// Answers with the request.
  private static func mirror() throws -> TestUpstream {
    try TestUpstream { request in
      text("\(request.method) \(request.target) \(request.headers["Host"] ?? "-")")
    }
  }

  @Test("reach an upstream at its own port, by the first path segment, and in absolute form")
  func forms() async throws {
    let upstream = try Self.mirror()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      let expected = "GET /a%7Eb//c?x=1&x=2 \(upstream.origin.authority)"
      let target = "/a%7Eb//c?x=1&x=2"
      #expect(try await environment.get(target).text == expected)
      let main = environment.mainPort
      let authority = upstream.origin.authority
      #expect(try await ask(main, request("GET", "/\(authority)\(target)")).text == expected)
      #expect(try await ask(main, request("GET", "/127.0.0.1%3A\(upstream.origin.port)\(target)")).text == expected)
      #expect(try await ask(main, request("GET", "http://\(authority)\(target)")).text == expected)
      #expect(try await ask(main, request("GET", "/\(authority)")).text == "GET / \(authority)")
      #expect(try await ask(main, request("GET", "/\(authority)?q")).text == "GET /?q \(authority)")
      #expect(try await ask(main, request("GET", "http://\(authority)?q")).text == "GET /?q \(authority)")
    }
  }

  @Test("distinguish several upstreams in every form, in recording and in replay")
  func several() async throws {
    let one = try TestUpstream { text("one \($0.target)") }
    let two = try TestUpstream { text("two \($0.target)") }
    try await withService(one) { fixture in
      let use: (Environment) async throws -> Void = { environment async throws in
        for (index, (upstream, name)) in [(one, "one"), (two, "two")].enumerated() {
          let authority = upstream.origin.authority
          #expect(try await environment.get("/own", of: index).text == "\(name) /own")
          #expect(try await ask(environment.mainPort, request("GET", "/\(authority)/seg")).text == "\(name) /seg")
          #expect(
            try await ask(environment.mainPort, request("GET", "http://\(authority)/abs")).text == "\(name) /abs")
        }
      }
      let upstreams: KeyValuePairs = ["one": one.origin, "two": two.origin]
      try await fixture.record(upstreams, use)
      let report = try await fixture.run(.replay, upstreams, use: use)
      #expect(report.requests.replayed == 6)
      #expect(report.ok)
      #expect(report.unused.isEmpty)
      #expect(one.requestCount + two.requestCount == 6)
    }
    await two.stop()
  }

  @Test("replay in other forms than the recorded one")
  func acrossForms() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) {
        _ = try await ask($0.mainPort, request("GET", "/\(upstream.origin.authority)/a?b=1"))
      }
      let environment = try fixture.provision(.replay)
      #expect(try await environment.get("/a?b=1").text == "/a?b=1: 0")
      let absolute = request("GET", "http://\(upstream.origin.authority)/a?b=1")
      #expect(try await ask(environment.mainPort, absolute).text == "/a?b=1: 0")
    }
  }

  @Test("refuse an undeclared host, with the option to add")
  func undeclared() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      for (target, option) in [
        ("/other.test/x", "--upstream NAME=https://other.test"),
        ("/other.test:8080/x", "--upstream NAME=https://other.test:8080"),
        ("http://other.test/x", "--upstream NAME=http://other.test"),
      ] {
        let answer = try await ask(environment.mainPort, request("GET", target))
        #expect(answer.status == 501)
        #expect(answer.headers["Diorama-Miss"] == "1")
        #expect(answer.headers["Content-Type"] == "application/problem+json")
        #expect(try answer.json["detail"]?.string?.contains(option) == true, "\(target)")
      }
      #expect(environment.report().requests.unmatched == 3)
      #expect(environment.report().requests.total == 3)
      #expect(upstream.requestCount == 0)
    }
  }

  @Test("refuse CONNECT with a 501 that explains what to do instead")
  func connect() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      let answer = try await ask(environment.mainPort, "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
      #expect(answer.status == 501)
      #expect(try answer.json["detail"]?.string?.contains("http://") == true)
    }
  }

  @Test("accept the endpoint's own address in absolute form")
  func ownAddress() async throws {
    let upstream = try Self.mirror()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      let expected = "GET /x \(upstream.origin.authority)"
      let port = environment.upstreams[0].port
      let main = environment.mainPort
      #expect(try await ask(port, request("GET", "http://127.0.0.1:\(port)/x")).text == expected)
      #expect(try await ask(port, request("GET", "http://localhost:\(port)/x")).text == expected)
      // With HTTP_PROXY set to the main port, and no exception for loopback addresses.
      #expect(try await ask(main, request("GET", "http://127.0.0.1:\(port)/x")).text == expected)
      let segment = request("GET", "http://127.0.0.1:\(main)/\(upstream.origin.authority)/x")
      #expect(try await ask(main, segment).text == expected)
    }
  }
}
