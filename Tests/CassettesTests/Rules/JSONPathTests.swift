import LaunchContract
import Testing

@testable import Cassettes

@Suite("JSON paths")
struct JSONPathTests {
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
    ])
  func leavesOut(path: String, from json: String, rest: String) throws {
    #expect(try removed([path], from: json) == rest)
  }

  @Test("work together, and count places as they were before")
  func together() throws {
    #expect(try removed(["$[0]", "$[1].a", "$..z"], from: #"[1,{"a":1,"b":2},{"z":1}]"#) == #"[{"b":2},{}]"#)
  }

  @Test(
    "that are none are refused",
    arguments: [
      "", "$", "a", "$.", "$..", "$.a[", "$[1:2]", "$[?@.a]", "$['a'", "$['a','b']", "$a", "$[01x]", #"$['\n']"#,
    ])
  func refused(path: String) {
    #expect(throws: ContractError.self) { _ = try JSONPath(path) }
  }

  @Test("go as deep as JSON does")
  func deep() throws {
    let depth = JSON.maximumDepth - 1
    let json = String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    #expect(try removed(["$..b", "$..a..c"], from: json) == json)
  }
}
