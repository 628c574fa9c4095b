import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Rules of what counts as the same request")
struct RuleTests {
  private static let ignoringTime = #"{"rules": [{"path": "/book/*", "ignore": {"json": ["$.at"], "query": ["_"]}}]}"#

  /// A cassette with a booking whose body has the time in it.
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

  @Test("stand in a file beside the cassette, and change no recording")
  func beside() async throws {
    try await withBooking { fixture in
      let recorded = try fixture.read("c.har")
      #expect(try await answer(fixture) == 501)
      try fixture.write(Self.ignoringTime, to: "c.rules.json")
      #expect(try await answer(fixture) == 200)
      try fixture.write(#"{"rules": [{"ignore": {"query": ["_"]}}]}"#, to: "c.rules.json")
      #expect(try await answer(fixture) == 501)
      #expect(try fixture.read("c.har") == recorded)
    }
  }

  @Test("of the cassette outrank those of the folder, and those that are asked for outrank both")
  func nearest() async throws {
    try await withBooking { fixture in
      try fixture.write(Self.ignoringTime, to: "rules.json")
      #expect(try await answer(fixture) == 200)
      try fixture.write("{}", to: "c.rules.json")
      #expect(try await answer(fixture) == 501)
      let given = try MatchingRules.read(Array(Self.ignoringTime.utf8), name: "given")
      #expect(try await answer(fixture) { $0.rules = given } == 200)
      try fixture.write(Self.ignoringTime, to: "c.rules.json")
      #expect(try await answer(fixture) { $0.rules = MatchingRules() } == 501)
    }
  }

  @Test("that are broken are told at once, whatever the mode", arguments: [Mode.record, .replay, .once])
  func broken(mode: Mode) async throws {
    try await withBooking { fixture in
      try fixture.write(#"{"rules": [{"ignore": {"headrs": []}}]}"#, to: "c.rules.json")
      #expect {
        _ = try fixture.provision(mode, ["api": Origin(scheme: "http", host: "a.test", port: 80)])
      } throws: { error in
        let error = error as? CodedError
        return error?.kind == .broken
          && error?.message.hasPrefix("\(fixture.folder)/c.rules.json: $.rules[0].ignore has no member 'headrs'")
            == true
      }
    }
  }

  @Test("for an upstream that is not there are noted, but for a folder's, which may mean other cassettes'")
  func strangers() async throws {
    try await withBooking { fixture in
      let json = #"{"rules": [{"changesState": true}, {"upstream": "apii", "ignore": {"query": ["_"]}}]}"#
      try fixture.write(json, to: "rules.json")
      try await fixture.run(.replay) { #expect($0.notes.isEmpty) }
      try fixture.write(json, to: "c.rules.json")
      try await fixture.run(.replay) { environment async throws in
        #expect(
          environment.notes == [
            "rule 2 of c.rules.json is for the upstream 'apii', which is not here; did you mean 'api'?"
          ])
      }
    }
  }

  @Test("that cannot be read are told by the file's name")
  func unreadable() async throws {
    try await withService { fixture in
      _ = #expect {
        _ = try EnvironmentSpecification.readRules("\(fixture.folder)/none.json")
      } throws: { ($0 as? CodedError)?.kind == .noCassette && "\($0)".contains("none.json") }
    }
  }

  @Test("are named where a request is nearly recorded, and what they leave out is no difference")
  func miss() async throws {
    try await withBooking { fixture in
      try fixture.write(Self.ignoringTime, to: "c.rules.json")
      let report = try await fixture.run(.replay) { environment async throws in
        let answer = try await environment.post("/book/1?_=2", #"{"at": 2, "slot": 8}"#)
        #expect(answer.status == 501)
        let nearest = try answer.json["nearest"]?.array?.first
        #expect(nearest?["differences"]?.array?.compactMap(\.string) == ["body $.slot: recorded 7, got 8"])
        #expect(
          nearest?["rules"]?.array?.compactMap(\.string) == [
            "rule 1 of c.rules.json (/book/*): ignores query item _; ignores JSON $.at"
          ])
      }
      let lines = ReportText(report).lines()
      #expect(
        lines.contains("    compared by rule 1 of c.rules.json (/book/*): ignores query item _; ignores JSON $.at"))
    }
  }

  @Test("compare headers that the app sends, in the upstream's terms")
  func headers() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for language in ["en", "de"] {
          let own = "http://127.0.0.1:\(environment.upstreams[0].port)"
          _ = try await environment.get("/a", ["Accept-Language": language, "Referer": "\(own)/page"])
        }
      }
      try fixture.write(
        #"{"rules": [{"compare": {"headers": ["Accept-Language", "Referer"]}}]}"#, to: "rules.json")
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

  @Test("with a pattern that takes too long fail the environment, and say which")
  func slow() async throws {
    try await withBooking { fixture in
      try fixture.write(#"{"rules": [{"ignore": {"pattern": ["(a|aa)+$"]}}]}"#, to: "rules.json")
      let report = try await fixture.run(.replay) { environment async throws in
        let text = String(repeating: "a", count: 80) + "b"
        let answer = try await environment.post("/x", "\"\(text)\"")
        #expect(answer.status == 500)
        #expect(answer.text.contains("(a|aa)+$"))
      }
      #expect(!report.ok)
    }
  }

  @Test("multipart bodies are the same whatever their boundary, without any rule")
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
