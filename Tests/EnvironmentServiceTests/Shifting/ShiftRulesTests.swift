import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("Rules for moving dates")
struct ShiftRulesTests {
  @Test("are decoded from and encoded to the form of a file")
  func codable() throws {
    let text =
      #"{"dates":["$.day"],"epochMilliseconds":["$.ms"],"epochSeconds":["$.exp","header:X-E"],"jwt":[{"kid":"a","text":"s"}],"keep":["$.born"]}"#
    let rules = try ShiftRules(decoding: Data(text.utf8))
    #expect(rules.jwt == [.init(text: Secret("s"), kid: "a")])
    #expect(!"\(rules)".contains("\"s\""))
    #expect(String(decoding: try JSON.encode(rules), as: UTF8.self) == text)
    #expect(try ShiftRules(decoding: Data("{}".utf8)).isEmpty)
  }

  @Test(
    "are refused if invalid, with the place of the problem",
    arguments: [
      (#"{"epoch": []}"#, "dates.epoch: unknown member; the members are epochSeconds, epochMilliseconds, dates"),
      (#"{"jwt": [{"secret": "a"}]}"#, "dates.jwt[0].secret: unknown member; the members are text, key, kid"),
      (#"{"dates": ["day"]}"#, "dates.dates[0]: 'day' is not a place"),
      (#"{"keep": ["$.a["]}"#, "dates.keep[0]: "),
      (#"{"jwt": [{"kid": "a"}]}"#, "dates.jwt[0]: give exactly one of text and key"),
      (#"{"jwt": [{"text": ""}]}"#, "dates.jwt[0].text: must not be empty"),
      (#"{"jwt": [{"key": "env:DIORAMA_NO_SUCH"}]}"#, "dates.jwt[0].key: the variable DIORAMA_NO_SUCH is not set"),
      (#"{"jwt": [{"key": "file:nowhere"}]}"#, "dates.jwt[0].key: cannot read"),
      (#"{"jwt": [{"key": "secret"}]}"#, "is neither env:VAR nor file:PATH"),
    ])
  func refused(text: String, problem: String) async throws {
    try await withService { fixture in
      try fixture.project(dates: text)
      let error = #expect(throws: CodedError.self) { try dates(fixture, [:]) }
      #expect(error?.message.contains(problem) == true, "\(error!)")
    }
  }

  @Test("read keys from variables and from files beside the project file, but only if dates are moved")
  func keys() async throws {
    try await withService { fixture in
      try fixture.write("from a file", to: "key.txt")
      try fixture.project(dates: #"{"jwt": [{"key": "env:KEY"}, {"key": "file:key.txt", "kid": "f"}]}"#)
      let rules = try dates(fixture, ["KEY": "from a variable"])
      #expect(rules.jwt.map(\.text?.revealed) == ["from a variable", "from a file"])
      #expect(rules.jwt.map(\.key) == [nil, nil])
      // With a clock frozen at the recording date, no dates are moved and no key is needed.
      _ = try dates(fixture, [:], kind: nil)
    }
  }

  private func dates(
    _ fixture: ServiceFixture, _ variables: [String: String], kind: String? = "system"
  ) throws -> ShiftRules {
    var own = EnvironmentConfiguration()
    own.mode = "replay"
    own.clock = kind.map { .init(kind: $0) }
    let all = try ProjectFile.read("\(fixture.folder)/diorama.json").completing(own)
    return try #require(try all.readingSecrets(variables, isContinuousIntegration: false).dates)
  }
}
