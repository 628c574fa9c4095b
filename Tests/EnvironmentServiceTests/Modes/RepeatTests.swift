import ControlAPI
@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A request that was recorded several times")
struct RepeatTests {
  /// Records `/a` three times and `/b` once.
  private static func recorded(_ fixture: ServiceFixture, _ upstream: TestUpstream) async throws {
    try await fixture.record(["api": upstream.origin]) { environment in
      for target in ["/a", "/b", "/a", "/a"] { _ = try await environment.get(target) }
    }
  }

  @Test("is answered in recorded order, then with the last response repeatedly")
  func order() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await Self.recorded(fixture, upstream)
      let report = try await fixture.run(.replay) { environment in
        var answers: [String] = []
        for _ in 0..<5 { answers.append(try await environment.get("/a").text) }
        #expect(answers == ["/a: 0", "/a: 2", "/a: 3", "/a: 3", "/a: 3"])
      }
      #expect(report.requests.replayed == 5)
      #expect(report.unused.map(\.index) == [1])
      #expect(report.ok)
    }
  }

  @Test("is answered once per recording if tracks play uniquely, and missed after that")
  func uniquely() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await Self.recorded(fixture, upstream)
      let report = try await fixture.run(.replay, with: { $0.playsUniquely = true }) { environment in
        for expected in ["/a: 0", "/a: 2", "/a: 3"] {
          let answer = try await environment.get("/a")
          #expect(answer.text == expected)
        }
        let late = try await environment.get("/a")
        #expect(late.status == 501)
      }
      #expect(report.requests.replayed == 3)
      #expect(report.requests.unmatched == 1)
      #expect(!report.ok)
    }
  }

  @Test("is answered exactly once per recording if requests are concurrent")
  func concurrent() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for _ in 0..<40 { _ = try await environment.get("/a") }
      }
      let environment = try fixture.provision(.replay)
      let port = environment.upstreams[0].port
      // Eight connections at once, in alternating forms: the fast path and the slow path share the order.
      let authority = upstream.origin.authority
      let main = environment.mainPort
      let answers = try await withThrowingTaskGroup(of: [String].self) { group in
        for worker in 0..<8 {
          group.addTask {
            try await onThread {
              let client = try RawClient(port: worker.isMultiple(of: 2) ? port : main)
              let text = request("GET", worker.isMultiple(of: 2) ? "/a" : "/\(authority)/a")
              return try (0..<5).map { _ in try client.exchange(text).text }
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(Set(answers).count == 40)
      #expect(try await environment.get("/a").text == "/a: 39")
      let (report, _) = await environment.end()
      #expect(report.requests.replayed == 41)
      #expect(report.unused.isEmpty)
    }
  }
}
