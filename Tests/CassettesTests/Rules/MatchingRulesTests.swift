import Basics
import Foundation
import LaunchContract
import Testing

@testable import Cassettes

@Suite("Rules files")
struct MatchingRulesTests {
  private static let all = #"""
    {"order":"state","rules":[{"changesState":false,"compare":{"body":"xml","headers":["Accept"],"host":false,"method":true,"path":true,"query":false,"scheme":false},"ignore":{"form":["csrf"],"headers":["X-*"],"json":["$.a"],"pattern":["\\d+"],"query":["_"]},"method":"POST","note":"why","path":"/a/**","upstream":"api"}]}
    """#

  @Test("round-trips all settings")
  func roundTrip() throws {
    let read = try rules(Self.all)
    #expect(read.rules.first?.compare.host == false)
    #expect(read.rules.first?.ignore.form == ["csrf"])
    #expect(String(decoding: try JSON.encode(read), as: UTF8.self) == Self.all)
    #expect(try JSONDecoder().decode(MatchingRules.self, from: Data(Self.all.utf8)) == read)
    #expect(try rules("{}") == MatchingRules())
  }

  @Test(
    "rejects invalid rules with the location and the allowed values",
    arguments: [
      ("[]", "$ must be an object"),
      ("{\"rule\": []}", "$ has no member 'rule', did you mean 'rules'? It can have rules, order"),
      (#"{"rules": [{"ignore": {"jsn": []}}]}"#, "$.rules[0].ignore has no member 'jsn', did you mean 'json'?"),
      (#"{"rules": [{"ignore": {"json": "$.a"}}]}"#, "$.rules[0].ignore.json must be an array"),
      (#"{"rules": [{"ignore": {"json": [1]}}]}"#, "$.rules[0].ignore.json[0] must be a string"),
      (
        #"{"rules": [{"ignore": {"json": ["a"]}}]}"#,
        "$.rules[0].ignore.json[0]: 'a' is not a valid JSON path: it must begin with $"
      ),
      (#"{"rules": [{"ignore": {"json": ["$"]}}]}"#, "$.rules[0].ignore.json[0]: '$' is the whole body; use"),
      (
        #"{"rules": [{"ignore": {"pattern": ["("]}}]}"#,
        "$.rules[0].ignore.pattern[0]: '(' is not a valid ICU regular expression"
      ),
      (#"{"rules": [{"compare": {"body": "yaml"}}]}"#, "it can be auto, bytes, json, form, multipart, xml, none"),
      (#"{"rules": [{"compare": {"host": "no"}}]}"#, "$.rules[0].compare.host must be true or false"),
      (#"{"order": "any"}"#, "$.order is 'any'; it can be strict, request, state, free"),
      (#"{"rules": [{"path": "/a"}]}"#, "$.rules[0] changes nothing; give it ignore, compare or changesState"),
      (
        #"{"rules": [{"path": "a/*", "changesState": true}]}"#,
        "$.rules[0].path is 'a/*'; paths begin with /, so begin it with / or **"
      ),
      (#"{"rules": [{"path": "/a?b=*", "changesState": true}]}"#, "use ignore.query to ignore query items"),
      (#"{"rules": [{"method": "get", "changesState": true}]}"#, "methods are uppercase: GET"),
      (#"{"rules": [], "rules": []}"#, "$ has 'rules' twice"),
      (#"{"rules": ["#, "r.json: it is not valid JSON"),
    ])
  func refused(json: String, problem: String) {
    #expect {
      _ = try rules(json)
    } throws: { error in
      "\(error)".contains(problem) && !"\(error)".contains("\n")
    }
  }
}

@Suite("Wildcards")
struct GlobTests {
  @Test(
    "match within a path segment or across segments",
    arguments: [
      ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false), ("/a/*", "/a/", true), ("/a/**", "/a/b/c", true),
      ("/a/**", "/a", false), ("/**/c", "/a/b/c", true), ("/**/c", "/a/b/cd", false), ("*", "/a", false),
      ("**", "/a/b", true), ("/a*c/*", "/abbc/x", true), ("/a*c/*", "/ab/c/x", false), ("/a", "/a", true),
      ("/a", "/A", false), ("/**/b/*", "/b/b/b/x", true), ("/**/x*y", "/x/a/xby", true), ("/*/*", "/a", false),
      ("/***", "/a/b", true), ("", "", true),
    ])
  func paths(glob: String, path: String, fits: Bool) {
    #expect(Glob(path: glob).matches(Array(path.utf8)) == fits)
  }

  @Test("match any text in a name, and header names ignore case")
  func names() {
    #expect(Glob(name: "utm_*").matches(Array("utm_a/b".utf8)))
    #expect(!Glob(name: "utm_*").matches(Array("UTM_a".utf8)))
    #expect(Glob(name: "X-*", ignoringCase: true).matches(Array("x-trace".utf8)))
  }

  @Test("match in reasonable time with many stars")
  func hostile() {
    let glob = Glob(path: String(repeating: "*a**a", count: 300) + "b")
    #expect(!glob.matches(Array(String(repeating: "a", count: 4000).utf8)))
  }
}

@Suite("Patterns")
struct PatternTests {
  @Test(
    "remove every match",
    arguments: [
      (#"\d+"#, "a1b22c", "abc"), ("x", "", ""), ("x", "abc", "abc"), (#"(?i)TOKEN=\w+"#, "é token=abc 🙂", "é  🙂"),
      ("x*", "axb", "ab"), (#"^\d{10}$"#, "1700000000", ""),
    ])
  func removes(pattern: String, from text: String, rest: String) throws {
    #expect(try Pattern(pattern).removed(from: text, PatternBudget()) == rest)
  }

  @Test("stop with an error if a search takes too long")
  func tooSlow() throws {
    let pattern = try Pattern("(a|aa)+$")
    #expect {
      _ = try pattern.removed(from: String(repeating: "a", count: 80) + "b", PatternBudget())
    } throws: { "\($0)".contains("the pattern '(a|aa)+$' takes too long") }
  }

  @Test("share one time budget per request")
  func budget() throws {
    // Some tenths of a second each, so that one alone is within the budget on any machine.
    let text = String(repeating: "a", count: 29) + "b"
    let texts = Array(repeating: "\"\(text)\"", count: 10_000).joined(separator: ",")
    let rules = #"{"rules": [{"ignore": {"pattern": ["(a|aa)+$"]}}]}"#
    _ = try Sent("POST", "/", type: "application/json", "\"a\"").keys(rules)
    #expect {
      _ = try Sent("POST", "/", type: "application/json", "[\(texts)]").keys(rules)
    } throws: { "\($0)".contains("takes too long") }
  }

  @Test("leave bytes that are not text unchanged")
  func binary() throws {
    #expect(try [try Pattern("a")].removed(from: [0xFF, 0x61] as [UInt8], PatternBudget()) == nil)
    #expect(try [try Pattern("a")].removed(from: [0x62, 0x61] as [UInt8], PatternBudget()) == [0x62] as [UInt8])
  }
}
