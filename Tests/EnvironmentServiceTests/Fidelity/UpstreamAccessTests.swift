import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Access settings of upstreams", .timeLimit(.minutes(5)))
struct UpstreamAccessTests {
  @Test("send headers to their upstream only, in place of the app's, and redact them in recordings, even if echoed")
  func headers() async throws {
    let echo: TestUpstream.Answer = { request in
      let fields = request.headers.fields.filter { $0.name != "Host" }
      return text(fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))
    }
    let (a, b) = (try TestUpstream(echo), try TestUpstream(echo))
    try await withService(a) { fixture in
      let access = [
        "a": UpstreamAccess(headers: [
          "X-Api-Key": Secret("key-of-a-1"), "X-Tenant": Secret("blue"), "authorization": Secret("Bearer token-of-a"),
        ])
      ]
      var seen: [String] = []
      try await fixture.run(.record, ["a": a.origin, "b": b.origin], with: { $0.access = access }) {
        environment async throws in
        for upstream in 0...1 {
          seen.append(try await environment.get("/", ["Authorization": "Bearer app", "X-Own": "1"], of: upstream).text)
        }
      }
      #expect(
        seen == [
          "Authorization: Bearer token-of-a\nX-Own: 1\nX-Api-Key: key-of-a-1\nX-Tenant: blue",
          "Authorization: Bearer app\nX-Own: 1",
        ])
      let har = try fixture.read("c.har")
      #expect(!har.contains("key-of-a-1") && !har.contains("token-of-a"), "\(har)")
      #expect(har.contains("X-Api-Key: <redacted:a/X-Api-Key>") && har.contains("X-Tenant: blue"), "\(har)")
      #expect(try fixture.cassette().interactions[0].request.headers["X-Tenant"] == nil)
      // In replay, access settings have no effect and are not required.
      let report = try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/", of: 0).status == 200)
      }
      #expect(report.unmatched.isEmpty)
    }
    await b.stop()
  }

  @Test("set a CA and a client certificate, or skip verification, for recording; replay does not need them")
  func tls() async throws {
    try await withTLSUpstream(asksForClient: true) { origin, certificate in
      let folder = URL(filePath: certificate).deletingLastPathComponent()
      let client = (folder.appending(path: "client.pem").path, folder.appending(path: "client.key").path)
      try await withService { fixture in
        for access in [
          UpstreamAccess(ca: certificate, clientCertificate: client.0, clientKey: client.1),
          UpstreamAccess(clientCertificate: client.0, clientKey: client.1, insecure: true),
        ] {
          try await fixture.run(.record, ["api": origin], with: { $0.access = ["api": access] }) {
            environment async throws in
            #expect(try await environment.get("/headers").status == 200)
          }
        }
        let refused = try await fixture.run(.proxy, ["api": origin]) { environment async throws in
          let answer = try await environment.get("/headers")
          #expect(answer.status == 502)
          #expect(answer.text.contains("failed at TLS"), "\(answer.text)")
        }
        #expect(!refused.ok || refused.requests.total == 1)
        let gone = ["api": UpstreamAccess(ca: "/gone.pem")]
        try await fixture.run(.replay, with: { $0.access = gone }) { environment async throws in
          #expect(try await environment.get("/headers").status == 200)
        }
      }
    }
  }

  @Test("are checked when the environment is provisioned; errors name the problem, the upstream and what to do")
  func errors() async throws {
    try await withService { fixture in
      try fixture.write("no certificate", to: "empty.pem")
      try fixture.write("-----BEGIN CERTIFICATE-----\n", to: "cert.pem")
      try fixture.write("-----BEGIN ENCRYPTED PRIVATE KEY-----\n", to: "locked.key")
      let path: (String) -> String = { "\(fixture.folder)/\($0)" }
      let origin = try Origin(parsing: "https://api.test")
      let cases: [(String, UpstreamAccess, CodedError.Kind, String)] = [
        (
          "api", .init(ca: path("none.pem")), .inputOutput,
          "the CA of upstream 'api', \(path("none.pem")), does not exist"
        ),
        ("api", .init(ca: fixture.folder), .inputOutput, "cannot be read"),
        ("api", .init(ca: path("empty.pem")), .usage, "contains no PEM certificate"),
        ("api", .init(clientCertificate: path("cert.pem")), .usage, "contains no PEM key"),
        ("api", .init(clientCertificate: path("cert.pem"), clientKey: path("locked.key")), .usage, "is encrypted"),
        ("api", .init(clientKey: path("locked.key")), .usage, "a key needs its certificate"),
        ("api", .init(ca: "ca.pem"), .usage, "is not absolute"),
        ("api", .init(headers: ["X A": Secret("1")]), .usage, "not a header name"),
        ("api", .init(headers: ["X-A": Secret("1\r\nX-B: 2")]), .usage, "has line ends"),
        ("api", .init(headers: ["Content-Length": Secret("1")]), .usage, "belongs to the connection"),
        ("api", .init(headers: ["X-A": Secret("1"), "x-a": Secret("2")]), .usage, "given twice"),
        ("ap", .init(insecure: true), .usage, "there is no upstream 'ap'"),
      ]
      for (name, access, kind, words) in cases {
        let error = #expect(throws: CodedError.self) {
          _ = try fixture.provision(.proxy, ["api": origin]) { $0.access = [name: access] }
        }
        #expect(error?.kind == kind && error?.message.contains(words) == true, "\(words): \(String(describing: error))")
      }
    }
  }

  @Test("send no secret to a URL that only the cassette names; replay sends none, so it accepts them")
  func onlyInCassette() async throws {
    let upstream = try TestUpstream { text($0.headers["X-Api-Key"] ?? "none") }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        #expect(try await environment.get("/a").text == "none")
      }
      let access = ["api": UpstreamAccess(headers: ["X-Api-Key": Secret("key-of-api")])]
      let error = #expect(throws: CodedError.self) { try fixture.provision(.extend) { $0.access = access } }
      #expect(error?.kind == .usage)
      #expect(
        error?.message == "the header X-Api-Key would go to \(upstream.origin), which only the cassette names; "
          + "name the upstream yourself: --upstream api=\(upstream.origin)")
      try await fixture.run(.replay, with: { $0.access = access }) { environment async throws in
        #expect(try await environment.get("/a").text == "none")
      }
      try await fixture.run(.extend, with: { $0.access = ["api": UpstreamAccess(insecure: true)] }) {
        environment async throws in
        #expect(try await environment.get("/b").text == "none")
      }
      try await fixture.run(.extend, ["api": upstream.origin], with: { $0.access = access }) {
        environment async throws in
        #expect(try await environment.get("/c").text == "key-of-api")
      }
    }
  }

  @Test("are advised in shell syntax with quoted upstream names, which may come from a cassette")
  func quoted() {
    let specification = EnvironmentSpecification(name: "t", mode: .extend)
    #expect(specification.upstreamAdvice("api", "http://a.test") == "--upstream api=http://a.test")
    #expect(specification.upstreamAdvice("a;id #", "http://a.test") == "--upstream 'a;id #=http://a.test'")
    #expect(
      specification.recordAdvice(.extend, upstreams: [("$(id)", "http://a.test")])
        .contains(" --upstream '$(id)=http://a.test' "))
  }

  @Test("send secrets only to URLs that the caller named, also after a restart")
  func restored() async throws {
    let upstream = try TestUpstream { text($0.headers["X-Api-Key"] ?? "none") }
    try await withService(upstream) { fixture in
      let access = ["api": UpstreamAccess(headers: ["X-Api-Key": Secret("key-of-api")])]
      let snapshot = Guarded<EnvironmentSnapshot?>(nil)
      try await fixture.twoLives(.extend, ["api": upstream.origin], { $0.access = access }) {
        environment async throws in
        _ = try await environment.get("/a")
        let taken = environment.snapshot()
        snapshot.withLock { $0 = taken }
      } after: { environment async throws in
        #expect(try await environment.get("/b").text == "key-of-api")
      }
      // A snapshot as earlier versions stored it.
      let stored = try #require(snapshot.withLock { $0 })
      var object = try #require(JSONSerialization.jsonObject(with: stored.encoded()) as? [String: Any])
      var specification = try #require(object["specification"] as? [String: Any])
      specification["upstreams"] = [Any]()
      object["specification"] = specification
      let changed = try EnvironmentSnapshot(decoding: JSONSerialization.data(withJSONObject: object))
      let error = #expect(throws: CodedError.self) {
        try fixture.service.provision(changed.specification, restoring: changed)
      }
      #expect(error?.message.contains("which only the cassette names") == true)
    }
  }

  @Test("are accepted and checked by the control API, and kept in snapshots")
  func request() throws {
    let access = [
      "api": UpstreamAccess(
        headers: ["X-Api-Key": Secret("k")], ca: "/ca.pem", clientCertificate: "/c.pem", clientKey: "/k.pem",
        insecure: true)
    ]
    var configuration = EnvironmentConfiguration()
    configuration.upstreams = ["api": .init(url: "https://api.test", access: access["api"] ?? .init())]
    let sent = try JSONEncoder().encode(configuration)
    let specification = try EnvironmentSpecification(EnvironmentConfiguration(decoding: sent, from: .api))
    #expect(specification.access == access)
    #expect(!"\(specification)".contains("\"k\""))
    configuration.upstreams["api"]?.access.ca = "relative.pem"
    let error = #expect(throws: CodedError.self) {
      try EnvironmentConfiguration(decoding: JSONEncoder().encode(configuration), from: .api)
    }
    #expect(error?.problem.hasPrefix("upstreams.api.ca: not an absolute path") == true)
    // A restart restores them.
    let snapshot = try JSONDecoder().decode(EnvironmentSpecification.self, from: JSONEncoder().encode(specification))
    #expect(snapshot.access == access)
  }
}
