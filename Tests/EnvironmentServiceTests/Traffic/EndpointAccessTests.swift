import Basics
import ControlAPI
import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Who may use an endpoint", .timeLimit(.minutes(5)))
struct EndpointAccessTests {
  private static let foreignPage: Headers = ["Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"]

  private func access(_ allowedHosts: [String] = [], hasStakes: Bool = true) throws -> EndpointAccess {
    let upstreams = [try Origin(parsing: "https://api.test"), try Origin(parsing: "http://shop.test:8080")]
    return EndpointAccess(upstreams: upstreams, allowedHosts: allowedHosts, hasStakes: hasStakes)
  }

  private func isAdmitted(_ access: EndpointAccess, _ headers: Headers, target: String = "/") -> Bool {
    (try? access.check(Request(method: "GET", target: target, headers: headers), at: 20_013)) != nil
  }

  @Test(
    "includes who names the endpoint or an upstream",
    arguments: [
      "127.0.0.1:20013", "localhost:20013", "LOCALHOST:20013", "[::1]:20013", "localhost", "app.localhost:20013",
      "api.test", "api.test:443", "api.test.", "shop.test:8080",
    ])
  func ownHosts(host: String) throws {
    #expect(isAdmitted(try access(), ["Host": host]))
  }

  @Test(
    "does not include who names another host, such as a page that has rebound its name",
    arguments: [
      "evil.test", "evil.test:20013", "127.0.0.1:1", "127.0.0.1.evil.test:20013", "localhost.evil.test",
      "10.0.0.1:20013", "api.test:80", "shop.test", "evil.127.0.0.1:20013",
    ])
  func foreignHosts(host: String) throws {
    #expect(!isAdmitted(try access(), ["Host": host]))
    #expect(isAdmitted(try access([host.split(separator: ":")[0].description]), ["Host": host]))
    #expect(isAdmitted(try access(["*"]), ["Host": host]))
    #expect(isAdmitted(try access(), ["Host": host], target: "http://api.test/"), "the target names the host")
  }

  @Test(
    "does not include a page of another site while there is something to lose",
    arguments: [
      foreignPage, ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "cross-site", "Origin": "null"],
      ["Sec-Fetch-Site": "Cross-Site", "Referer": "https://evil.test/localhost"],
      ["Sec-Fetch-Site": "cross-site", "Origin": "https://api.test:1"],
    ])
  func foreignPages(headers: Headers) throws {
    #expect(!isAdmitted(try access(), headers))
    #expect(isAdmitted(try access(hasStakes: false), headers))
    #expect(isAdmitted(try access(["*"]), headers))
  }

  @Test(
    "includes pages of this machine, of upstreams, and of allowed hosts",
    arguments: [
      ["Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:3000"],
      ["Sec-Fetch-Site": "cross-site", "Referer": "http://127.0.0.1:3000/a?b#c"],
      ["Sec-Fetch-Site": "cross-site", "Origin": "https://api.test"],
      ["Sec-Fetch-Site": "cross-site", "Origin": "https://app.example:4000"],
      ["Sec-Fetch-Site": "same-site", "Origin": "https://evil.test"], ["Sec-Fetch-Site": "none"],
      ["Origin": "https://evil.test"],
    ] as [Headers])
  func ownPages(headers: Headers) throws {
    #expect(isAdmitted(try access(["app.example"]), headers))
  }

  @Test(
    "is decided before a request is counted, sent on, recorded or missed",
    arguments: [Mode.record, .proxy, .replay])
  func refused(mode: Mode) async throws {
    let upstream = try TestUpstream { _ in text("secret", type: "text/plain") }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let before = upstream.requestCount
      let environment = try fixture.provision(mode, mode == .replay ? [:] : ["api": upstream.origin]) {
        $0.access = mode == .replay ? nil : ["api": UpstreamAccess(headers: ["X-Api-Key": Secret("key")])]
      }
      #expect(try await environment.get("/a", ["Host": "evil.test"]).status == 403)
      #expect(try await environment.get("/b", ["Host": "evil.test"]).status == 403)
      let page = try await environment.get("/a", Self.foreignPage)
      #expect(page.status == (mode == .replay ? 200 : 403))
      let report = await environment.end().report
      #expect(report.requests.total == (mode == .replay ? 1 : 0) && report.unmatched.isEmpty && report.ok)
      #expect(upstream.requestCount == before)
    }
  }

  @Test("is a list of host names", arguments: ["", "a b", "http://a", "a:80", "a/b", "*.a"])
  func invalid(host: String) {
    var configuration = EnvironmentConfiguration()
    configuration.allowedHosts = [host]
    #expect(throws: CodedError.self) { try EnvironmentSpecification(configuration) }
  }
}
