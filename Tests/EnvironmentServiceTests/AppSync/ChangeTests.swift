import ControlAPI
import Basics
import Cassettes
import Diorama
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Changes of a running environment")
struct ChangeTests {
  @Test("are made at once if no app follows")
  func alone() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let moved = try await environment.moveClock(.advance(.seconds(900)), afterSleepers: 0, timeout: .zero)
      #expect((moved.now, moved.revision, moved.woken) == (beginning + 900, 1, 0))
      #expect(environment.now == beginning + 900)
      #expect(try await environment.update(timeout: .zero) == 1)
      let report = environment.report()
      #expect(report.clock.start == "2018-10-08T09:00:00Z")
      #expect(report.clock.now == "2018-10-08T09:15:00Z")
    }
  }

  @Test("are refused as a whole if any part is invalid, and nothing changes")
  func refused() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["a": .int(1)] }
      let before = environment.contract
      for clock in [
        Environment.ClockPatch(timeZone: "Europe/Nowhere"), .init(kind: .system, start: beginning),
        .init(kind: .scaled, rate: 0), .init(start: .distantFuture + 1e15),
      ] {
        let error = await #expect(throws: CodedError.self) {
          try await environment.update(toggles: ["a": .int(2)], clock: clock, timeout: .seconds(5))
        }
        #expect(error?.kind == .usage)
      }
      for move in [Environment.ClockMove.advance(.seconds(-1)), .set(.distantFuture + 1e15)] {
        let error = await #expect(throws: CodedError.self) {
          try await environment.moveClock(move, afterSleepers: nil, timeout: .seconds(5))
        }
        #expect(error?.kind == .usage)
      }
      let negative = await #expect(throws: CodedError.self) {
        try await environment.moveClock(.advance(.seconds(1)), afterSleepers: -1, timeout: .seconds(5))
      }
      #expect(negative?.kind == .usage)
      let large = await #expect(throws: CodedError.self) {
        try await environment.update(
          values: ["a": .string(String(repeating: "x", count: 1 << 20))], timeout: .seconds(5))
      }
      #expect(large?.kind == .usage)
      #expect(environment.contract == before)
    }
  }

  @Test("cannot move a system clock")
  func system() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock) { $0.clock.kind = "system" }
      let error = await #expect(throws: CodedError.self) {
        try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .seconds(5))
      }
      #expect(error?.kind == .usage)
      #expect(error?.message.contains("a system clock shows the machine's time") == true)
    }
  }

  @Test("of a ticking clock are seen by an app that starts later")
  func ticking() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock) {
        $0.clock.kind = "ticking"
        $0.clock.start = beginning
      }
      _ = try await environment.moveClock(.advance(.seconds(86_400)), afterSleepers: nil, timeout: .seconds(5))
      let contract = environment.contract
      let clock = try MutableState(mode: .mock, clock: contract.clock, toggles: [:], values: [:]).timeline
      #expect(abs(clock.now.timeIntervalSince(environment.now)) < 1)
      #expect(clock.now >= beginning + 86_400)
    }
  }

  @Test("can be abandoned by cancelling the waiting task")
  func cancelled() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let task = Task {
        try await environment.moveClock(.advance(.seconds(1)), afterSleepers: 1, timeout: .seconds(600))
      }
      try await environment.until { $0.watch != nil }
      task.cancel()
      let error = await #expect(throws: CodedError.self) { try await task.value }
      #expect(error?.kind == .unanswered)
      #expect(environment.now == beginning)
      #expect(environment.live { live, _ in live.changes.isEmpty && live.watch == nil })
    }
  }

  @Test("add toggles to the report, where later ones count as unread too")
  func report() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["a": .int(1), "b": .int(1)] }
      try await environment.update(toggles: ["c": .int(1), "b": nil], timeout: .seconds(5))
      _ = try await environment.control("/usage", #"{"toggles": {"a": 1}}"#)
      #expect(environment.report().toggles.unread == ["b", "c"])
    }
  }

  @Test("can switch the mode from extend to replay, which fails closed, and back")
  func mode() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.extend, ["api": upstream.origin], ServiceFixture.replaces)
      #expect(try await environment.get("/a").status == 200)
      try await environment.update(mode: .replay, timeout: .seconds(5))
      #expect(environment.mode == .replay)
      #expect(environment.contract.mode == "replay")
      #expect(environment.contract.strings?.policy == .replay)
      #expect(try await environment.get("/b").status == 501)
      #expect(try await environment.control("/strings", #"{"key": "k"}"#).status == 409)
      #expect(upstream.requestCount == 1)
      try await environment.update(mode: .extend, timeout: .seconds(5))
      #expect(try await environment.get("/b").status == 200)
      #expect(try await environment.control("/strings", #"{"key": "k"}"#).status == 200)
      _ = await environment.end()
      #expect(try fixture.cassette().interactions.count == 2)
    }
  }

  @Test("cannot switch to a mode that was not provisioned", arguments: [Mode.proxy, .record, .once, .mock])
  func otherModes(mode: Mode) async throws {
    try await withService { fixture in
      let origin = Origin(scheme: "https", host: "a.test", port: 443)
      let environment = try fixture.provision(.extend, ["api": origin])
      let error = await #expect(throws: CodedError.self) {
        try await environment.update(toggles: ["a": .int(1)], mode: mode, timeout: .seconds(5))
      }
      #expect(error?.kind == .usage)
      #expect(environment.mode == .extend)
      #expect(environment.contract.toggles == [:])
    }
  }
}
