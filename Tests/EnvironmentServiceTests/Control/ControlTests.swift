import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Diorama's own paths on the main port")
struct ControlTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)

  @Test("require the environment's own token")
  func token() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let other = try fixture.provision(.mock)
      let right = environment.token
      for token in ["", "x", String(right.dropLast()), right + "0", other.token] {
        let answer = try await environment.control("/strings", #"{"key": "a"}"#, token: token)
        #expect(answer.status == 401)
        #expect(answer.headers["WWW-Authenticate"] == "Bearer")
        #expect(answer.headers["Content-Type"] == "application/problem+json")
        #expect(!answer.text.contains(right))
      }
      let bare = try await ask(
        environment.mainPort,
        request("POST", "/__diorama/strings", ["Host": "127.0.0.1:\(environment.mainPort)"], #"{"key": "a"}"#))
      #expect(bare.status == 401)
      #expect(try await environment.control("/strings", #"{"key": "a"}"#).status == 200)
      #expect(environment.report().requests.total == 0)
    }
  }

  @Test("move the clock, and name what is wrong with a move")
  func clock() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock) { $0.clock.start = Date(timeIntervalSince1970: 1_538_989_200) }
      let moved = try await environment.control("/clock", #"{"advance": 90}"#)
      #expect(moved.status == 200)
      #expect(
        try JSON.decode(ClockMoveAnswer.self, from: Data(moved.text.utf8), source: "").now == "2018-10-08T09:01:30Z")
      #expect(try await environment.control("/clock", #"{"set": "2019-01-01T00:00:00Z"}"#).status == 200)
      #expect(environment.now == RFC3339.parse("2019-01-01T00:00:00Z"))
      for body in [
        "{}", #"{"advance": 1e12}"#, #"{"set": "noon"}"#, #"{"advance": 1, "set": "2019-01-01T00:00:00Z"}"#,
        #"{"advance": 1, "timeoutSeconds": -1}"#, #"{"advance": 1, "sleepers": -1}"#,
      ] {
        #expect(try await environment.control("/clock", body).status == 422, "\(body)")
      }
      #expect(environment.now == RFC3339.parse("2019-01-01T00:00:00Z"))
    }
  }

  @Test("answer 405 with the allowed method, and 404 for an unknown path")
  func methods() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      for path in ["/strings", "/usage", "/clock"] {
        let answer = try await environment.control(path, "", method: "PUT")
        #expect(answer.status == 405)
        #expect(answer.headers["Allow"] == "POST")
      }
      for path in ["", "/", "/stringsx", "/nothing"] {
        #expect(try await environment.control(path, "{}").status == 404)
      }
    }
  }

  @Test(
    "answer 400 to an invalid body",
    arguments: [
      "", "{", "[]", #"{"key": 3}"#, #"{"toggles": []}"#, "\u{0}", #"{"strings": {"a": [[2, 1]]}, "key": 1}"#,
    ])
  func badBodies(body: String) async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      for path in ["/strings", "/usage"] {
        let answer = try await environment.control(path, body)
        #expect(answer.status == 400)
        #expect(answer.headers["Content-Type"] == "application/problem+json")
      }
    }
  }

  @Test("accept the smallest and largest integers as ordinals that were not recorded")
  func extremes() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      for (range, status) in [
        ("[0, 9223372036854775807]", 204), ("[9223372036854775807, 9223372036854775807]", 204),
        ("[-9223372036854775808, 9223372036854775807]", 204), ("[5, 1]", 400), ("[0, 9223372036854775808]", 400),
      ] {
        let answer = try await environment.control("/usage", #"{"strings": {"a": [\#(range)]}}"#)
        #expect(answer.status == status, "\(answer.text)")
      }
      #expect(environment.report().strings.read == 0)
    }
  }

  @Test("refuse values that are nested too deeply", arguments: [100, 500, 100_000])
  func deep(_ depth: Int) async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      let answer = try await environment.control("/usage", #"{"toggles": {"a": \#(value)}}"#)
      #expect(answer.status == 400)
      #expect(answer.text.contains("levels deep"))
    }
  }

  @Test("refuse an endless body with a 413")
  func longBody() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let answer = try await environment.control("/usage", String(repeating: " ", count: 9 << 20))
      #expect(answer.status == 413)
    }
  }

  @Test("belong to the upstream on its own port")
  func upstreamsPort() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      #expect(try await environment.get("/__diorama/strings").text == "/__diorama/strings: 0")
    }
  }

  @Test("receive which toggles the app reads, and the report lists those it never read")
  func usage() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock) {
        $0.toggles = ["read": .bool(true), "unread": .int(1), "another": .null]
      }
      let answer = try await environment.control("/usage", #"{"toggles": {"read": true, "own-default": "x"}}"#)
      #expect(answer.status == 204)
      // The first value read counts.
      #expect(try await environment.control("/usage", #"{"toggles": {"read": false}}"#).status == 204)
      let (report, _) = await environment.end()
      #expect(report.toggles.read == ["read": .bool(true), "own-default": .string("x")])
      #expect(report.toggles.unread == ["another", "unread"])
    }
  }
}
