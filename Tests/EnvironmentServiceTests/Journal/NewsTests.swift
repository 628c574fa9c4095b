import Basics
@testable import Transforms
import ControlAPI
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Delivery of journal entries")
struct NewsTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)

  @Test("is in order and exactly once, even under load, and complete by the end")
  func noted() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let told = Guarded<[JournalPage.Entry]>([])
      var specification = EnvironmentSpecification(name: "a test", mode: .replay)
      specification.cassette = fixture.location()
      let environment = try fixture.service.provision(
        specification, hooks: EnvironmentHooks(noted: { entries in told.withLock { $0 += entries } }))
      let port = environment.upstreams[0].port
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            try await onThread {
              let client = try RawClient(port: port)
              for _ in 0..<40 {
                try client.send(String(repeating: request("GET", "/a"), count: 99) + request("GET", "/missing"))
                for _ in 0..<100 { _ = try client.receiveAnswer() }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      _ = await environment.end()
      let entries = told.withLock { $0 }
      #expect(entries.map(\.number) == Array(1...16_000))
      #expect(entries.count { $0.kind == "replayed" && $0.url == "\(upstream.origin)/a" } == 15_840)
      #expect(entries.count { $0.kind == "unmatched" && $0.method == "GET" } == 160)
    }
  }

  @Test("wakes clients that wait, unless they know the entry already", .timeLimit(.minutes(5)))
  func waiting() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Self.origin])
      let far = ContinuousClock.now + .seconds(600)
      async let first: Void = environment.waitForJournal(after: 0, until: far)
      async let second: Void = environment.waitForJournal(after: 1, until: far)
      _ = try await environment.get("/1")
      try await first
      #expect(environment.lastJournalNumber == 1)
      // Known already, so this does not wait.
      try await environment.waitForJournal(after: 0, until: far)
      _ = try await environment.get("/2")
      try await second
    }
  }

  @Test("ends a wait at its deadline, when it is cancelled, and with the environment", .timeLimit(.minutes(5)))
  func ends() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let far = ContinuousClock.now + .seconds(600)
      try await environment.waitForJournal(after: 0, until: .now + .milliseconds(20))
      try await environment.waitForJournal(after: 0, until: .now - .seconds(1))
      let cancelled = Task { try await environment.waitForJournal(after: 0, until: far) }
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { try await cancelled.value }
      async let last: Void = environment.waitForJournal(after: 0, until: far)
      _ = await environment.end()
      try await last
      try await environment.waitForJournal(after: 0, until: far)
    }
  }
}
