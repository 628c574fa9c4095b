import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import HTTPServer
import PortLeases
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Environments that replay the same cassette")
struct SharedCassetteTests {
  /// A service whose files are old enough to be shared.
  private static func withService(_ upstream: TestUpstream, _ body: (ServiceFixture) async throws -> Void) async throws
  {
    try await EnvironmentServiceTests.withService(upstream) { recording in
      var configuration = HTTPServer.Configuration()
      configuration.threads = 1
      let server = try HTTPServer(configuration)
      let cache = CassetteCache { FileStamp.now() + 3_600_000_000_000 }
      let service = EnvironmentService(server: server, cache: cache)
      let result: Result<Void, any Error>
      do { result = .success(try await body(ServiceFixture(service: service, folder: recording.folder))) } catch {
        result = .failure(error)
      }
      await server.stop(grace: .zero)
      await service.stop()
      try result.get()
    }
  }

  @Test("share what was read, and each plays in its own order")
  func order() async throws {
    let upstream = try numbered()
    try await Self.withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for _ in 0..<3 { _ = try await environment.get("/a") }
      }
      let first = try fixture.provision(.replay)
      let second = try fixture.provision(.replay)
      #expect(first.replay != nil)
      #expect(first.replay === second.replay)
      var answers: [[String]] = [[], []]
      for (turn, environment) in [(0, first), (0, first), (1, second), (0, first), (1, second), (1, second)] {
        answers[turn].append(try await environment.get("/a").text)
      }
      #expect(answers == [["/a: 0", "/a: 1", "/a: 2"], ["/a: 0", "/a: 1", "/a: 2"]])
      #expect(await first.end().report.requests.replayed == 3)
      #expect(try await second.get("/a").text == "/a: 2")
      #expect(await second.end().report.requests.replayed == 4)
    }
  }

  @Test("with other rules or another order share what was read, but not keys and positions")
  func rules() async throws {
    let upstream = try numbered()
    try await Self.withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for target in ["/a?n=1", "/b"] { _ = try await environment.get(target) }
      }
      let rules = MatchingRules(rules: [.init(ignore: .init(query: ["n"]))])
      let plain = try fixture.provision(.replay)
      let ruled = try fixture.provision(.replay) { $0.rules = rules }
      let strict = try fixture.provision(.replay) { $0.order = .strict }
      let same = try fixture.provision(.replay) { $0.rules = rules }
      #expect(ruled.replay === same.replay)
      #expect(ruled.replay?.cassette === plain.replay?.cassette)
      #expect(plain.replay !== ruled.replay && plain.replay !== strict.replay && ruled.replay !== strict.replay)
      for (environment, target, status) in [
        (plain, "/a?n=2", 501), (ruled, "/a?n=2", 200), (same, "/a?n=3", 200), (strict, "/b", 501), (plain, "/b", 200),
        (strict, "/a?n=1", 200), (strict, "/b", 200), (strict, "/b", 501), (plain, "/b", 200),
      ] { #expect(try await environment.get(target).status == status) }
      for environment in [plain, ruled, strict, same] { _ = await environment.end() }
    }
  }

  @Test("for other upstreams share what was read, and match by their own")
  func upstreams() async throws {
    let upstream = try numbered()
    try await Self.withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let known = try fixture.provision(.replay, ["api": upstream.origin])
      let other = try fixture.provision(.replay, ["shop": Origin(parsing: "https://shop.example")])
      #expect(known.replay !== other.replay)
      #expect(known.replay?.cassette === other.replay?.cassette)
      #expect(try await known.get("/a").status == 200)
      #expect(try await other.get("/a").status == 501)
      _ = await (known.end(), other.end())
    }
  }

  @Test("share requests unless one redacts them, which matches the redacted requests")
  func redaction() async throws {
    let upstream = try numbered()
    try await Self.withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a?user=hunter2") }
      func provision(_ secret: String?) throws -> Environment {
        try fixture.provision(.replay) { specification in
          guard let secret else { return }
          specification.credentials = [.init(service: "s", account: "a", secret: Array(secret.utf8))]
        }
      }
      let plain = try provision(nil)
      let absent = try provision("not in it")
      let present = try provision("hunter2")
      #expect(plain.replay === absent.replay)
      #expect(plain.replay !== present.replay)
      #expect(plain.replay?.cassette === present.replay?.cassette)
      for environment in [plain, absent, present] {
        #expect(try await environment.get("/a?user=hunter2").status == 200)
      }
      #expect(try await present.get("/a?user=%3Credacted:s%2Fa%3E").status == 200)
      #expect(try await plain.get("/a?user=%3Credacted:s%2Fa%3E").status == 501)
      for environment in [plain, absent, present] { _ = await environment.end() }
    }
  }

  @Test("send the same prepared response, unless it contains the upstream's address")
  func answers() async throws {
    let upstream = try TestUpstream { request in
      let next = request.target == "/link" ? "http://\(request.headers["Host"] ?? "")/next" : "none"
      return text("{\"next\": \"\(next)\"}", type: "application/json")
    }
    try await Self.withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for target in ["/plain", "/link"] { _ = try await environment.get(target) }
      }
      let environments = [try fixture.provision(.replay), try fixture.provision(.replay)]
      for environment in environments {
        let endpoint = try #require(environment.endpoint("api"))
        #expect(try await environment.get("/plain").text == "{\"next\": \"none\"}")
        #expect(try await environment.get("/link").text == "{\"next\": \"\(endpoint)/next\"}")
      }
      let prepared = environments.map { environment in environment.state.withLock { $0.prepared } }
      #expect(prepared[0][0, false] != nil)
      #expect(prepared[0][0, false] === prepared[1][0, false])
      #expect(prepared[0][1, false] !== prepared[1][1, false])
      for environment in environments { _ = await environment.end() }
    }
  }

  @Test("get their own endpoint, even if another's endpoint was the backend's old address")
  func sameAddress() async throws {
    let upstream = try numbered()
    try await Self.withService(upstream) { fixture in
      let held = try PortReservation()
      try fixture.writeCassette(url: "http://127.0.0.1:\(held.port)/a", text: "at http://127.0.0.1:\(held.port)/")
      let server = try HTTPServer()
      let ports = Guarded<[UInt16?]>([nil, held.port])
      let hooks = EnvironmentHooks(reserve: { _ in
        try server.reserve(ports.withLock { $0.removeFirst() })
      })
      var specification = EnvironmentSpecification(name: "a test", mode: .replay)
      specification.cassette = fixture.location()
      let first = try fixture.service.provision(specification, hooks: hooks)
      let second = try fixture.service.provision(specification)
      #expect(first.replay === second.replay)
      for environment in [first, second] {
        #expect(try await environment.get("/a").text == "at http://127.0.0.1:\(environment.upstreams[0].port)/")
        _ = await environment.end()
      }
      await server.stop(grace: .zero)
    }
  }
}
