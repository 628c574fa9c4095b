import LaunchContract
import Testing

@testable import Cassettes

@Suite("JSON that is walked as it streams by")
struct JSONWalkerTests {
  /// Each value with the number of the path that means it, as `1 "text"`; those that none means are left out.
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
    "has the first path that means a value, or one that holds it, wherever it is cut",
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

  @Test("begins anew with each line where lines are documents, whatever was left open")
  func lines() throws {
    let text = "{\"a\": [\"b\n{\"a\": 1}\n{\"a\": {\n{\"a\": 2}"
    let paths = [try JSONPath("$.a")]
    #expect(Self.values([Array(text.utf8)[...]], paths, isInLines: true) == ["0 \"b\n", "0 1", "0 2"])
    #expect(Self.values([Array(text.utf8)[...]], paths, isInLines: false) != ["0 \"b\n", "0 1", "0 2"])
  }
}
