import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import HTTPMessages
import HTTPServer
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

@Suite("A connection of an isolated command")
struct InterceptedHandlerTests {
  @Test("is recorded under the names that the command uses, and replayed without the upstreams")
  func recordAndReplay() async throws {
    let first = try numbered()
    let second = try numbered()
    try await withService { fixture in
      let use = { (environment: Environment) in
        for upstream in [first, second] {
          try await environment.intercepting(upstream.origin) { port in
            let one = try await ask(port, request("GET", "/a", ["Host": upstream.origin.authority]))
            #expect(one.text == "/a: 0")
            let other = try await ask(port, request("GET", "/a", ["Host": upstream.origin.authority]))
            #expect(other.text == "/a: 1")
          }
        }
      }
      try await fixture.run(.record, with: isolated(), use: use)
      let names = [first, second].map { CassetteHeader.Upstream(name: $0.origin.authority, origin: $0.origin) }
      #expect(try fixture.cassette().header.upstreams == names)
      await first.stop()
      await second.stop()
      let report = try await fixture.run(.replay, with: isolated(), use: use)
      #expect(report.ok && report.requests.replayed == 4)
    }
  }

  @Test("answers repeated requests of one connection from memory")
  func fastPath() async throws {
    try await withService(try numbered()) { fixture in
      try fixture.writeCassette(url: "https://api.example.com/a", text: "hello http://api.example.com")
      let origin = try Origin(parsing: "https://api.example.com")
      try await fixture.run(.replay, with: isolated()) { environment in
        try await environment.intercepting(origin) { port in
          try await onThread {
            let client = try RawClient(port: port)
            for _ in 0..<3 {
              let answer = try client.exchange(request("GET", "/a", ["Host": "api.example.com"]))
              #expect(answer.text == "hello http://api.example.com")
            }
          }
        }
      }
    }
  }

  @Test("and an endpoint share a cassette, in both directions")
  func endpoints() async throws {
    let upstream = try TestUpstream { text("next: \($0.headers["Host"] ?? ""): http://\($0.headers["Host"] ?? "")/b") }
    try await withService(upstream) { fixture in
      let origin = upstream.origin
      try await fixture.run(.record, with: isolated()) { environment in
        try await environment.intercepting(origin) { port in
          let answer = try await ask(port, request("GET", "/a", ["Host": origin.authority]))
          #expect(answer.text == "next: \(origin.authority): \(origin)/b")
        }
      }
      try await fixture.run(.replay) { environment in
        let port = environment.upstreams[0].port
        let answer = try await environment.get("/a")
        #expect(answer.text == "next: \(origin.authority): http://127.0.0.1:\(port)/b")
      }
      try await fixture.record(["api": origin]) { environment in _ = try await environment.get("/c") }
      try await fixture.run(.replay, with: isolated()) { environment in
        try await environment.intercepting(origin) { port in
          let answer = try await ask(port, request("GET", "/c", ["Host": origin.authority]))
          #expect(answer.text == "next: \(origin.authority): \(origin)/b")
        }
      }
    }
  }

  @Test("is sent to another origin, and recorded under the first")
  func map() async throws {
    let upstream = try TestUpstream { text("from \($0.headers["Host"] ?? "")") }
    try await withService(upstream) { fixture in
      let origin = try Origin(parsing: "https://api.example.com")
      let isolation = isolated { $0.map = [origin.description: upstream.origin.description] }
      for mode in [Mode.record, .replay] {
        try await fixture.run(mode, with: isolation) { environment in
          try await environment.intercepting(origin) { port in
            let answer = try await ask(port, request("GET", "/a", ["Host": "api.example.com"]))
            #expect(answer.text == "from \(upstream.origin.authority)")
          }
        }
      }
      #expect(try fixture.cassette().interactions[0].request.url == "https://api.example.com/a")
      #expect(upstream.requestCount == 1)
    }
  }

  @Test("is compared at the end with the origins that were to be sent to another one")
  func unusedMap() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let wrong = "http://a.test"
      let environment = try fixture.provision(
        .record, [:], isolated { $0.map = [wrong: "http://127.0.0.1:1", "http://b.test": "http://127.0.0.1:1"] })
      environment.noteIsolation(.init(kind: "namespaces"))
      try await environment.intercepting(upstream.origin) { port in
        _ = try await ask(port, request("GET", "/a", ["Host": upstream.origin.authority]))
      }
      let report = await environment.end().report
      #expect(
        report.isolation?.missing
          == [wrong, "http://b.test"].map {
            "--map \($0)=http://127.0.0.1:1 was not used; the command asked for \(upstream.origin)"
          })
    }
  }

  @Test("to a host that is not allowed fails the recording, and one to a denied host does not")
  func policy() async throws {
    try await withService(try numbered()) { fixture in
      let isolation = isolated {
        $0.allow = ["*.example.com"]
        $0.deny = ["telemetry.example"]
      }
      let environment = try fixture.provision(.record, [:], isolation)
      let other = Origin(scheme: "https", host: "other.example", port: 443)
      try await environment.intercepting(other) { port in
        let refused = try await ask(port, request("GET", "/a", ["Host": "other.example"]))
        #expect(refused.status == 501)
        #expect(refused.text.contains("other.example is not among the allowed hosts; add --allow other.example"))
        let denied = try await ask(port, request("GET", "/a", ["Host": "Telemetry.example"]))
        #expect(denied.status == 403)
        #expect(denied.text.contains("telemetry.example is denied by --deny or isolation.deny"))
      }
      let report = await environment.end().report
      #expect(report.unmatched.map(\.url) == ["https://other.example/a"])
    }
  }

  @Test("to this machine is refused while recording, unless it is allowed, mapped, or the command has a proxy")
  func ownServices() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      func status(
        _ isolation: (inout EnvironmentSpecification) -> Void, kind: String = "namespaces"
      ) async throws -> Int {
        let environment = try fixture.provision(.record, [:], isolation)
        var status = 0
        try await environment.intercepting(upstream.origin, kind: kind) { port in
          status = try await ask(port, request("GET", "/a", ["Host": upstream.origin.authority])).status
        }
        _ = await environment.end()
        return status
      }
      let refused = try await status(isolated())
      #expect(refused == 501)
      #expect(upstream.requestCount == 0)
      let origin = upstream.origin.description
      let statuses = [
        try await status(isolated { $0.allow = ["127.0.0.1"] }),
        try await status(isolated { $0.map = [origin: origin] }),
        try await status(isolated(), kind: "proxy"),
      ]
      #expect(statuses == [200, 200, 200])
    }
  }

  @Test("adds what it asks for to a cassette in mode extend")
  func extend() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try fixture.writeCassette(url: "https://api.example.com/a", text: "recorded")
      try await fixture.run(.extend, with: isolated()) { environment in
        try await environment.intercepting(try Origin(parsing: "https://api.example.com")) { port in
          let recorded = try await ask(port, request("GET", "/a", ["Host": "api.example.com"]))
          #expect(recorded.text == "recorded")
        }
        try await environment.intercepting(upstream.origin) { port in
          let added = try await ask(port, request("GET", "/b", ["Host": upstream.origin.authority]))
          #expect(added.text == "/b: 0")
        }
      }
      let names = try fixture.cassette().header.upstreams.map(\.name)
      #expect(names.sorted() == ["api.example.com", upstream.origin.authority].sorted())
    }
  }

  @Test("names its host in the target, in Host or by its address")
  func hosts() async throws {
    let upstream = try TestUpstream { text("\($0.target) of \($0.headers["Host"] ?? "")") }
    try await withService(upstream) { fixture in
      let origin = upstream.origin
      let isolation = isolated { $0.map = ["http://api.example.com:\(origin.port)": origin.description] }
      try await fixture.run(.record, with: isolation) { environment in
        try await environment.intercepting(origin) { port in
          let absolute = request("GET", "\(origin)/absolute", ["Host": "ignored.example"])
          let named = try await ask(port, absolute)
          #expect(named.text == "/absolute of \(origin.authority)")
          let dot = request("GET", "/dot", ["Host": "API.example.com."])
          let dotted = try await ask(port, dot)
          #expect(dotted.text == "/dot of \(origin.authority)")
          let old = try await ask(port, "GET /old HTTP/1.0\r\n\r\n")
          #expect(old.text == "/old of \(origin.authority)")
          let wrong = try await ask(port, request("GET", "/bad", ["Host": "a b"]))
          #expect(wrong.status == 400)
        }
      }
      #expect(
        try fixture.cassette().interactions.map(\.request.url) == [
          "\(origin)/absolute", "http://api.example.com:\(origin.port)/dot", "\(origin)/old",
        ])
    }
  }

  @Test("is not answered for another host because an absolute target had its Host field")
  func absoluteThenPath() async throws {
    try await withService(try numbered()) { fixture in
      try fixture.writeCassette(url: "http://a.test/x", text: "a")
      let environment = try fixture.provision(.replay, [:], isolated())
      let origin = Origin(scheme: "http", host: "b.test", port: 80)
      try await environment.intercepting(origin) { port in
        try await onThread {
          let client = try RawClient(port: port)
          #expect(try client.exchange(request("GET", "http://a.test./x", ["Host": "b.test"])).text == "a")
          #expect(try client.exchange(request("GET", "/x", ["Host": "b.test"])).status == 501)
        }
      }
      #expect(await environment.end().report.unmatched.map(\.url) == ["http://b.test/x"])
    }
  }

  @Test("does not reach this machine by a Host field")
  func loopbackHost() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, [:], isolated { $0.allow = ["127.0.0.1"] })
      let origin = Origin(scheme: "http", host: "192.0.2.1", port: upstream.origin.port)
      try await environment.intercepting(origin) { port in
        for host in ["127.0.0.1", "localhost", "a.localhost"] {
          let answer = try await ask(port, request("GET", "/", ["Host": host]))
          #expect(answer.status == 501)
        }
      }
      #expect(upstream.requestCount == 0)
      _ = await environment.end()
    }
  }

  @Test("does not reach a host that is not allowed, although the cassette has it")
  func recordedHost() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try fixture.writeCassette(url: "\(upstream.origin)/a", text: "recorded")
      let environment = try fixture.provision(.extend, [:], isolated { $0.allow = ["other.test"] })
      try await environment.intercepting(upstream.origin) { port in
        let host = upstream.origin.authority
        let recorded = try await ask(port, request("GET", "/a", ["Host": host]))
        #expect(recorded.text == "recorded")
        let refused = try await ask(port, request("GET", "/b", ["Host": host]))
        #expect(refused.status == 501)
      }
      #expect(upstream.requestCount == 0)
      _ = await environment.end()
    }
  }

  @Test("gets the advice to map an origin that cannot be reached")
  func unreachable() async throws {
    let upstream = try numbered()
    // A port that nothing listens on.
    let origin = Origin(scheme: "http", host: "127.0.0.1", port: 1)
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, [:], isolated())
      try await environment.intercepting(origin) { port in
        let answer = try await ask(port, request("GET", "/a", ["Host": origin.authority]))
        #expect(answer.status == 502 && answer.text.contains("--map \(origin)=URL"), "\(answer.text)")
      }
      _ = await environment.end()
    }
  }

  @Test("fails without a request, although it cannot bypass its environment")
  func withoutRequests() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, [:], isolated())
      environment.noteIsolation(.init(kind: "namespaces"))
      let report = await environment.end(expectsRequests: true).report
      #expect(!report.ok)
      let failure = try #require(report.failures.first)
      #expect(failure.hasPrefix("no request reached the environment: check that"), "\(failure)")
      #expect(failure.contains("--allow-no-requests"))
      // The command may have used a server of this machine.
      for words in ["127.0.0.1, which is the command's own", "--map http://backend.test=", "--host-port PORT"] {
        #expect(failure.contains(words), "\(failure)")
      }
    }
  }

  @Test("has its upstreams in a recording whose process is killed")
  func killed() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, [:], isolated())
      try await environment.intercepting(upstream.origin) { port in
        _ = try await ask(port, request("GET", "/a", ["Host": upstream.origin.authority]))
      }
      let partial = try #require(try PartialFile(of: fixture.location()))
      #expect(partial.header.upstreams.map(\.origin) == [upstream.origin])
      _ = await environment.end()
    }
  }

  private func isolated(
    _ configure: @escaping (inout EnvironmentConfiguration.Isolation) -> Void = { _ in }
  ) -> (inout EnvironmentSpecification) -> Void {
    { specification in
      var isolation = EnvironmentConfiguration.Isolation()
      isolation.kind = "namespaces"
      configure(&isolation)
      specification.isolation = isolation
    }
  }
}

extension Environment {
  /// Serves a port as if connections to it had been made to an origin by an isolated command. Only one with a proxy reaches
  /// the tests' upstreams by their own addresses.
  fileprivate func intercepting(
    _ origin: Origin, kind: String = "proxy", _ use: (UInt16) async throws -> Void
  ) async throws {
    noteIsolation(IsolationNote(kind: kind))
    let server = try HTTPServer(HTTPServer.Configuration(threads: 1))
    let handler = InterceptedHandler(self, scheme: origin.scheme, host: origin.host, port: origin.port)
    let listener = try server.listen(handler: handler)
    do {
      try await use(listener.port)
      await server.stop()
    } catch {
      await server.stop(grace: .zero)
      throw error
    }
  }
}
