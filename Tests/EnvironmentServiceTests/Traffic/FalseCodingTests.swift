import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A body that is not coded as it says")
struct FalseCodingTests {
  @Test("is passed on and replayed as it came", arguments: [2_000, 400_000], ["text/plain", "image/png"])
  func asSent(size: Int, type: String) async throws {
    let body = noise(size)
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": type, "Content-Encoding": "gzip"],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withWorld { world in
      let ask = { (environment: Environment) in
        for path in ["/whole", "/chunked"] {
          let answer = try await environment.get(path, ["Accept-Encoding": "gzip"])
          #expect(answer.headers["Content-Encoding"] == "gzip")
          #expect(answer.body == body)
        }
      }
      try await world.record(["api": upstream.origin], ask)
      try await world.run(.replay, use: ask)
    }
    await upstream.stop()
  }
}
