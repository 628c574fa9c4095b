import ControlAPI
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A backend that has moved since it was recorded")
struct ChangingPortTests {
  private static func elsewhere(_ text: String) throws -> Origin { try Origin(parsing: text) }

  @Test(
    "can use its old cassette: its old address becomes the endpoint in responses, and still matches in requests",
    arguments: ["http://127.0.0.1:9", "https://dev.example.com"], [Mode.replay, .extend])
  func replays(now: String, mode: Mode) async throws {
    let upstream = try TestUpstream { request in
      text("{\"next\": \"http://\(request.headers["Host"] ?? "")/b\"}", type: "application/json")
    }
    try await withService { fixture in
      let ask = { (environment: Environment) in
        let endpoint = try #require(environment.endpoint("api"))
        let answer = try await environment.get(
          "/a?back=\(endpoint)/c&coded=http%3A%2F%2F127.0.0.1%3A\(endpoint.split(separator: ":")[2])")
        #expect(answer.status == 200)
        #expect(answer.text == "{\"next\": \"\(endpoint)/b\"}")
      }
      try await fixture.record(["api": upstream.origin], ask)
      let report = try await fixture.run(mode, ["api": Self.elsewhere(now)], use: ask)
      #expect(report.requests.replayed == 1)
      #expect(report.unused.isEmpty)
    }
    await upstream.stop()
  }
}
