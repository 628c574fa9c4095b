import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Near misses of a body that was not kept")
struct LargeNearMissTests {
  private func says(_ large: LargeBody, to target: String = "/x") -> [String] {
    var recorded = Interaction.recorded("POST", "https://a.test/x", upstream: "api", type: "image/png")
    recorded.request.body = .file(name: "c.bodies/1.png", length: 100)
    return nearMisses(
      method: "POST", target: target, upstreamName: "api", headers: ["Content-Type": "image/png"], body: [1, 2],
      in: [recorded], names: { $0.upstream }, large: large, body: inlineBody
    ).first?.differences.map(\.description) ?? []
  }

  @Test("say how long both are, or that they are not the same, and the rest as always")
  func differences() {
    #expect(says(LargeBody(length: 101) { _ in false }) == ["body length: recorded 100 bytes, got 101 bytes"])
    #expect(says(LargeBody(length: 100) { _ in false }) == ["body: recorded 100 bytes, got different content of the same length"])
    #expect(says(LargeBody(length: 100) { $0 == 0 }, to: "/x?a=1") == ["query item `a`: not recorded, got `1`"])
    #expect(
      says(LargeBody(length: 100) { _ in true }) == [
        "the request is recorded, but every recording of it has been played"
      ])
    #expect(
      says(LargeBody(length: 100) { _ in throw NoSuchBody() }) == [
        "body: recorded a body that cannot be read (no such file), got a body"
      ])
  }
}
