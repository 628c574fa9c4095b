import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract
import Testing

@testable import DioramaTesting

@Suite("Upstream access settings")
struct UpstreamAccessTests {
  private let identity = TestIdentity(module: "M", suites: ["S"], function: "f()", file: "/tests/ShopTests.swift")

  @Test("resolve files relative to the test's folder; a test overrides its suite for each upstream")
  func resolved() throws {
    let suite = TestEnvironment.Configuration(access: ["api": .init(insecure: true), "mail": .init(ca: "/ca.pem")])
    let test = TestEnvironment.Configuration(
      access: [
        "api": .init(
          headers: ["X-Api-Key": "k"], ca: "Certificates/ca.pem", clientCertificate: "me.pem", clientKey: "/me.key")
      ])
    let access = try test.inside(suite).resolved(for: identity, variables: [:]).upstreams.mapValues(\.access)
    #expect(access["api"]?.ca == "/tests/Certificates/ca.pem")
    #expect(access["api"]?.clientCertificate == "/tests/me.pem" && access["api"]?.clientKey == "/me.key")
    #expect(access["api"]?.headers == ["X-Api-Key": Secret("k")] && access["api"]?.insecure == nil)
    #expect(access["mail"]?.ca == "/ca.pem")
    #expect(try TestEnvironment.Configuration().resolved(for: identity, variables: [:]).upstreams.isEmpty)
  }

  @Test("reject an invalid header with its name, without its value")
  func refused() throws {
    let settings = TestEnvironment.Configuration(access: ["api": .init(headers: ["X-A": "secret\r\nX-B: 2"])])
    let error = #expect(throws: DioramaTestingError.self) {
      try settings.resolved(for: identity, variables: [:])
    }
    #expect(error?.description.contains("X-A") == true && error?.description.contains("secret") == false)
  }

  @Test("send no header to a URL that only the cassette contains")
  func onlyInCassette() async throws {
    let folder = try Folder()
    try Data(
      """
      {"log": {"version": "1.2", "creator": {"name": "diorama", "version": "1"}, "_diorama": {"format": 1,
      "recordedAt": "2018-10-08T09:00:00Z", "upstreams": {"api": "http://127.0.0.1:1"}}, "entries": []}}
      """.utf8
    ).write(to: URL(fileURLWithPath: folder.file("tape.har")))
    let error = await #expect(throws: DioramaTestingError.self) {
      _ = try await TestEnvironment.provision(
        mode: .extend, access: ["api": .init(headers: ["X-Api-Key": "hush"])], cassette: folder.file("tape"))
    }
    let text = error?.description ?? ""
    #expect(
      text.contains("the header X-Api-Key would go to http://127.0.0.1:1, which only the cassette names"), "\(text)")
    #expect(text.contains(#"name the upstream yourself: upstreams: ["api": "http://127.0.0.1:1"]"#), "\(text)")
    #expect(!text.contains("hush"))
  }
}
