@testable import Transforms
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Rules of matching beside rules of redaction")
struct RedactedMatchingTests {
  private static let secret = "hunter2-and-more"
  private static let rules = #"""
    {"rules": [{"compare": {"headers": ["Authorization", "X-Session", "X-Tenant"]},
                "ignore": {"json": ["$.at"], "query": ["_"]}}]}
    """#
  private static let redaction = #"{"headers": ["X-Session"], "json": ["$.pin"], "query": ["token"]}"#

  private static func credentials(_ secret: String) -> (inout EnvironmentSpecification) -> Void {
    { $0.credentials = [.init(service: "s", account: "a", secret: Array(secret.utf8))] }
  }

  /// Sends a request with a secret in each place that a rule names, and a time in each place that rules ignore.
  private static func book(
    _ environment: Environment, secret: String, time: Int, tenant: String = "t1", slot: Int = 7
  ) async throws -> RawClient.Answer {
    let headers: Headers = [
      "Authorization": "Bearer \(secret)", "X-Session": secret, "X-Tenant": tenant, "Content-Type": "application/json",
    ]
    let body = #"{"at": \#(time), "pin": "\#(secret)", "slot": \#(slot), "by": "\#(secret)"}"#
    return try await ask(
      environment.upstreams[0].port, request("POST", "/book?token=\(secret)&_=\(time)", headers, body))
  }

  @Test("count after a request is redacted, the recorded one and the one that comes")
  func together() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try fixture.project(matching: Self.rules, redaction: Self.redaction)
      try await fixture.run(.record, ["api": upstream.origin], with: Self.credentials(Self.secret)) {
        environment async throws in
        #expect(try await Self.book(environment, secret: Self.secret, time: 1).status == 200)
      }
      #expect(!(try fixture.read("c.har")).contains(Self.secret))
      for secret in [Self.secret, "quite-another-one"] {
        let report = try await fixture.run(.replay, with: Self.credentials(secret)) { environment async throws in
          #expect(try await Self.book(environment, secret: secret, time: 2).status == 200)
        }
        #expect(report.ok && report.requests.replayed == 1)
      }
      let report = try await fixture.run(.replay, with: Self.credentials(Self.secret)) { environment async throws in
        #expect(try await Self.book(environment, secret: Self.secret, time: 2, tenant: "t2").status == 501)
        let miss = try await Self.book(environment, secret: Self.secret, time: 2, slot: 8)
        #expect(miss.status == 501)
        #expect(miss.text.contains("slot") && !miss.text.contains("pin"))
      }
      #expect(report.unmatched.count == 2)
      #expect(report.unmatched.allSatisfy { $0.nearest.first?.differences.count == 1 }, "\(report.unmatched)")
      #expect(!"\(report)".contains(Self.secret))
    }
  }

  @Test("count so too where both came after the recording, headers that are secret by default included")
  func later() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try fixture.project(redaction: #"{"keep": {"headers": ["Authorization"]}}"#)
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        #expect(try await Self.book(environment, secret: Self.secret, time: 1).status == 200)
      }
      #expect(try fixture.cassette().interactions[0].request.headers["Authorization"] == "Bearer \(Self.secret)")
      let recorded = try fixture.read("c.har")
      // No rule at all: what goes by default is compared without its value, in what is recorded too.
      try fixture.project(matching: #"{"rules": [{"compare": {"headers": ["Authorization"]}}]}"#)
      let byDefault = try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.book(environment, secret: Self.secret, time: 1).status == 200)
      }
      #expect(byDefault.ok)
      try fixture.project(matching: Self.rules, redaction: Self.redaction)
      let report = try await fixture.run(.replay, with: Self.credentials(Self.secret)) { environment async throws in
        #expect(try await Self.book(environment, secret: Self.secret, time: 2).status == 200)
      }
      #expect(report.ok)
      #expect(try fixture.read("c.har") == recorded)
    }
  }

  @Test("share a replay only where both are the same")
  func shared() async throws {
    let upstream = try numbered()
    try await withService(upstream) { recording in
      try await recording.record(["api": upstream.origin]) { _ = try await $0.get("/a?token=x") }
      let server = try HTTPServer()
      let cache = CassetteCache { FileStamp.now() + 3_600_000_000_000 }
      let fixture = ServiceFixture(service: EnvironmentService(server: server, cache: cache), folder: recording.folder)
      func provision(_ rules: String, _ headers: [String] = [], query: [String] = []) throws -> Environment {
        let rules = try MatchingRules(decoding: Data(rules.utf8))
        return try fixture.provision(.replay) { specification in
          specification.rules = rules
          specification.redaction.headers = headers
          specification.redaction.query = query
        }
      }
      let environments = [
        try provision("{}"), try provision("{}", ["X-A"]), try provision(Self.rules),
        try provision(Self.rules, ["X-A"]),
        try provision(Self.rules, query: ["token"]),
      ]
      let replays = environments.map { $0.replay.map(ObjectIdentifier.init) }
      #expect(replays[0] == replays[1])
      #expect(replays[2] == replays[3])
      #expect(Set(replays).count == 3)
      for environment in environments { #expect(try await environment.get("/a?token=x").status == 200) }
      #expect(try await environments[4].get("/a?token=y").status == 200)
      for environment in environments { _ = await environment.end() }
      await server.stop(grace: .zero)
    }
  }
}
