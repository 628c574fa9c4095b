import Basics
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Control API access", .timeLimit(.minutes(5)))
struct AccessTests {
  private static let everything = RouteTable.all.map { route in
    (route.method, route.path.text.replacing("{id}", with: "e1").replacing("{port}", with: "20005"), route.isOpen)
  }

  @Test("requires the token for all operations except two")
  func token() async throws {
    #expect(Self.everything.filter(\.2).map(\.1) == ["/v1/health", "/openapi.json"])
    try await withControlServer { served in
      for (method, target, isOpen) in Self.everything {
        let answer = try await served.send(served.request(method, target, authorization: .some(nil)))
        #expect(answer.status == (isOpen ? 200 : 401), "\(method) \(target)")
        if !isOpen { #expect(answer.headers["WWW-Authenticate"]?.hasPrefix("Bearer") == true) }
      }
      #expect(served.operations.state.withLock { $0.provisioned.isEmpty })
    }
  }

  @Test("refuses a wrong Host header for all operations, even with the token")
  func host() async throws {
    try await withControlServer { served in
      for (method, target, _) in Self.everything {
        let answer = try await served.send(served.request(method, target, host: "evil.example:\(served.port)"))
        #expect(answer.status == 403, "\(method) \(target)")
        #expect(answer.detail.contains("127.0.0.1:\(served.port)"))
      }
    }
  }

  @Test("refuses web pages for all operations, and allows no origin")
  func page() async throws {
    try await withControlServer { served in
      for (method, target, _) in Self.everything {
        let answer = try await served.send(
          served.request(method, target, headers: ["Origin: https://evil.example"]))
        #expect(answer.status == 403, "\(method) \(target)")
        #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
      }
      // The preflight request of a browser.
      let preflight = try await served.send(
        served.request(
          "OPTIONS", "/v1/ports", authorization: .some(nil),
          headers: ["Origin: https://evil.example", "Access-Control-Request-Method: POST"]))
      #expect(preflight.status == 403)
      #expect(preflight.headers.fields.allSatisfy { !$0.name.hasPrefix("Access-Control") })
    }
  }

  @Test("doesn't reveal which paths exist without the token")
  func unknownPath() async throws {
    try await withControlServer { served in
      for target in ["/", "/v1/ports/1", "/v1/environments/e1", "/nothing", "/%ff", "/v1/health/"] {
        let answer = try await served.send(served.request("GET", target, authorization: "Bearer wrong"))
        #expect(answer.status == 401, "\(target)")
      }
    }
  }

  @Test("never includes the token in answers")
  func silence() async throws {
    try await withControlServer { served in
      for request in [
        served.request("GET", "/v1/environments"), served.request("GET", "/nothing"), served.request("GET", "/metrics"),
        served.request("POST", "/v1/ports", body: #"{"x": "\#(RunningControlServer.token)"}"#),
      ] {
        let answer = try await served.send(request)
        #expect(!answer.text.contains(RunningControlServer.token))
      }
    }
  }
}
