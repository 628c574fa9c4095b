import Basics
import Cassettes
import ControlAPI
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("What an environment stores")
struct KeptTextTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)
  private static let secret = "hunter2-and-more"

  @Test("contains no credential and no token, in whatever form the app has sent them")
  func nothing() async throws {
    try await withService { fixture in
      let told = Guarded<[JournalPage.Entry]>([])
      var specification = EnvironmentSpecification(name: "a test", mode: .mock)
      specification.upstreams = [.init(name: "api", origin: Self.origin)]
      specification.credentials = [.init(service: "s", account: "a", secret: Array(Self.secret.utf8))]
      specification.journalFile = "\(fixture.folder)/journal"
      let environment = try fixture.service.provision(
        specification, hooks: EnvironmentHooks(noted: { entries in told.withLock { $0 += entries } }))
      let encoded = Data(Self.secret.utf8).base64EncodedString()
      for text in [Self.secret, "hunter2%2Dand%2dmore", encoded, environment.token] {
        _ = try await environment.get("/login?password=\(text)")
        _ = try await ask(environment.mainPort, request("GET", "/\(text).test/x"))
        _ = try await environment.control("/usage", #"{"toggles": {"\#(text.count)": "a \#(text)"}}"#)
        environment.fail("could not write \(text)")
      }
      let page = environment.journalPage(after: 0, limit: 100)
      let (report, _) = await environment.end()
      var kept = [String(decoding: try JSONEncoder().encode(report), as: UTF8.self), try fixture.read("journal")]
      kept.append(String(decoding: try JSONEncoder().encode(page), as: UTF8.self))
      kept.append(String(decoding: try JSONEncoder().encode(told.withLock { $0 }), as: UTF8.self))
      for text in kept {
        #expect(text.contains("redacted"))
        for secret in [Self.secret, "hunter2", encoded, environment.token] { #expect(!text.contains(secret)) }
      }
      #expect(report.unmatched.count == 8)
    }
  }

  @Test("shows no secrets when printed, such as a snapshot")
  func printed() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      var text = ""
      dump(environment.snapshot().token, to: &text)
      #expect(!"\(environment.snapshot().token) \(text)".contains(environment.token))
    }
  }
}
