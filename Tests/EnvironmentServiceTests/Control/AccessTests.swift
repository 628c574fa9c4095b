import ControlAPI
import Basics
import LaunchContract
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Diorama's own paths refuse a web page")
struct AccessTests {
  private static let flags = "/__diorama/ofrep/v1/evaluate/flags"

  private func answer(
    _ environment: Environment, _ method: String, _ target: String, host: String?, origin: String? = nil
  ) async throws -> RawClient.Answer {
    var headers: Headers = ["Authorization": "Bearer \(environment.token)", "Content-Type": "application/json"]
    if let host { headers.append("Host", host) }
    if let origin { headers.append("Origin", origin) }
    return try await ask(environment.mainPort, request(method, target, headers, "{}"))
  }

  @Test("under a host name that resolves to this machine, whatever the token")
  func rebinding() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock) { $0.toggles = ["on": .bool(true)] }
      let port = environment.mainPort
      for host in ["evil.test", "evil.test:\(port)", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.test:\(port)"] {
        for (method, target) in [("POST", Self.flags), ("POST", Self.flags + "/on"), ("GET", "/__diorama/state")] {
          let answer = try await answer(environment, method, target, host: host)
          #expect(answer.status == 403, "\(host)")
          #expect(!answer.text.contains("STATIC"))
        }
      }
      for host in ["127.0.0.1:\(port)", "localhost:\(port)", "LocalHost:\(port)"] {
        #expect(try await answer(environment, "POST", Self.flags, host: host).status == 200)
        #expect(try await answer(environment, "GET", "/__diorama/state", host: host).status == 200)
      }
      #expect(environment.report().requests.total == 0)
    }
  }

  @Test("from another origin, without CORS headers")
  func origins() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let host = "127.0.0.1:\(environment.mainPort)"
      for origin in ["https://evil.test", "null", "http://127.0.0.1:1", "https://\(host)", "http://\(host).evil.test"] {
        for method in ["POST", "OPTIONS"] {
          let answer = try await answer(environment, method, Self.flags, host: host, origin: origin)
          #expect(answer.status == 403, "\(origin)")
          #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
        }
        #expect(try await answer(environment, "GET", "/__diorama/state", host: host, origin: origin).status == 403)
      }
      #expect(try await answer(environment, "POST", Self.flags, host: host, origin: "http://\(host)").status == 200)
    }
  }

  @Test("with an absolute-form request for another host")
  func absoluteForm() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let own = "127.0.0.1:\(environment.mainPort)"
      let target = "http://\(own)\(Self.flags)"
      #expect(try await answer(environment, "POST", target, host: own).status == 200)
      #expect(try await answer(environment, "POST", target, host: "evil.test").status == 403)
      let evil = try await answer(environment, "POST", "http://evil.test\(Self.flags)", host: "evil.test")
      #expect(evil.status == 501)
    }
  }
}
