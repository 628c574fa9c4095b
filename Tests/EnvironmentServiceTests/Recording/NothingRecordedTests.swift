import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("An empty or failed recording")
struct NothingRecordedTests {
  @Test("becomes no cassette without interactions and strings", arguments: [true, false])
  func nothingAsked(hasSucceeded: Bool) async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.once, ["api": Origin(parsing: "http://127.0.0.1:9")])
      let (report, sealed) = await environment.end(hasSucceeded: hasSucceeded)
      #expect(try sealed.get()?.isWritten == false)
      #expect(report.ok && report.recording?.outcome == .nothing)
      #expect(fixture.files == [])
    }
  }

  @Test("fails if an upstream fails, unless that is permitted", arguments: [false, true])
  func upstreamDown(isPermitted: Bool) async throws {
    let origin = try Origin(parsing: "http://127.0.0.1:1")
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": origin]) {
        $0.policies = CassettePolicies()
        $0.policies?.allowsUpstreamFailures = isPermitted
      }
      for _ in 0..<2 { #expect(try await environment.get("/a").status == 502) }
      let (report, sealed) = await environment.end()
      #expect(try sealed.get()?.isWritten == false)
      #expect(report.ok == isPermitted)
      let failure = try #require(report.upstreamFailures?.first)
      #expect(failure.method == "GET" && failure.url == "\(origin)/a" && failure.count == 2)
      #expect(failure.cause.contains("refused"))
      #expect(ReportText(report).lines().contains { $0.hasPrefix("failed upstream: GET \(origin)/a: ") })
      #expect(fixture.files == [])
    }
  }

  @Test("is kept beside the cassette, and can be made the cassette", arguments: [false, true])
  func failedRun(isFirst: Bool) async throws {
    let upstream = try TestUpstream { request in
      Response(status: 200, headers: ["Content-Type": "text/plain"], body: .bytes(Array(request.target.utf8)))
    }
    try await withService { fixture in
      if !isFirst { try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/good") } }
      let before = fixture.files
      for _ in 0..<2 {
        let environment = try fixture.provision(.record, ["api": upstream.origin])
        #expect(try await environment.get("/bad").status == 200)
        let (report, _) = await environment.end(hasSucceeded: false)
        #expect(report.recording == .init(outcome: .aside, interactions: 1, file: "\(fixture.folder)/c.failed.har"))
      }
      #expect(fixture.files == (before + ["c.failed.har", "c.failed.strings.json"]).sorted())
      if !isFirst { #expect(try fixture.cassette().interactions.map(\.request.url) == ["\(upstream.origin)/good"]) }

      #expect(try CassetteRecovery.recover(fixture.location())?.added == 1)
      #expect(try fixture.cassette().interactions.map(\.request.url) == ["\(upstream.origin)/bad"])
      let previous = isFirst ? [] : ["c.previous.har", "c.previous.strings.json"]
      #expect(fixture.files == ["c.har"] + previous + ["c.strings.json"])
    }
  }

  @Test("of an earlier run is removed once a run succeeds; a setting makes it the cassette")
  func replaced() async throws {
    let upstream = try TestUpstream { _ in Response(status: 200) }
    try await withService { fixture in
      for hasSucceeded in [false, true] {
        let environment = try fixture.provision(.record, ["api": upstream.origin])
        #expect(try await environment.get("/").status == 200)
        _ = await environment.end(hasSucceeded: hasSucceeded)
      }
      #expect(fixture.files == ["c.har", "c.strings.json"])
      let environment = try fixture.provision(.record, ["api": upstream.origin]) {
        $0.policies = CassettePolicies()
        $0.policies?.replacesAfterFailure = true
      }
      #expect(try await environment.get("/new").status == 200)
      let (report, _) = await environment.end(hasSucceeded: false)
      #expect(report.recording?.outcome == .written)
      #expect(try fixture.cassette().interactions.map(\.request.url) == ["\(upstream.origin)/new"])
    }
  }

  @Test("does not touch another cassette that has its name")
  func otherCassette() async throws {
    let upstream = try TestUpstream { _ in Response(status: 200) }
    try await withService { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/own") }
      try FileManager.default.moveItem(atPath: "\(fixture.folder)/c.har", toPath: "\(fixture.folder)/c.failed.har")
      let other = try fixture.read("c.failed.har")
      for hasSucceeded in [false, true] {
        let environment = try fixture.provision(.record, ["api": upstream.origin])
        #expect(try await environment.get("/").status == 200)
        let (report, _) = await environment.end(hasSucceeded: hasSucceeded)
        if !hasSucceeded { #expect(report.recording?.file == "\(fixture.folder)/c.failed-2.har") }
        #expect(try fixture.read("c.failed.har") == other)
      }
    }
  }

  @Test("fails if the app requests an undeclared host")
  func undeclared() async throws {
    let upstream = try TestUpstream { _ in Response(status: 200) }
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      #expect(try await environment.get("/").status == 200)
      #expect(try await onThread { try Self.askMain(environment.mainPort) } == 501)
      let (report, _) = await environment.end()
      #expect(!report.ok && report.unmatched.first?.refusal != nil && report.recording?.outcome == .aside)
    }
  }

  private static func askMain(_ port: UInt16) throws -> Int {
    let client = try RawClient(port: port)
    try client.send(request("GET", "/other.test/x"))
    return try client.receiveAnswer().status
  }

  @Test("does not replace a complete cassette if a body could not be stored")
  func lostBody() async throws {
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": "image/png"],
        body: .bytes([UInt8](repeating: 7, count: request.target == "/large" ? 400_000 : 10)))
    }
    try await withService { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for path in ["/a", "/b"] {
          let answer = try await environment.get(path)
          #expect(answer.status == 200)
        }
      }
      // A file in place of the folder of large bodies.
      try fixture.write("", to: "c.bodies")
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      #expect(try await environment.get("/a").status == 200)
      _ = try? await environment.get("/large")
      let (report, sealed) = await environment.end()
      #expect(throws: CodedError.self) { _ = try sealed.get() }
      #expect(!report.ok)
      #expect(environment.recordingFailure?.kind == .cannotWrite)
      #expect(try fixture.cassette().interactions.count == 2)
    }
    await upstream.stop()
  }
}
