import Basics
import Cassettes
import EnvironmentConfiguration
import HTTPMessages
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

@Suite("Identifiers of issuers")
struct IssuerTests {
  /// A provider of identities, whose documents name its own address.
  private static func provider() throws -> TestUpstream {
    try TestUpstream { request in
      let url = "http://\(request.headers["Host"] ?? "")"
      return text(#"{"issuer": "\#(url)", "iss": "\#(url)", "jwks_uri": "\#(url)/jwks"}"#, type: "application/json")
    }
  }

  @Test("stay in discovery documents, while they are forwarded, recorded and replayed", arguments: [false, true])
  func discovery(isOnMainPort: Bool) async throws {
    let upstream = try Self.provider()
    let path = "/realms/a/.well-known/openid-configuration"
    try await withService(upstream) { fixture in
      func check(_ environment: Environment) async throws {
        let endpoint =
          isOnMainPort
          ? "http://127.0.0.1:\(environment.mainPort)/127.0.0.1:\(upstream.origin.port)"
          : environment.endpoint("api") ?? ""
        let port = isOnMainPort ? environment.mainPort : environment.upstreams[0].port
        let prefix = isOnMainPort ? "/127.0.0.1:\(upstream.origin.port)" : ""
        for target in [path, "/other"] {
          let issuer = target == path ? upstream.origin.description : endpoint
          #expect(
            try await ask(port, request("GET", prefix + target)).text
              == #"{"issuer": "\#(issuer)", "iss": "\#(endpoint)", "jwks_uri": "\#(endpoint)/jwks"}"#)
        }
      }
      let proxy = try fixture.provision(.proxy, ["api": upstream.origin])
      try await check(proxy)
      _ = await proxy.end()
      try await fixture.record(["api": upstream.origin], check)
      await upstream.stop()
      // Twice: the second answer is a prepared one.
      try await fixture.run(.replay) { environment async throws in
        try await check(environment)
        try await check(environment)
      }
    }
  }

  @Test("stay at places that the settings name, only in the environment that names them")
  func places() async throws {
    let upstream = try Self.provider()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/introspect") }
      var rules = RewritingRules()
      rules.keep = ["$.issuer", "$.iss", "$.jwks_uri"]
      for _ in 0..<2 {
        try await fixture.run(.replay, with: { $0.rewriting = rules }) { environment async throws in
          #expect(try await !environment.get("/introspect").text.contains(environment.endpoint("api") ?? "?"))
        }
        try await fixture.run(.replay) { environment async throws in
          #expect(try await !environment.get("/introspect").text.contains(upstream.origin.description))
        }
      }
    }
  }
}
