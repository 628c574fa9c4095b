import Cassettes
import LaunchContract
import Testing

@Suite("JSON paths")
struct JSONPathTests {
  private static let document =
    #"{"user": {"name": "a", "ssn": 1, "x y": 2}, "items": [{"pin": 3, "ssn": 4}, {"pin": 5}], "*": 6}"#

  @Test(
    "find the places that they mean",
    arguments: [
      ("$", ["$"]), ("$.user.name", ["$.user.name"]), ("$['user']['x y']", ["$.user.x y"]),
      ("$[\"user\"].ssn", ["$.user.ssn"]), ("$.items[1].pin", ["$.items.1.pin"]),
      ("$.items[*].pin", ["$.items.0.pin", "$.items.1.pin"]), ("$..ssn", ["$.user.ssn", "$.items.0.ssn"]),
      ("$..[0].pin", ["$.items.0.pin"]),
      ("$.items..*", ["$.items.0", "$.items.0.pin", "$.items.0.ssn", "$.items.1", "$.items.1.pin"]),
      ("$.user.*", ["$.user.name", "$.user.ssn", "$.user.x y"]), ("$['*']", ["$.*"]), ("$.nobody", []),
      ("$.items[7]", []),
      ("$.user[0]", []), ("$.items.pin", []),
    ])
  func places(path: String, expected: [String]) throws {
    let value = try JSON.parse(Array(Self.document.utf8))
    let found = try JSONPath(path).places(in: value).map { steps in
      steps.reduce("$") { text, step in
        switch step {
        case .name(let name): "\(text).\(name)"
        case .index(let index): "\(text).\(index)"
        }
      }
    }
    #expect(found == expected)
  }

  @Test("reach through arrays in arrays by their last step only")
  func overlapping() throws {
    let value = try JSON.parse(Array(#"{"a": {"a": {"b": 1}}, "b": 2}"#.utf8))
    #expect(try JSONPath("$..a..b").places(in: value) == [[.name("a"), .name("a"), .name("b")]])
  }

  @Test(
    "say what is wrong with what is none",
    arguments: [
      ("", "does not begin with $"), ("user", "does not begin with $"), ("$user", "neither .name nor [0]"),
      ("$.", "a name is missing"), ("$..", "a name is missing"), ("$[", "after [ come"), ("$[-1]", "after [ come"),
      ("$[0", "a ] is missing"), ("$[0:2]", "a ] is missing"), ("$[?@.a]", "after [ come"), ("$['a", "closing quote"),
      (#"$['\n']"#, "after a backslash"), ("$" + String(repeating: ".a", count: 64), "more than 63 steps"),
    ])
  func broken(path: String, problem: String) {
    let error = #expect(throws: JSONPathError.self) { try JSONPath(path) }
    #expect(error?.description.contains(problem) == true)
    #expect(error?.description.contains("$.user.password") == true)
  }
}
