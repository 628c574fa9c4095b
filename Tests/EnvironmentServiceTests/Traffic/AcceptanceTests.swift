import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A request without Accept-Encoding")
struct AcceptanceTests {
  @Test("is answered as recorded, coded or not")
  func asRecorded() async throws {
    let upstream = try CodedUpstream.start { _ in String(repeating: "coded ", count: 100) }
    try await withService { fixture in
      let ask = { (environment: Environment) in
        let answer = try await environment.get("/gzip")
        #expect(answer.headers["Content-Encoding"] == "gzip")
        let text = try CodedUpstream.decode(answer.body, "gzip")
        #expect(text.hasPrefix("coded coded"))
      }
      try await fixture.record(["api": upstream.origin], ask)
      try await fixture.run(.replay, use: ask)
      try await fixture.run(.replay) { environment in
        let answer = try await environment.get("/gzip", ["Accept-Encoding": "identity"])
        #expect(answer.headers["Content-Encoding"] == nil)
        #expect(answer.text.hasPrefix("coded coded"))
      }
    }
    await upstream.stop()
  }
}
