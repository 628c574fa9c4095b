import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Interactions that no test uses")
struct UnusedTests {
  /// Records `/a`, `/b`, `/c` and `/a`.
  private static func withRecording(_ body: (ServiceFixture) async throws -> Void) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for target in ["/a", "/b", "/c", "/a"] { _ = try await environment.get(target) }
      }
      try await body(fixture)
    }
  }

  private static func replay(_ fixture: ServiceFixture, _ targets: [String]) async throws -> CassettePruner.Usage {
    let report = try await fixture.run(.replay) { environment in
      for target in targets { _ = try await environment.get(target) }
    }
    return CassettePruner.Usage(file: "report.json", report: report)
  }

  private static func unused(_ fixture: ServiceFixture, _ usages: [CassettePruner.Usage]) throws -> [Int] {
    try CassettePruner.unused(
      of: CassetteReader.read(fixture.location()).cassette, in: fixture.location(), accordingTo: usages)
  }

  @Test("fail a replay if that is the policy, and are only listed otherwise")
  func failing() async throws {
    try await Self.withRecording { fixture in
      var policies = CassettePolicies()
      policies.unused = .fail
      let report = try await fixture.run(.replay, with: { $0.policies = policies }) { _ = try await $0.get("/a") }
      #expect(!report.ok)
      #expect(report.failures.contains { $0.hasPrefix("3 interactions of the cassette unused: ") })
      let usual = try await fixture.run(.replay) { _ = try await $0.get("/a") }
      #expect(usual.ok && usual.unused.map(\.index) == [1, 2, 3])
      let all = try await fixture.run(.replay, with: { $0.policies = policies }) { environment in
        for target in ["/a", "/b", "/c", "/a"] { _ = try await environment.get(target) }
      }
      #expect(all.ok)
    }
  }

  @Test("are those that are unused in all reports, and can be removed without affecting the rest")
  func pruned() async throws {
    try await Self.withRecording { fixture in
      let usages = [try await Self.replay(fixture, ["/a", "/a"]), try await Self.replay(fixture, ["/c"])]
      let unused = try Self.unused(fixture, usages)
      #expect(unused == [1])
      let strings = try fixture.read("c.strings.json")
      #expect(try CassettePruner.remove(unused, from: fixture.location()).left == 3)
      #expect(try fixture.read("c.strings.json") == strings)
      #expect(!fixture.exists("c.har.partial") && !fixture.exists("c.har.new"))
      let report = try await fixture.run(.replay) { environment async throws in
        for (target, answer) in [("/a", "/a: 0"), ("/c", "/c: 2"), ("/a", "/a: 3")] {
          #expect(try await environment.get(target).text == answer)
        }
        #expect(try await environment.get("/b").status == 501)
      }
      #expect(report.unused.isEmpty)
    }
  }

  @Test("are not taken from a report of another recording, cassette or mode, or of a failed test")
  func refused() async throws {
    try await Self.withRecording { fixture in
      let usage = try await Self.replay(fixture, ["/a"])
      func problem(_ change: (inout Report) -> Void) -> String {
        var changed = usage
        change(&changed.report)
        do {
          return "\(try Self.unused(fixture, [usage, changed]))"
        } catch {
          return "\(error)"
        }
      }
      #expect(problem { $0.mode = "extend" } == "report.json is of mode extend; only a replay shows what is unused")
      #expect(problem { $0.cassette = "/other.har" }.hasPrefix("report.json is for /other.har, not "))
      #expect(problem { $0.ok = false }.hasPrefix("report.json is of a test that failed"))
      #expect(problem { $0.recordedAt = "2018-10-08T09:00:00Z" }.hasPrefix("report.json is for an earlier "))
      #expect(problem { $0.unused[0].url += "x" }.hasPrefix("report.json is for an earlier recording of "))
      #expect(problem { $0.commandStatus = 1 }.hasPrefix("report.json is of a test that failed"))
      #expect(problem { $0.ended = nil }.hasPrefix("report.json is of an environment that had not ended"))
      #expect(problem { $0.interactions = 5 }.hasPrefix("report.json is for an earlier recording of "))
      #expect(problem { _ in } == "[1, 2, 3]")
    }
  }

  @Test("can be removed by the report that they failed, but only once, since the cassette has changed then")
  func once() async throws {
    try await Self.withRecording { fixture in
      var policies = CassettePolicies()
      policies.unused = .fail
      let report = try await fixture.run(.replay, with: { $0.policies = policies }) { _ = try await $0.get("/a") }
      #expect(!report.ok)
      let usage = CassettePruner.Usage(file: "report.json", report: report)
      #expect(try CassettePruner.remove(Self.unused(fixture, [usage]), from: fixture.location()).left == 1)
      #expect(throws: CodedError.self) { try Self.unused(fixture, [usage]) }
    }
  }

  @Test("are not taken from a running environment's report")
  func soFar() async throws {
    try await Self.withRecording { fixture in
      let environment = try fixture.provision(.replay)
      let usage = CassettePruner.Usage(file: "report.json", report: environment.report())
      #expect(throws: CodedError.self) { try Self.unused(fixture, [usage]) }
      _ = await environment.end()
    }
  }

  @Test("are kept while the cassette is being recorded, or has an unfinished recording")
  func recording() async throws {
    try await Self.withRecording { fixture in
      let before = try fixture.read("c.har")
      try fixture.write("", to: "c.har.partial")
      let error = #expect(throws: CodedError.self) { try CassettePruner.remove([0], from: fixture.location()) }
      #expect(error?.kind == .cannotWrite)
      #expect(error?.message.contains("diorama cassette check --recover") == true)
      #expect(try fixture.read("c.har") == before)
    }
  }
}
