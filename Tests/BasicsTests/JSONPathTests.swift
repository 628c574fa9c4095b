import Basics
import Testing

@Suite("JSON paths")
struct JSONPathTests {
  private static let document =
    #"{"user": {"name": "a", "ssn": 1, "x y": 2}, "items": [{"pin": 3, "ssn": 4}, {"pin": 5}], "*": 6}"#

  @Test(
    "finds the selected values",
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
      ("$.nobody", []), ("$['user', 'items'][0, 'ssn']", ["$.user.ssn", "$.items.0"]),
      ("$..['pin','ssn']", ["$.user.ssn", "$.items.0.pin", "$.items.0.ssn", "$.items.1.pin"]),
      ("$ .user\n\t[ \"name\" ]", ["$.user.name"]), ("$.items[0, 0]", ["$.items.0"]),
      ("$.items[9007199254740991]", []), ("$.items[-9007199254740991]", []),
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

  @Test("does not match an index from the end while the length is unknown")
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
    "removes the selected values",
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
      ("$['$ref']", #"{"$ref":1,"@id":2}"#, #"{"@id":2}"#), ("$.größe_1", #"{"größe_1":1,"c":2}"#, #"{"c":2}"#),
      (#"$["\b\f\n\r\t\/\\\""]"#, #"{"\b\f\n\r\t/\\\"":1,"c":2}"#, #"{"c":2}"#),
      (#"$['\u00e9\uD834\udd1e']"#, #"{"é𝄞":1,"c":2}"#, #"{"c":2}"#), ("$['']", #"{"":1,"c":2}"#, #"{"c":2}"#),
    ])
  func leavesOut(path: String, from json: String, rest: String) throws {
    #expect(try removed([path], from: json) == rest)
  }

  @Test("removes with several paths, using the original indices")
  func together() throws {
    #expect(
      try removed(["$[0]", "$[1].a", "$..z"], from: #"[1,{"a":1,"b":2},{"z":1}]"#)
        == #"[{"b":2},{}]"#)
  }

  @Test(
    "rejects invalid paths with an explanation",
    arguments: [
      ("", "it must begin with $"), ("user", "it must begin with $"), (" $", "it must begin with $"),
      ("$user", "where a dot or a bracket is expected"), ("$.a[0]b", "where a dot or a bracket is expected"),
      ("$.", "a name is missing"), ("$..", "a name is missing"), ("$...a", "a name is missing"),
      ("$. a", "a name is missing"), ("$.[0]", "a name is missing"), ("$.a ", "ends with white space"),
      ("$[", "brackets must contain"), ("$.a[", "brackets must contain"), ("$[]", "brackets must contain"),
      ("$[0", "not closed"), ("$[0,]", "brackets must contain"), ("$[a]", "brackets must contain"),
      ("$[01x]", "brackets must contain"), ("$['a", "closing quote"), ("$['a'", "not closed"),
      ("$['a' 'b']", "not closed"), ("$[0:2]", "slices are not supported"), ("$[:2]", "slices are not supported"),
      ("$[?@.a]", "filters are not supported"), ("$[01]", "without leading zeros"), ("$[-0]", "without -0"),
      ("$[9007199254740992]", "at most 2^53 - 1"), ("$[-9007199254740992]", "at most 2^53 - 1"),
      ("$[99999999999999999999]", "at most 2^53 - 1"), ("$.1", "an index is written [1];"), ("$.a*", "'*'"),
      ("$.a]", "']'"), ("$.'a'", "contains ''"), ("$.a-b", "'-'"), ("$.$ref", "'$'"),
      ("$.a\u{7F}", "a control character"), ("$['a\u{1F}']", "a control character, which must be escaped"),
      (#"$['\"']"#, "after a backslash"), (#"$["\'"]"#, "after a backslash"), (#"$['\u00']"#, "four hexadecimal"),
      (#"$['\uD834']"#, "half of a surrogate pair"), (#"$['\uDD1E\uD834']"#, "half of a surrogate pair"),
      (#"$['\uD834\u0041']"#, "half of a surrogate pair"),
      ("$" + String(repeating: ".a", count: 64), "more than 63 steps"),
    ])
  func broken(path: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try JSONPath(path) }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
    #expect(error?.problem.hasSuffix("example: $.orders[*].sentAt") == true)
  }

  @Test("supports the maximum depth of JSON")
  func deep() throws {
    let depth = JSON.maximumDepth - 1
    let json =
      String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    #expect(try removed(["$..b", "$..a..c"], from: json) == json)
  }
}

@Suite("JSON walking")
struct JSONWalkerTests {
  /// Each selected value with the index of its path, as `1 "text"`.
  private static func values(_ pieces: [ArraySlice<UInt8>], _ paths: [JSONPath], isInLines: Bool) -> [String] {
    var walker = JSONWalker(paths, isInLines: isInLines)
    var found: [String] = []
    var value: [UInt8] = []
    func end() {
      if let match = walker.match { found.append("\(match) \(String(decoding: value, as: UTF8.self))") }
    }
    for piece in pieces {
      Array(piece).withUnsafeBufferPointer { piece in
        var index = 0
        while index < piece.count {
          let (step, stop) = walker.step(piece, from: index)
          if step == .begins { value = [] }
          if step != .between { value += piece[index..<stop] }
          if step == .ends || step == .over { end() }
          index = stop
        }
      }
    }
    if walker.isInWord { end() }
    return found
  }

  @Test(
    "reports the first path that selects a value or its container, for any chunking",
    arguments: [
      (#"{"a": 1, "b": "x\"y", "c": null}"#, ["$.b", "$.*"], ["1 1", #"0 "x\"y""#, "1 null"]),
      (#"{"a": {"b": [1, {"c": "2"}]}, "b": 3}"#, ["$..b", "$.a"], ["1 1", #"1 "2""#, "0 3"]),
      (#"{"\u0061": {"é": -1.5e3}}"#, ["$.a['é']"], ["0 -1.5e3"]), ("[[1,2],[3,4]]", ["$[1][0]"], ["0 3"]),
      (#"{"a":1}{"a":2} 3"#, ["$.a", "$"], ["1 1", "1 2", "1 3"]), ("12", ["$"], ["0 12"]),
      (#"]} {"b" 1, "a": 2}"#, ["$.a"], ["0 2"]), (#"{"a":"cut"#, ["$.a"], []), ("", ["$"], []),
    ])
  func matches(text: String, paths: [String], expected: [String]) throws {
    let paths = try paths.map { try JSONPath($0) }
    let bytes = Array(text.utf8)
    for cut in 0...bytes.count {
      #expect(Self.values([bytes[..<cut], bytes[cut...]], paths, isInLines: false) == expected, "cut at \(cut)")
    }
  }

  @Test("restarts at each line if lines are documents")
  func lines() throws {
    let text = "{\"a\": [\"b\n{\"a\": 1}\n{\"a\": {\n{\"a\": 2}"
    let paths = [try JSONPath("$.a")]
    #expect(Self.values([Array(text.utf8)[...]], paths, isInLines: true) == ["0 \"b\n", "0 1", "0 2"])
    #expect(Self.values([Array(text.utf8)[...]], paths, isInLines: false) != ["0 \"b\n", "0 1", "0 2"])
  }
}
