import ControlAPI
import Basics
import Cassettes
import Diorama
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Random values of an environment")
struct StringTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)
  private static let seed = "recording-2018"

  private func value(_ answer: RawClient.Answer) throws -> String { try answer.json["value"]?.string ?? answer.text }

  /// Writes a store with `email` 0 and 1, derived from the specification's seed, beside a cassette.
  private static func recorded(_ fixture: ServiceFixture) async throws {
    try await fixture.run(.record, ["api": origin], with: { $0.seed = seed }) { environment in
      for _ in 0..<2 { _ = try await environment.control("/strings", #"{"key": "email", "length": 12}"#) }
    }
  }

  @Test("are derived from the specification's seed, with ordinals counted for programs that do not count")
  func specification() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": Self.origin]) { $0.seed = Self.seed }
      #expect(environment.seed == Self.seed)
      for (ordinal, expected) in ["z0r1lpyugt7o", "1hjqdinv568o"].enumerated() {
        let answer = try await environment.control("/strings", #"{"key": "email", "length": 12}"#)
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "application/json")
        #expect(try value(answer) == expected)
        #expect(try answer.json["ordinal"]?.int == ordinal)
      }
      let uuid = try await environment.control("/strings", #"{"key": "user", "type": "uuid"}"#)
      #expect(try value(uuid) == "33b5dc9e-2b61-5d71-b1cb-ce186f420e82")
      let age = try await environment.control("/strings", #"{"key": "age", "type": "integer", "low": 18, "high": 99}"#)
      #expect(try value(age) == "55")
      let symptom = #"{"key": "symptom", "length": 40, "alphabet": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}"#
      #expect(
        try value(try await environment.control("/strings", symptom)) == "DHDSDWQFZRKRTJOVFHXSNQDTLOVQZKMKKWNGBHGZ")
      let (report, _) = await environment.end()
      #expect(report.strings.recorded == 5)
      #expect(report.ok)
      let store = try fixture.read("c.strings.json")
      for value in ["z0r1lpyugt7o", "1hjqdinv568o", "33b5dc9e-2b61-5d71-b1cb-ce186f420e82", "\"55\"", Self.seed] {
        #expect(store.contains(value))
      }
    }
  }

  @Test("are read in replay whatever the seed, and unused ones are reported")
  func replay() async throws {
    try await withService { fixture in
      try await Self.recorded(fixture)
      let environment = try fixture.provision(.replay) { $0.seed = "another" }
      let answer = try await environment.control("/strings", #"{"key": "email", "length": 12}"#)
      #expect(try value(answer) == "z0r1lpyugt7o")
      let (report, _) = await environment.end()
      #expect(report.strings.read == 1)
      #expect(report.strings.unused == [.init(key: "email", ordinal: 1)])
      #expect(report.strings.missing.isEmpty)
      #expect(report.ok)
    }
  }

  @Test("that are missing in replay are an error with the nearest keys, and fail the environment")
  func missing() async throws {
    try await withService { fixture in
      try await Self.recorded(fixture)
      let environment = try fixture.provision(.replay)
      let answer = try await environment.control("/strings", #"{"key": "emial", "length": 12}"#)
      #expect(answer.status == 409)
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      #expect(try answer.json["detail"]?.string?.contains("'email'") == true)
      let third = try await environment.control("/strings", #"{"key": "email", "length": 12, "ordinal": 2}"#)
      #expect(third.status == 409)
      let (report, _) = await environment.end()
      #expect(report.strings.missing == [.init(key: "emial", ordinal: 0), .init(key: "email", ordinal: 2)])
      #expect(!report.ok)
    }
  }

  @Test(
    "requested with another length or alphabet are an error that describes the recorded ones",
    arguments: [
      Mode.replay, .extend,
    ])
  func otherParameters(mode: Mode) async throws {
    try await withService { fixture in
      try await Self.recorded(fixture)
      let environment = try fixture.provision(mode, ["api": Self.origin])
      for body in [
        #"{"key": "email", "ordinal": 0, "length": 13}"#,
        #"{"key": "email", "ordinal": 1, "length": 12, "alphabet": "01"}"#,
      ] {
        let answer = try await environment.control("/strings", body)
        #expect(answer.status == 409)
        #expect(try answer.json["detail"]?.string?.contains("a string of 12") == true)
      }
      let (report, _) = await environment.end()
      #expect(report.strings.missing.count == 2)
      #expect(!report.ok)
    }
  }

  @Test("are read in extend if recorded, else derived from the recorded seed and added to the store")
  func extend() async throws {
    try await withService { fixture in
      try await Self.recorded(fixture)
      try await fixture.run(.extend, ["api": Self.origin]) { environment in
        #expect(environment.seed == Self.seed)
        let email = try await environment.control("/strings", #"{"key": "email", "length": 12}"#)
        #expect(try value(email) == "z0r1lpyugt7o")
        let user = try await environment.control("/strings", #"{"key": "user", "type": "uuid"}"#)
        #expect(try value(user) == "33b5dc9e-2b61-5d71-b1cb-ce186f420e82")
      }
      let store = try CassetteReader.read(fixture.location()).strings
      #expect(store.seed == Self.seed)
      #expect(store.entries["email"]?.map { $0?.value } == ["z0r1lpyugt7o", "1hjqdinv568o"])
      #expect(store.entries["user"]?.map { $0?.value } == ["33b5dc9e-2b61-5d71-b1cb-ce186f420e82"])
    }
  }

  @Test("are derived and not kept in proxy")
  func proxy() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.proxy, ["api": Self.origin]) { $0.seed = Self.seed }
      let answer = try await environment.control("/strings", #"{"key": "email", "length": 12}"#)
      #expect(try value(answer) == "z0r1lpyugt7o")
      _ = await environment.end()
      #expect(fixture.files == [])
    }
  }

  @Test("that an app reports with an ordinal are recorded under that ordinal")
  func reported() async throws {
    try await withService { fixture in
      try await fixture.run(.record, ["api": Self.origin], with: { $0.seed = Self.seed }) { environment in
        let body =
          #"{"key": "email", "ordinal": 1, "status": "recorded", "value": "1hjqdinv568o", "length": 12, "#
          + #""alphabet": "abcdefghijklmnopqrstuvwxyz0123456789"}"#
        let answer = try await environment.control("/strings", body)
        #expect(try value(answer) == "1hjqdinv568o")
        // A retry by the app gets the same value.
        _ = try await environment.control("/strings", body)
      }
      let store = try CassetteReader.read(fixture.location()).strings
      #expect(store.entries["email"]?.map { $0?.value } == [nil, "1hjqdinv568o"])
    }
  }

  @Test("that the app read itself are reported in ranges, and the others are unused")
  func readInReplay() async throws {
    try await withService { fixture in
      try await Self.recorded(fixture)
      let environment = try fixture.provision(.replay)
      for body in [
        #"{"strings": {"email": [[0, 0]]}}"#, #"{"strings": {"email": [[0, 0]]}, "toggles": {}}"#,
        // Values that are not recorded cannot have been read.
        #"{"strings": {"email": [[2, 9223372036854775807]], "other": [[0, 3]]}}"#,
      ] {
        #expect(try await environment.control("/usage", body).status == 204)
      }
      #expect(environment.report().strings.read == 1)
      #expect(environment.report().strings.unused == [.init(key: "email", ordinal: 1)])
      let all = #"{"strings": {"email": [[-9223372036854775808, 9223372036854775807]]}}"#
      #expect(try await environment.control("/usage", all).status == 204)
      let (report, _) = await environment.end()
      #expect(report.strings.read == 2)
      #expect(report.strings.unused.isEmpty)
      #expect(report.ok)
    }
  }

  @Test("may be addresses, choices, shuffles and generators, recorded and read again")
  func kinds() async throws {
    let requests = [
      (#"{"key": "email", "type": "email"}"#, "z0r1lpyugt7o@example.com"),
      (#"{"key": "plan", "type": "choice", "options": ["a", "b", "c"]}"#, "c"),
      (#"{"key": "plan", "type": "choice", "count": 3}"#, "0"),
      (#"{"key": "deck", "type": "shuffle", "count": 10}"#, "4,5,0,6,1,9,2,7,8,3"),
      (#"{"key": "noise", "type": "generator"}"#, "53f6ad1b-aaa7-53aa-a60f-1e0555f85827"),
    ]
    try await withService { fixture in
      try await fixture.run(.record, ["api": Self.origin], with: { $0.seed = Self.seed }) { environment in
        for (body, expected) in requests {
          let answer = try await environment.control("/strings", body)
          #expect(try value(answer) == expected)
        }
      }
      let report = try await fixture.run(.replay) { environment in
        for (body, expected) in requests {
          let answer = try await environment.control("/strings", body)
          #expect(try value(answer) == expected)
        }
      }
      #expect(report.strings.read == 5)
      #expect(report.strings.unused.isEmpty)
    }
  }

  @Test("fail the environment if the app reports that one is missing")
  func reportedMissing() async throws {
    try await withService { fixture in
      try await Self.recorded(fixture)
      let environment = try fixture.provision(.replay)
      let body =
        #"{"key": "phone", "ordinal": 0, "status": "missing", "length": 12, "alphabet": "0123456789"}"#
      #expect(try await environment.control("/strings", body).status == 409)
      let (report, _) = await environment.end()
      #expect(report.strings.missing == [.init(key: "phone", ordinal: 0)])
      #expect(!report.ok)
    }
  }

  @Test("of the maximum length get from an app into its recording")
  func longest() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": Self.origin])
      let app = try await FollowingFixture(environment.contract)
      // Two bytes per character, so that the message is larger than 1 MiB.
      let value = try await onThread { try app.controls.strings.string("k", length: 1 << 20, alphabet: "äöüß") }
      #expect(value.unicodeScalars.count == 1 << 20)
      let (report, _) = await environment.end()
      #expect(report.strings.recorded == 1)
    }
  }

  @Test(
    "with invalid parameters are refused with a 400",
    arguments: [
      #"{"key": ""}"#, #"{"key": "a\u0007b"}"#, #"{"key": "a", "ordinal": -1}"#, #"{"key": "a", "length": -1}"#,
      #"{"key": "a", "alphabet": "x"}"#, #"{"key": "a", "type": "integer", "low": 2, "high": 1}"#,
      #"{"key": "a", "type": "choice", "options": []}"#, #"{"key": "a", "type": "shuffle", "count": 1000000000}"#,
      #"{"key": "a", "type": "shuffle", "count": -1}"#, #"{"key": "a", "type": "email", "domain": "b c"}"#,
      #"{"key": "a", "ordinal": 4611686018427387904}"#, #"{"key": "a", "length": 4611686018427387904}"#,
      #"{"key": "a", "length": 1000000000000}"#, #"{"key": "a", "length": 1e12}"#, #"{"key": "a", "length": 1e300}"#,
      #"{"key": "a", "type": "email", "length": 1000000000000}"#, #"{"key": "a", "ordinal": 1000000}"#,
      #"{"key": "", "status": "missing", "ordinal": 0}"#, #"{"key": "a", "status": "missing", "ordinal": -1}"#,
      #"{"key": "a", "status": "lost", "ordinal": 0}"#,
    ])
  func refused(body: String) async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": Self.origin])
      let answer = try await environment.control("/strings", body)
      #expect(answer.status == 400)
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      // None of them counts as a use.
      #expect(try await environment.control("/strings", #"{"key": "a"}"#).json["ordinal"]?.int == 0)
      let (report, _) = await environment.end()
      #expect(report.strings.recorded == 1)
    }
  }
}
