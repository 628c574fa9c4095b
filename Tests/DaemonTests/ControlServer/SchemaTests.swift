import Basics
import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import Testing

@testable import Daemon

@Suite("JSON schemas")
struct SchemaTests {
  private static let modes = "once, replay, record, extend, proxy or mock"
  private static let names =
    (EnvironmentConfiguration.members.filter { $0.scope != .caller }.map(\.name) + ["owner", "ttlSeconds"])
    .joined(separator: ", ")

  @Test(
    "report the path and the problem of an invalid value",
    arguments: [
      (#"[]"#, "expected an object, not an array"),
      (#"{"togles": {}}"#, "togles: unknown member; did you mean 'toggles'? The members are \(Self.names)"),
      (#"{"mode": "live"}"#, "mode: 'live' is not valid; choose from \(Self.modes)"),
      (#"{"mode": "recrd"}"#, "mode: 'recrd' is not valid; did you mean 'record'? Choose from \(Self.modes)"),
      (
        #"{"matching": {"order": "any"}}"#,
        "matching.order: 'any' is not valid; choose from strict, request, state or free"
      ),
      (
        #"{"matching": {"rules": [{"ignore": {"jsn": []}}]}}"#,
        "matching.rules[0].ignore.jsn: unknown member; did you mean 'json'? "
          + "The members are headers, query, json, form, pattern"
      ),
      (#"{"seed": null}"#, "seed: expected a string, not null"),
      (#"{"seed": "a", "seed": "b"}"#, "seed: the member is given twice"),
      (#"{"owner": {}}"#, "owner: 'pid' is missing"),
      (#"{"owner": {"pid": 1.5}}"#, "owner.pid: expected a 64-bit integer, not a number"),
      (#"{"owner": {"pid": 0}}"#, "owner.pid: 0 is not between 1 and 4194304"),
      (#"{"clock": {"rate": 0}}"#, "clock.rate: 0 is not between 1e-06 and 1000000"),
      (#"{"clock": {"start": "now"}}"#, "clock.start: 'now' is not a time such as 2018-10-08T09:00:00Z"),
      (#"{"ttlSeconds": 0}"#, "ttlSeconds: 0 is not between 0.1 and 2592000"),
      (#"{"ports": ["a", ""]}"#, "ports[1]: must not be empty"),
      (
        #"{"cassette": "a/b"}"#, "cassette: not an absolute path without '..', such as /home/me/Cassettes/booking"
      ),
      (
        #"{"cassette": "/a/../b"}"#,
        "cassette: not an absolute path without '..', such as /home/me/Cassettes/booking"
      ),
      (
        #"{"cassette": "/a/../\u0301b"}"#,
        "cassette: not an absolute path without '..', such as /home/me/Cassettes/booking"
      ),
      (
        #"{"upstreams": {"a\nb": "http://c"}}"#,
        "upstreams.a b: invalid name: not a string without control characters"
      ),
      (
        #"{"upstreams": {"a": "ftp://some"}}"#,
        "upstreams.a: 'ftp://some' is not an origin such as https://api.example.com"
      ),
      (
        #"{"credentials": [{"service": "s", "account": "a"}]}"#,
        "credentials[0]: give exactly one of secret and text"
      ),
      (
        #"{"credentials": [{"service": "s", "account": "a", "secret": "hunter2"}]}"#,
        "credentials[0].secret: not base64 with padding"
      ),
    ])
  func problem(json: String, problem: String) throws {
    let value = try JSON.parse(Array(json.utf8))
    #expect(Schemas.provisioningRequest.problem(with: value) == problem)
  }

  @Test(
    "accept valid values",
    arguments: [
      #"{}"#, #"{"toggles": {"a": null, "b": [{"c": 1e300}]}, "clock": {"start": "2018-10-08T10:00:00.25+01:00"}}"#,
      #"{"redaction": {"headers": ["X-S"], "json": ["$..pin"], "keep": {"credentials": ["s/a"]}}}"#,
      #"{"redaction": {}}"#,
      #"{"credentials": [{"service": "s", "account": "a", "secret": "aGk="}], "ttlSeconds": 0.5, "matching": {"playsUniquely": true}, "streams": "scaled:2.5"}"#,
      #"{"matching": {"rules": [{"path": "/a/**", "ignore": {"json": ["$.t"]}, "compare": {"body": "xml"}}], "order": "state"}}"#,
      #"{"upstreams": {"api": {"url": "https://dev.api1.com", "ca": "/ca.pem", "headers": {"X-Key": "k"}}}}"#,
      #"{"cassette": "/a/..b/c..", "upstreams": {"api": "https://dev.api1.com"}, "owner": {"pid": 10.0}}"#,
    ])
  func fits(json: String) throws {
    #expect(Schemas.provisioningRequest.problem(with: try JSON.parse(Array(json.utf8))) == nil)
  }

  @Test(
    "have patterns equivalent to their checks",
    arguments: [
      TextRule.Form.line, .base64, .absolutePath, .origin, .identifier,
    ])
  func patterns(form: TextRule.Form) throws {
    let texts = [
      "", "a", "a b", "a\nb", "a\n", "\u{7F}", "\u{85}", "/\u{9F}", "é", "/", "//", "/a", "/a/", "/..", "/../a",
      "/a/..", "/a/../b",
      "/..a/b..",
      "/a\tb", "a/b", "aGk=", "aGk", "aGkh", "aA==", "a===", "====", "aG=k", "http://a", "HTTPS://b:1/", "http://",
      "http:// a", "ftp://a", "http://é", "id-1._Z", "id/1", "🙂",
    ]
    let rule = TextRule(form, count: 0...100)
    let pattern = try Regex(#require(rule.pattern)).matchingSemantics(.unicodeScalar)
    for text in texts {
      let matches = text.firstMatch(of: pattern) != nil
      #expect(matches == (rule.problem(with: text) == nil), "\(form) \(text.debugDescription)")
    }
  }

  @Test(
    "reject integers over 64 bits",
    arguments: ["-9223372036854775809", "9223372036854775808"])
  func wholeNumbers(number: String) throws {
    let value = try JSON.parse(Array(number.utf8))
    #expect(Schema.integer(Int.min...Int.max).problem(with: value) == "expected a 64-bit integer, not a number")
  }

  @Test("don't quote strings, which may be secrets")
  func noSecrets() throws {
    let value = try JSON.parse(
      Array(#"{"credentials": [{"service": "s", "account": "a", "secret": "hunter2!", "text": 7}]}"#.utf8))
    let problem = try #require(Schemas.provisioningRequest.problem(with: value))
    #expect(!problem.contains("hunter2"))
  }
}
