import Basics
import EnvironmentConfiguration
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
      ("[]", "expected an object, not an array"),
      ("{\"rule\": []}", "rule: unknown member; did you mean 'rules'?"),
      (#"{"rules": [{"ignore": {"jsn": []}}]}"#, "rules[0].ignore.jsn: unknown member; did you mean 'json'?"),
      (#"{"rules": [{"ignore": {"json": "$.a"}}]}"#, "rules[0].ignore.json: expected an array, not a string"),
      (#"{"rules": [{"ignore": {"json": [1]}}]}"#, "rules[0].ignore.json[0]: expected a string, not a number"),
      (
        #"{"rules": [{"ignore": {"json": ["a"]}}]}"#,
        "matching.rules[0].ignore.json[0]: 'a' is not a valid JSON path: it must begin with $"
      ),
      (#"{"rules": [{"ignore": {"json": ["$"]}}]}"#, "matching.rules[0].ignore.json[0]: '$' is the whole body; use"),
      (
        #"{"rules": [{"ignore": {"pattern": ["("]}}]}"#,
        "matching.rules[0].ignore.pattern[0]: '(' is not a valid regular expression: missing closing parenthesis"
      ),
      (#"{"rules": [{"compare": {"body": "yaml"}}]}"#, "choose from auto, bytes, json, form, multipart, xml or none"),
      (#"{"rules": [{"compare": {"host": "no"}}]}"#, "rules[0].compare.host: expected true or false, not a string"),
      (#"{"order": "any"}"#, "order: 'any' is not valid"),
      (
        #"{"rules": [{"path": "/a"}]}"#,
        "matching.rules[0] changes nothing; give it ignore, echo, compare or changesState"
      ),
      (
        #"{"rules": [{"path": "a/*", "changesState": true}]}"#,
        "matching.rules[0].path is 'a/*'; paths begin with /, so begin it with / or **"
      ),
      (#"{"rules": [{"path": "/a?b=*", "changesState": true}]}"#, "use ignore.query to ignore query items"),
      (#"{"rules": [{"method": "get", "changesState": true}]}"#, "methods are uppercase: GET"),
      (#"{"rules": [], "rules": []}"#, "rules: the member is given twice"),
      (#"{"rules": ["#, "not JSON"),
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
