import Basics
@testable import Transforms
import Cassettes
import Testing

@Suite("JSON redacted as a stream")
struct JSONStreamTests {
  private static func redact(_ text: String, _ paths: [String], patterns: [String] = []) throws -> String {
    let paths = try paths.map { try JSONPath($0) }
    let patterns = try PatternScanner(patterns: patterns)
    let bytes = Array(text.utf8)
    var whole = JSONStream(paths: paths, patterns: patterns)
    let expected = whole.push(bytes, isLast: true)
    for cut in 0...bytes.count {
      var stream = JSONStream(paths: paths, patterns: patterns)
      let output = stream.push(Array(bytes[..<cut])) + stream.push(Array(bytes[cut...]), isLast: true)
      #expect(output == expected, "cut at \(cut)")
    }
    return String(decoding: expected, as: UTF8.self)
  }

  @Test(
    "loses the values at the given paths, keeps its structure, and is otherwise unchanged",
    arguments: [
      (
        #"{"user" : {"password": "p\"w", "n": 0.00}, "z":[1,2]}"#, "$.user.password",
        #"{"user" : {"password": "<redacted>", "n": 0.00}, "z":[1,2]}"#
      ),
      (
        #"{"a": [{"pin": 1234}, {"pin": -1.5e3}], "ok": true}"#, "$.a[*].pin",
        #"{"a": [{"pin": 0}, {"pin": 0}], "ok": true}"#
      ),
      (
        #"{"a": {"t": true, "f": false, "n": null, "s": "x", "l": [1, "y"]}}"#, "$.a",
        #"{"a": {"t": false, "f": false, "n": null, "s": "<redacted>", "l": [0, "<redacted>"]}}"#
      ),
      (
        #"{"x": {"ssn": "1", "y": [{"ssn": 2}]}, "ssn": "3"}"#, "$..ssn",
        #"{"x": {"ssn": "<redacted>", "y": [{"ssn": 0}]}, "ssn": "<redacted>"}"#
      ),
      (#"{"\u0073sn": "1", "naïve 🙂": "2"}"#, "$.ssn", #"{"\u0073sn": "<redacted>", "naïve 🙂": "2"}"#),
      (#"[["a", "b"], ["c"]]"#, "$[0][1]", #"[["a", "<redacted>"], ["c"]]"#),
      (#""whole""#, "$", #""<redacted>""#), ("12", "$", "0"),
      ("{\"a\":1}\n{\"a\":2}\n", "$.a", "{\"a\":0}\n{\"a\":0}\n"),
      (
        "event: x\ndata: {\"a\": 1}\n\ndata: [{\"a\": 2}]\n\n", "$..a",
        "event: x\ndata: {\"a\": 0}\n\ndata: [{\"a\": 0}]\n\n"
      ),
      (#"{"a": 1, "b": "}"}"#, "$.b", #"{"a": 1, "b": "<redacted>"}"#), (#"{"a": "#, "$.a", #"{"a": "#),
      (#"{"a": "cut sho"#, "$.a", #"{"a": "<redacted>"#), ("no JSON at all", "$.a", "no JSON at all"),
    ])
  func places(text: String, path: String, expected: String) throws {
    let once = try Self.redact(text, [path])
    #expect(once == expected)
    #expect(try Self.redact(once, [path]) == once)
  }

  @Test("loses what patterns match in strings, even with escapes")
  func patterns() throws {
    let text = #"{"a": "https:\/\/x.test\/sk_live_Ab1", "b": "plain", "c": "\u0073k_live_9\n"}"#
    let expected = #"{"a": "https://x.test/<redacted>", "b": "plain", "c": "<redacted>\n"}"#
    #expect(try Self.redact(text, [], patterns: ["sk_live_[A-Za-z0-9]+"]) == expected)
  }

  @Test("stays valid if a number is replaced with a secret's mark")
  func number() throws {
    #expect(try Self.redact(#"{"pin": <redacted:a/b>, "n": 99<redacted>}"#, []) == #"{"pin": 0, "n": 0}"#)
  }

  @Test("may be nested too deeply to be parsed, and does not buffer long strings")
  func extremes() throws {
    let deep = String(repeating: "[", count: 5000) + "1" + String(repeating: "]", count: 5000)
    var stream = JSONStream(paths: [try JSONPath("$.a")], patterns: .none)
    #expect(stream.push(Array(deep.utf8), isLast: true) == Array(deep.utf8))
    let long = String(repeating: "s", count: 200_000)
    var taken = JSONStream(paths: [try JSONPath("$.a")], patterns: .none)
    let output = taken.push(Array(#"{"a": "\#(long)", "b": "\#(long)"}"#.utf8), isLast: true)
    #expect(String(decoding: output, as: UTF8.self) == #"{"a": "<redacted>", "b": "\#(long)"}"#)
  }
}
