import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Matching rules")
struct RuleTests {
  private static let ignoringTime = #"{"rules": [{"path": "/book/*", "ignore": {"json": ["$.at"], "query": ["_"]}}]}"#

  /// Records a booking whose body contains the time.
  private func withBooking(_ body: (ServiceFixture) async throws -> Void) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.post("/book/1?_=1", #"{"at": 1, "slot": 7}"#)
      }
      try await body(fixture)
    }
  }

  private func answer(
    _ fixture: ServiceFixture, _ configure: (inout EnvironmentSpecification) -> Void = { _ in }
  ) async throws -> Int {
    var status = 0
    try await fixture.run(.replay, with: configure) { environment async throws in
      status = try await environment.post("/book/1?_=2", #"{"at": 2, "slot": 7}"#).status
    }
    return status
  }

  @Test("are read from the project file, and change no recording")
  func beside() async throws {
    try await withBooking { fixture in
      let recorded = try fixture.read("c.har")
      #expect(try await answer(fixture) == 501)
      try fixture.project(matching: Self.ignoringTime)
      #expect(try await answer(fixture) == 200)
      try fixture.project(matching: #"{"rules": [{"ignore": {"query": ["_"]}}]}"#)
      #expect(try await answer(fixture) == 501)
      #expect(try fixture.read("c.har") == recorded)
    }
  }

  @Test("for some cassettes are added to those for all, and a test's own rules to both")
  func nearest() async throws {
    try await withBooking { fixture in
      try fixture.project(matching: #"{"rules": [{"ignore": {"query": ["_"]}}]}"#)
      #expect(try await answer(fixture) == 501)
      let override = #"{"cassettes": "c", "matching": {"rules": [{"path": "/book/*", "ignore": {"json": ["$.at"]}}]}}"#
      try fixture.write(
        #"{"matching": {"rules": [{"ignore": {"query": ["_"]}}]}, "overrides": [\#(override)]}"#, to: "diorama.json")
      #expect(try await answer(fixture) == 200)
      #expect(try await answer(fixture) { $0.rules = MatchingRules() } == 501)
    }
  }

  @Test("that are invalid are an error at provisioning in any mode", arguments: [Mode.record, .replay, .once])
  func broken(mode: Mode) async throws {
    try await withBooking { fixture in
      for (text, problem) in [
        (#"{"rules": [{"ignore": {"headrs": []}}]}"#, "matching.rules[0].ignore.headrs: unknown member"),
        (#"{"rules": [{"path": "a", "changesState": true}]}"#, "matching.rules[0].path is 'a'"),
      ] {
        try fixture.project(matching: text)
        #expect {
          _ = try fixture.provision(mode, ["api": Origin(scheme: "http", host: "a.test", port: 80)])
        } throws: { error in
          let error = error as? CodedError
          return error?.kind == .broken
            && error?.message.hasPrefix("\(fixture.folder)/diorama.json: \(problem)") == true
        }
      }
    }
  }

  @Test(
    "in a separate file are an error that says where to move them",
    arguments: [
      ("rules.json", #"{"matching": …}"#),
      ("c.redact.json", #"{"overrides": [{"cassettes": "c", "redaction": …}]}"#), ("shift.json", #"{"dates": …}"#),
    ])
  func sideFile(name: String, advice: String) async throws {
    try await withBooking { fixture in
      try fixture.write("{}", to: name)
      let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
      #expect(error?.kind == .broken)
      #expect(
        error?.message
          == "\(fixture.folder)/\(name) is no longer read; move its content to diorama.json, as \(advice), and delete it"
      )
    }
  }

  @Test("for an unknown upstream cause a note, except rules for all cassettes, which may be for another cassette")
  func strangers() async throws {
    try await withBooking { fixture in
      let json = #"{"rules": [{"changesState": true}, {"upstream": "apii", "ignore": {"query": ["_"]}}]}"#
      try fixture.project(matching: json)
      try await fixture.run(.replay) { #expect($0.notes.isEmpty) }
      try fixture.write(#"{"overrides": [{"cassettes": "c", "matching": \#(json)}]}"#, to: "diorama.json")
      try await fixture.run(.replay) { environment async throws in
        #expect(
          environment.notes == [
            "rule 2 of diorama.json, for c names the upstream 'apii', which does not exist; did you mean 'api'?"
          ])
      }
    }
  }

  @Test("are listed for the nearest interaction, and ignored parts are not listed as differences")
  func miss() async throws {
    try await withBooking { fixture in
      try fixture.project(matching: Self.ignoringTime)
      let report = try await fixture.run(.replay) { environment async throws in
        let answer = try await environment.post("/book/1?_=2", #"{"at": 2, "slot": 8}"#)
        #expect(answer.status == 501)
        let nearest = try answer.json["nearest"]?.array?.first
        #expect(nearest?["differences"]?.array?.compactMap(\.string) == ["body $.slot: recorded 7, got 8"])
        #expect(
          nearest?["rules"]?.array?.compactMap(\.string) == [
            "rule 1 of diorama.json (/book/*): ignores query item _; ignores JSON $.at"
          ])
      }
      let lines = ReportText(report).lines()
      #expect(
        lines.contains("    compared by rule 1 of diorama.json (/book/*): ignores query item _; ignores JSON $.at"))
    }
  }

  @Test("compare headers that the app sends, with the upstream's URLs")
  func headers() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for language in ["en", "de"] {
          let own = "http://127.0.0.1:\(environment.upstreams[0].port)"
          _ = try await environment.get("/a", ["Accept-Language": language, "Referer": "\(own)/page"])
        }
      }
      try fixture.project(matching: #"{"rules": [{"compare": {"headers": ["Accept-Language", "Referer"]}}]}"#)
      try await fixture.run(.replay) { environment async throws in
        for (language, expected) in [("de", "/a: 1"), ("de", "/a: 1"), ("en", "/a: 0")] {
          let own = "http://127.0.0.1:\(environment.upstreams[0].port)"
          let answer = try await environment.get("/a", ["Accept-Language": language, "Referer": "\(own)/page"])
          #expect(answer.text == expected)
        }
        #expect(try await environment.get("/a").status == 501)
      }
    }
  }

  @Test("with a pattern that takes too long fail the environment, and the report names it")
  func slow() async throws {
    try await withBooking { fixture in
      try fixture.project(matching: #"{"rules": [{"ignore": {"pattern": ["(a|aa)+$"]}}]}"#)
      let report = try await fixture.run(.replay) { environment async throws in
        let text = String(repeating: "a", count: 80) + "b"
        let answer = try await environment.post("/x", "\"\(text)\"")
        #expect(answer.status == 500)
        #expect(answer.text.contains("(a|aa)+$"))
      }
      #expect(!report.ok)
    }
  }

  @Test("are not needed to match multipart bodies with different boundaries")
  func multipart() async throws {
    func body(_ boundary: String) -> String {
      "--\(boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--\(boundary)--\r\n"
    }
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.post("/up", body("one"), type: "multipart/form-data; boundary=one")
      }
      let report = try await fixture.run(.replay) { environment async throws in
        let answer = try await environment.post("/up", body("two"), type: "multipart/form-data; boundary=two")
        #expect(answer.text == "/up: 0")
      }
      #expect(report.ok)
    }
  }
}
