#if os(Linux)
  import ControlAPI
  import EnvironmentConfiguration
  import Foundation
  import Interception
  import TestSupport
  import Testing

  @testable import EnvironmentService

  @Suite("What is reported about intercepted connections")
  struct InterceptedTrafficTests {
    private let destination = Destination(address: "198.18.0.1", port: 443, name: "api.example.com", isTLS: true)

    /// The report of an environment, isolated by seccomp, after its traffic has been used.
    private func report(
      denying deny: [String] = [], until expiry: Date = .distantFuture,
      kind: String = "seccomp", _ use: (InterceptedTraffic) -> Void
    ) async throws -> Report {
      var settings = EnvironmentConfiguration.Isolation()
      (settings.kind, settings.deny) = ("auto", deny)
      return try await withService { fixture in
        let environment = try fixture.provision(.record, [:]) { $0.isolation = settings }
        environment.noteIsolation(.init(kind: kind))
        use(InterceptedTraffic(environment, certificatesUntil: expiry))
        return await environment.end().report
      }
    }

    @Test("names hosts whose certificate may not be trusted, and why only without namespaces")
    func unused() async throws {
      let report = try await report { $0.noticed(.unused(destination, count: 1)) }
      let missing = try #require(report.isolation?.missing)
      #expect(missing.count == 2)
      #expect(
        missing.first
          == "1 TLS connection to api.example.com:443 was closed after the certificate was sent, without a request: "
          + "a program may not trust it, or has opened connections in advance, as browsers do")
      #expect(missing.last?.hasPrefix("programs that trust only the system's certificates") == true)
      #expect(report.ok)
      let mounted = try await self.report(kind: "namespaces") { $0.noticed(.unused(destination, count: 2)) }
      #expect(
        mounted.isolation?.missing == [
          "2 TLS connections to api.example.com:443 were closed after the certificate was sent, without a request: a program may "
            + "not trust it, or has opened connections in advance, as browsers do"
        ])
      #expect(try await self.report { _ in }.isolation?.missing == nil)
    }

    @Test("says that the clock is past the certificate's end, in place of missing trust")
    func expired() async throws {
      let event = InterceptionEvent.certificateRefused(
        destination, cause: "the client sent the alert certificate_expired")
      let expiry = Date(timeIntervalSince1970: 0)
      let expired = try await report(until: expiry) { $0.noticed(event) }
      #expect(expired.failures.count == 1)
      #expect(
        expired.failures.first?.contains("it has expired at 1970-01-01T00:00:00Z; begin at a later date") == true)
      let pinned = try await report { $0.noticed(event) }
      #expect(pinned.failures.first?.contains("seems not to trust") == true)
    }

    @Test("closes connections to denied hosts that are not HTTP, and says so")
    func denied() async throws {
      let raw = Destination(address: "198.18.0.1", port: 22, name: "x.example.net")
      let web = Destination(address: "198.18.0.1", port: 443, name: "x.example.net")
      let other = Destination(address: "198.18.0.2", port: 22, name: "x.example.com")
      let report = try await report(denying: ["*.example.net"]) { traffic in
        #expect(traffic.refusesSilentClient(for: raw))
        #expect(!traffic.refusesSilentClient(for: web))
        #expect(!traffic.refusesSilentClient(for: other))
        #expect(traffic.relay(for: raw, protocol: "SSH") == nil)
      }
      #expect(
        report.isolation?.missing == ["x.example.net:22 was refused: the host is denied (--deny, isolation.deny)"])
      #expect(report.ok)
    }
  }
#endif
