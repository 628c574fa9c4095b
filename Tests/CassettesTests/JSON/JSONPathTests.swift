import LaunchContract
import Testing

@testable import Cassettes

@Suite("JSON paths")
struct JSONPathTests {
  private static let document =
    #"{"user": {"name": "a", "ssn": 1, "x y": 2}, "items": [{"pin": 3, "ssn": 4}, {"pin": 5}], "*": 6}"#

  @Test(
    "find the places that they mean",
    arguments: [
      ("$", ["$"]), ("$.user.name", ["$.user.name"]), ("$['user']['x y']", ["$.user.x y"]),
      ("$[\"user\"].ssn", ["$.user.ssn"]), ("$.items[1].pin", ["$.items.1.pin"]),
      ("$.items[*].pin", ["$.items.0.pin", "$.items.1.pin"]),
      ("$..ssn", ["$.user.ssn", "$.items.0.ssn"]),
      ("$..[0].pin", ["$.items.0.pin"]), ("$..['ssn']", ["$.user.ssn", "$.items.0.ssn"]),
      (
        "$.items..*", ["$.items.0", "$.items.0.pin", "$.items.0.ssn", "$.items.1", "$.items.1.pin"]
      ),
      ("$.user.*", ["$.user.name", "$.user.ssn", "$.user.x y"]), ("$['*']", ["$.*"]),
      ("$.nobody", []),
      ("$.items[7]", []), ("$.items[-1].pin", ["$.items.1.pin"]),
      ("$.items[-2].pin", ["$.items.0.pin"]),
      ("$.items[-3]", []), ("$.user[0]", []), ("$.items.pin", []),
    ])
  func places(path: String, expected: [String]) throws {
    #expect(try Self.places(JSONPath(path), in: Self.document) == expected)
  }

  private static func places(_ path: JSONPath, in json: String) throws -> [String] {
    var found: [String] = []
    func walk(_ value: JSON, _ place: String, _ progress: JSONPath.Progress) {
      if path.isAtEnd(progress) { found.append(place) }
      switch value {
      case .object(let members):
        for member in members {
          walk(member.value, "\(place).\(member.key)", path.enter(progress, .name(member.key)))
        }
      case .array(let elements):
        for (index, element) in elements.enumerated() {
          walk(
            element, "\(place).\(index)", path.enter(progress, .index(index, of: elements.count)))
        }
      default: break
      }
    }
    walk(try JSON.parse(Array(json.utf8)), "$", path.start)
    return found
  }

  @Test("do not know an index from the end of what has not come to its end")
  func open() throws {
    let last = try JSONPath("$[-1]")
    #expect(last.countsFromEnd)
    #expect(!last.isAtEnd(last.enter(last.start, .index(1, of: nil))))
    #expect(last.isAtEnd(last.enter(last.start, .index(1, of: 2))))
    #expect(try !JSONPath("$[0]..a").countsFromEnd)
  }

  private func removed(_ paths: [String], from json: String) throws -> String {
    let value = try JSON.parse(Array(json.utf8))
    let kept = try paths.map { try JSONPath($0) }.removed(from: value)
    return String(decoding: kept.encoded(), as: UTF8.self)
  }

  @Test(
    "name what is left out",
    arguments: [
      ("$.a", #"{"a":1,"b":2}"#, #"{"b":2}"#),
      ("$.a.b", #"{"a":{"b":1,"c":2},"b":3}"#, #"{"a":{"c":2},"b":3}"#),
      ("$['a b']", #"{"a b":1,"c":2}"#, #"{"c":2}"#),
      (#"$["it's"]"#, #"{"it's":1,"c":2}"#, #"{"c":2}"#),
      (#"$['it\'s']"#, #"{"it's":1,"c":2}"#, #"{"c":2}"#),
      ("$[0]", "[1,2,3]", "[2,3]"),
      ("$[-1]", "[1,2,3]", "[1,2]"),
      ("$.a[*].t", #"{"a":[{"t":1,"x":1},{"t":2},3]}"#, #"{"a":[{"x":1},{},3]}"#),
      ("$.a.*", #"{"a":{"x":1,"y":[2]},"b":1}"#, #"{"a":{},"b":1}"#),
      ("$..id", #"{"id":1,"a":[{"id":{"id":2},"b":{"id":3,"c":4}}]}"#, #"{"a":[{"b":{"c":4}}]}"#),
      ("$..a..b", #"{"a":{"x":{"b":1,"a":{"b":2}}},"b":3}"#, #"{"a":{"x":{"a":{}}},"b":3}"#),
      ("$..[0]", #"{"a":[1,[2,3]]}"#, #"{"a":[[3]]}"#),
      ("$.nothing[7].here", #"{"a":1}"#, #"{"a":1}"#),
      ("$.$ref", #"{"$ref":1,"@id":2}"#, #"{"@id":2}"#),
    ])
  func leavesOut(path: String, from json: String, rest: String) throws {
    #expect(try removed([path], from: json) == rest)
  }

  @Test("work together, and count places as they were before")
  func together() throws {
    #expect(
      try removed(["$[0]", "$[1].a", "$..z"], from: #"[1,{"a":1,"b":2},{"z":1}]"#)
        == #"[{"b":2},{}]"#)
  }

  @Test(
    "say what is wrong with what is none",
    arguments: [
      ("", "it must begin with $"), ("user", "it must begin with $"),
      ("$user", "where a dot or a bracket is expected"),
      ("$.", "a name is missing"), ("$..", "a name is missing"), ("$...a", "a name is missing"),
      ("$[", "brackets must contain"), ("$.a[", "brackets must contain"), ("$[0", "not closed"),
      ("$[0:2]", "brackets must contain"), ("$[?@.a]", "brackets must contain"),
      ("$[01x]", "brackets must contain"),
      ("$[-9223372036854775808]", "brackets must contain"), ("$['a", "closing quote"),
      ("$['a'", "not closed"),
      ("$['a','b']", "not closed"), ("$.a b", "white space"), ("$.a*", "'*'"), ("$.a]", "']'"),
      (#"$['\n']"#, "only the quote and the backslash can be escaped"),
      ("$" + String(repeating: ".a", count: 64), "more than 63 steps"),
    ])
  func broken(path: String, problem: String) {
    let error = #expect(throws: ContractError.self) { try JSONPath(path) }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
    #expect(error?.problem.hasSuffix("example: $.orders[*].sentAt") == true)
  }

  @Test("go as deep as JSON does")
  func deep() throws {
    let depth = JSON.maximumDepth - 1
    let json =
      String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    #expect(try removed(["$..b", "$..a..c"], from: json) == json)
  }
}
