import ControlAPI
import Basics
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A recording that has expired")
struct AgeTests {
  /// A cassette that claims to have been recorded this many days ago.
  private static func withOldRecording(
    days: Double = 45, _ body: (ServiceFixture, TestUpstream) async throws -> Void
  ) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let start = Date().addingTimeInterval(-days * 86_400)
      try await fixture.run(.record, ["api": upstream.origin], with: { $0.clock.start = start }) { environment in
        _ = try await environment.get("/a")
      }
      try await body(fixture, upstream)
    }
  }

  private static func policies(_ change: (inout CassettePolicies) -> Void) -> CassettePolicies {
    var policies = CassettePolicies()
    change(&policies)
    return policies
  }

  @Test(
    "is not replayed, and the error has its age and the command to re-record it",
    arguments: [
      Mode.replay, .once, .extend,
    ])
  func expired(mode: Mode) async throws {
    try await Self.withOldRecording { fixture, upstream in
      let before = try fixture.read("c.har")
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(mode) { $0.policies = Self.policies { $0.expiresAfterDays = 30 } }
      }
      #expect(error?.kind == .broken)
      let message = error?.message ?? ""
      #expect(message.contains("c.har was recorded 45 days ago ("))
      #expect(message.contains("expires after 30 days; re-record it: diorama run --mode record"))
      #expect(message.contains("--upstream api=\(upstream.origin)"))
      #expect(try fixture.read("c.har") == before)
    }
  }

  @Test("is replayed with a warning if that is the policy, and without one while it is recent enough")
  func warned() async throws {
    try await Self.withOldRecording { fixture, _ in
      for (limit, isSaid) in [(30.0, true), (46, false)] {
        let environment = try fixture.provision(.replay) {
          $0.policies = Self.policies {
            $0.expiresAfterDays = limit
            $0.expired = .warn
          }
        }
        #expect(try await environment.get("/a").text == "/a: 0")
        #expect(environment.notes.contains { $0.contains("was recorded 45 days ago") } == isSaid)
        #expect(await environment.end().report.ok)
      }
    }
  }

  @Test("is re-recorded by `once` from the cassette's upstreams, with a note")
  func anew() async throws {
    try await Self.withOldRecording { fixture, _ in
      let environment = try fixture.provision(.once) { $0.policies = Self.policies { $0.rerecordAfterDays = 30 } }
      #expect(environment.mode == .record)
      #expect(environment.notes.contains { $0.hasSuffix("more than 30 days: re-recording it") })
      #expect(try await environment.get("/a").text == "/a: 1")
      #expect(try await environment.end().sealed.get() != nil)
      let report = try await fixture.run(.once, with: { $0.policies = Self.policies { $0.rerecordAfterDays = 30 } }) {
        environment async throws in
        #expect(try await environment.get("/a").text == "/a: 1")
      }
      #expect(report.mode == "replay")
    }
  }

  @Test(
    "is never re-recorded without a request: in mode replay, and if CI is set, there is only a note",
    arguments: [
      (Mode.replay, false), (.once, true), (.replay, true),
    ])
  func neverLive(mode: Mode, isContinuousIntegration: Bool) async throws {
    try await Self.withOldRecording { fixture, _ in
      let environment = try fixture.provision(mode) {
        $0.policies = Self.policies { $0.rerecordAfterDays = 30 }
        $0.isContinuousIntegration = isContinuousIntegration
      }
      #expect(environment.mode == .replay)
      #expect(environment.notes.contains { $0.contains("more than 30 days; re-record it: ") })
      #expect(try await environment.get("/a").text == "/a: 0")
      _ = await environment.end()
    }
  }

  @Test("may be one of unknown age")
  func unknown() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try fixture.write(#"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[]}}"#, to: "c.har")
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.replay, ["api": upstream.origin]) {
          $0.policies = Self.policies { $0.expiresAfterDays = 30 }
        }
      }
      #expect(error?.message.contains("does not say when it was recorded") == true)
    }
  }

  @Test("may be one with a date in the future, which counts as unknown age")
  func toCome() async throws {
    try await Self.withOldRecording(days: -400) { fixture, _ async throws in
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.replay) { $0.policies = Self.policies { $0.expiresAfterDays = 30 } }
      }
      #expect(error?.message.contains("in the future, so its age is unknown") == true)
      #expect(try await fixture.provision(.replay).end().report.ok)
    }
  }

  @Test(
    "is not defined by an invalid number of days, and the error names the setting",
    arguments: [0, -1, .nan, .infinity, 40_000])
  func refused(days: Double) throws {
    var configuration = EnvironmentConfiguration()
    configuration.policies = .init(expiresAfterDays: days)
    let error = #expect(throws: CodedError.self) { try EnvironmentSpecification(configuration) }
    #expect(error?.kind == .usage)
    #expect(error?.message.hasPrefix("policies.expiresAfterDays: ") == true)
  }
}
