import Basics
import ControlAPI
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("Rules of how dates move")
struct ShiftRulesTests {
  @Test("are read and written as a file has them")
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
    "that are none, or cannot be used, are refused with their place",
    arguments: [
      (
        #"{"epoch": []}"#, "$.epoch: there is no such rule; there are epochSeconds, epochMilliseconds, dates, keep, jwt"
      ),
      (#"{"jwt": [{"secret": "a"}]}"#, "there is no such rule; there are text, key, kid"),
      (#"{"dates": ["day"]}"#, "$.dates[0]: 'day' is no place"),
      (#"{"keep": ["$.a["]}"#, "$.keep[0]: "),
      (#"{"jwt": [{"kid": "a"}]}"#, "$.jwt[0]: it has no key; give the key itself as text"),
      (#"{"jwt": [{}]}"#, "or in a file of rules its place as key: env:VAR or file:PATH"),
      (#"{"jwt": [{"text": ""}]}"#, "$.jwt[0].text: the key is empty"),
      (#"{"jwt": [{"key": "env:DIORAMA_NO_SUCH"}]}"#, "$.jwt[0].key: the variable DIORAMA_NO_SUCH is not set"),
      (#"{"jwt": [{"key": "file:nowhere"}]}"#, "$.jwt[0].key: cannot read"),
      (#"{"jwt": [{"key": "secret"}]}"#, "is neither env:VAR nor file:PATH"),
    ])
  func refused(text: String, problem: String) async throws {
    try await withService { fixture in
      try fixture.write(text, to: "c.shift.json")
      let error = #expect(throws: CodedError.self) {
        try ShiftFiles.read("\(fixture.folder)/c.shift.json", variables: [:])
      }
      #expect(
        error?.message.contains("c.shift.json: ") == true && error?.message.contains(problem) == true, "\(error!)")
    }
  }

  @Test("take keys from the environment and from files beside them")
  func keys() async throws {
    try await withService { fixture in
      try fixture.write("from a file", to: "key.txt")
      try fixture.write(#"{"jwt": [{"key": "env:KEY"}, {"key": "file:key.txt", "kid": "f"}]}"#, to: "c.shift.json")
      let rules = try ShiftFiles.read("\(fixture.folder)/c.shift.json", variables: ["KEY": "from a variable"])
      #expect(rules.jwt.map(\.text?.revealed) == ["from a variable", "from a file"])
      #expect(rules.jwt.map(\.key) == [nil, nil])
    }
  }
}
