import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("What each mode does with a request")
struct ModeTests {
  @Test("proxy forwards every request and writes no file")
  func proxy() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      #expect(try await environment.get("/a").text == "/a: 0")
      #expect(try await environment.get("/a").text == "/a: 1")
      let (report, sealed) = await environment.end()
      #expect(report.requests.forwarded == 2)
      #expect(report.requests.total == 2)
      #expect(report.ok)
      let outcome = try sealed.get()
      #expect(outcome == nil)
      #expect(fixture.files == [])
    }
  }

  @Test("record forwards, and replaces the cassette with what it saw")
  func record() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      let report = try await fixture.record(["api": upstream.origin]) { environment async throws in
        #expect(try await environment.get("/new").text == "/new: 1")
      }
      #expect(report.requests.recorded == 1)
      let cassette = try fixture.cassette()
      #expect(cassette.interactions.map(\.request.url) == ["\(upstream.origin)/new"])
      #expect(cassette.interactions.map(\.upstream) == ["api"])
      #expect(fixture.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("replay answers with what is recorded, and opens no connection")
  func replay() async throws {
    let upstream = try numbered()
    let silent = try SilentPort()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let environment = try fixture.provision(.replay, ["api": silent.origin])
      #expect(try await environment.get("/a").text == "/a: 0")
      #expect(try await environment.get("/missing").status == 501)
      let (report, _) = await environment.end()
      #expect(report.requests.replayed == 1)
      #expect(report.requests.unmatched == 1)
      #expect(!report.ok)
      #expect(upstream.requestCount == 1)
      #expect(!silent.wasTried)
    }
  }

  @Test("replay uses the cassette's upstreams if none are given")
  func ownUpstreams() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin, "cdn": Origin(parsing: "https://cdn.test")]) {
        _ = try await $0.get("/a")
      }
      let environment = try fixture.provision(.replay)
      #expect(environment.upstreams.map(\.name) == ["api", "cdn"])
      #expect(try await environment.get("/a").text == "/a: 0")
    }
  }

  @Test("extend replays what is recorded, records only what is missing, and keeps the recording date")
  func extend() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin]) {
        $0.clock.start = Date(timeIntervalSince1970: 1_000_000_000)
      } use: {
        _ = try await $0.get("/a")
        _ = try await $0.get("/a")
      }
      let before = try fixture.cassette()
      let report = try await fixture.run(.extend, ["api": upstream.origin]) { environment async throws in
        #expect(environment.clock.start == before.header.recordedAt)
        #expect(try await environment.get("/a").text == "/a: 0")
        #expect(try await environment.get("/b").text == "/b: 2")
        #expect(try await environment.get("/a").text == "/a: 1")
        #expect(try await environment.get("/b").text == "/b: 3")
      }
      #expect(report.requests.replayed == 2)
      #expect(report.requests.recorded == 2)
      #expect(upstream.requestCount == 4)
      let after = try fixture.cassette()
      #expect(after.header.recordedAt == before.header.recordedAt)
      #expect(after.header.recordedAt == "2001-09-09T01:46:40Z")
      #expect(after.interactions.map(\.request.url) == ["/a", "/a", "/b", "/b"].map { "\(upstream.origin)\($0)" })
      let replay = try fixture.provision(.replay)
      #expect(try await replay.get("/b").text == "/b: 2")
      #expect(try await replay.get("/b").text == "/b: 3")
    }
  }

  @Test("extend records if there is no cassette")
  func extendNothing() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.run(.extend, ["api": upstream.origin]) { _ = try await $0.get("/a") }
      #expect(try fixture.cassette().interactions.count == 1)
    }
  }

  @Test("once records if there is no cassette, and replays if there is one")
  func once() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      for mode in [Mode.record, .replay] {
        try await fixture.run(.once, ["api": upstream.origin]) { environment async throws in
          #expect(environment.mode == mode)
          #expect(try await environment.get("/a").text == "/a: 0")
        }
      }
      #expect(upstream.requestCount == 1)
    }
  }

  @Test("once never records in CI, but replays there")
  func continuousIntegration() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.once, ["api": upstream.origin]) { $0.isContinuousIntegration = true }
      }
      #expect(error?.kind == .noCassette)
      #expect(error?.message.contains("diorama run --mode record") == true)
      #expect(fixture.files == [])
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let environment = try fixture.provision(.once, ["api": upstream.origin]) { $0.isContinuousIntegration = true }
      #expect(environment.mode == .replay)
    }
  }

  @Test("mock answers 501 and reaches nothing")
  func mock() async throws {
    let silent = try SilentPort()
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": silent.origin])
      let answer = try await environment.get("/a")
      #expect(answer.status == 501)
      #expect(answer.headers["Diorama-Miss"] == "1")
      let (report, _) = await environment.end()
      #expect(report.requests.unmatched == 1)
      #expect(!report.ok)
      #expect(!silent.wasTried)
      #expect(fixture.files == [])
    }
  }

  @Test("a mode that reaches the network requires an upstream, and a mode with a cassette its name")
  func needs() async throws {
    try await withService { fixture in
      for mode in [Mode.proxy, .record, .extend, .once] {
        let error = #expect(throws: CodedError.self) { try fixture.provision(mode) }
        #expect(error?.kind == .noUpstream)
        #expect(error?.message.contains("--upstream") == true)
      }
      for mode in [Mode.record, .extend, .replay, .once] {
        let error = #expect(throws: CodedError.self) { try fixture.provision(mode) { $0.cassette = nil } }
        #expect(error?.kind == .usage)
        #expect(error?.message.contains("--cassette") == true)
      }
      let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
      #expect(error?.kind == .noCassette)
      #expect(fixture.files == [])
    }
  }

  @Test("upstreams with the same name, or names that give the same variable, are refused")
  func names() async throws {
    let origin = try Origin(parsing: "https://a.test")
    try await withService { fixture in
      for other in ["api", "API", "a-b", "a_b"] {
        let error = #expect(throws: CodedError.self) {
          try fixture.provision(.proxy, [other.contains("a") && other != "api" ? "a b" : "api": origin, other: origin])
        }
        #expect(error?.kind == .usage)
      }
    }
  }
}
