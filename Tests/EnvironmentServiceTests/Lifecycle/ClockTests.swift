import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("An environment's clock")
struct ClockTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)

  @Test("is the machine's in proxy")
  func proxy() async throws {
    try await withService { fixture in
      let clock = try fixture.provision(.proxy, ["api": Self.origin]).clock
      #expect(clock.kind == .system)
      #expect(clock.start == nil)
    }
  }

  @Test("is frozen at now, to the millisecond, in a recording, and at the same time in replay and extend")
  func frozen() async throws {
    try await withService { fixture in
      let before = Date()
      var start: String?
      try await fixture.run(.record, ["api": Self.origin]) { environment in
        start = environment.clock.start
        #expect(environment.clock.kind == .frozen)
        #expect(environment.recordedAt == start)
        let date = try #require(start.flatMap { RFC3339.parse($0) })
        #expect(date.timeIntervalSince(before) > -0.002)
        #expect(date <= Date())
        let milliseconds = date.timeIntervalSince1970 * 1000
        #expect(abs(milliseconds - milliseconds.rounded()) < 0.001)
        #expect(environment.now == date)
        #expect(environment.contract.clock.start == start)
        _ = try await environment.control("/strings", #"{"key": "k"}"#)
      }
      for mode in [Mode.replay, .extend] {
        let environment = try fixture.provision(mode, ["api": Self.origin])
        #expect(environment.clock.kind == .frozen)
        #expect(environment.clock.start == start)
        let report = environment.report()
        #expect(report.recordedAt == start)
        #expect(report.clock.start == start)
        #expect(report.clock.now == start)
        _ = await environment.end()
      }
    }
  }

  @Test("starts at a given time, which becomes the date of a recording")
  func start() async throws {
    let start = Date(timeIntervalSince1970: 1_538_989_200)
    try await withService { fixture in
      try await fixture.run(.record, ["api": Self.origin], with: { $0.clock.start = start }) { environment in
        #expect(environment.clock.start == "2018-10-08T09:00:00Z")
        _ = try await environment.control("/strings", #"{"key": "k"}"#)
      }
      #expect(try fixture.cassette().header.recordedAt == "2018-10-08T09:00:00Z")
      #expect(try fixture.provision(.replay).clock.start == "2018-10-08T09:00:00Z")
      let later = try fixture.provision(.replay) { $0.clock.start = start.addingTimeInterval(60) }
      #expect(later.clock.start == "2018-10-08T09:01:00Z")
      #expect(later.recordedAt == "2018-10-08T09:00:00Z")
    }
  }

  @Test("keeps the recording's time zone and locale unless others are given")
  func zone() async throws {
    try await withService { fixture in
      try await fixture.run(
        .record, ["api": Self.origin],
        with: {
          $0.clock.timeZone = "Asia/Kathmandu"
          $0.clock.locale = "ne_NP"
        }
      ) { environment in
        #expect(environment.clock.timeZone == "Asia/Kathmandu")
        _ = try await environment.control("/strings", #"{"key": "k"}"#)
      }
      let same = try fixture.provision(.replay)
      #expect(same.clock.timeZone == "Asia/Kathmandu")
      #expect(same.clock.locale == "ne_NP")
      #expect(same.variables["TZ"] == "Asia/Kathmandu")
      let other = try fixture.provision(.replay) { $0.clock.timeZone = "UTC" }
      #expect(other.clock.timeZone == "UTC")
      #expect(other.clock.locale == "ne_NP")
    }
  }

  @Test("records the machine's time zone if none is given")
  func machineZone() async throws {
    try await withService { fixture in
      try await fixture.run(.record, ["api": Self.origin]) { environment in
        #expect(environment.contract.clock.timeZone == TimeZone.current.identifier)
        #expect(environment.variables["TZ"] == nil)
        _ = try await environment.control("/strings", #"{"key": "k"}"#)
      }
      #expect(try fixture.cassette().header.timeZone == TimeZone.current.identifier)
      #expect(try fixture.provision(.replay).clock.timeZone == TimeZone.current.identifier)
    }
  }

  @Test("runs if ticking or scaled, and stands still if manual")
  func kinds() async throws {
    let start = Date(timeIntervalSince1970: 1_538_989_200)
    try await withService { fixture in
      let make = { (kind: String, rate: Double) in
        try fixture.provision(.mock) {
          $0.clock.kind = kind
          $0.clock.start = start
          $0.clock.rate = rate
        }
      }
      let ticking = try make("ticking", 1)
      let scaled = try make("scaled", 1_000_000)
      let manual = try make("manual", 1)
      #expect(manual.now == start)
      let first = ticking.now
      #expect(first >= start)
      // A million times faster, so two readings in a row differ.
      let early = scaled.now
      #expect(scaled.now > early)
      #expect(ticking.now >= first)
      #expect(ticking.now < start.addingTimeInterval(60))
      #expect(scaled.clock.rate == 1_000_000)
    }
  }

  @Test("is refused if it is invalid")
  func refused() async throws {
    try await withService { fixture in
      for (what, configure) in [
        ("kind", { $0.clock.kind = "sundial" }),
        ("time zone", { $0.clock.timeZone = "Europe/Nowhere" }),
        (
          "--start",
          {
            $0.clock.kind = "system"
            $0.clock.start = Date()
          }
        ),
        (
          "rate",
          {
            $0.clock.kind = "scaled"
            $0.clock.rate = 0
          }
        ),
        (
          "rate",
          {
            $0.clock.kind = "scaled"
            $0.clock.rate = .nan
          }
        ),
        (
          "rate",
          {
            $0.clock.kind = "scaled"
            $0.clock.rate = 1e7
          }
        ),
      ] as [(String, (inout EnvironmentSpecification) -> Void)] {
        let error = #expect(throws: CodedError.self) {
          try fixture.provision(.record, ["api": Self.origin], configure)
        }
        #expect(error?.kind == .usage)
        #expect(error?.message.contains(what) == true)
        #expect(fixture.files == [])
      }
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.proxy, ["api": Self.origin]) { $0.clock.start = Date() }
      }
      #expect(error?.kind == .usage)
    }
  }
}
