import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import Testing

@testable import Daemon

@Suite("A schema")
struct SchemaTests {
  private static let modes = "once, replay, record, extend, proxy, mock"
  private static let names = (EnvironmentConfiguration.members.map(\.name) + ["owner", "ttlSeconds"])
    .joined(separator: ", ")

  @Test(
    "says of what does not fit which member it is, and what is wrong with it",
    arguments: [
      (#"[]"#, "it is an array, not an object"),
      (#"{"togles": {}}"#, "togles: there is no such member; did you mean 'toggles'? The members are \(Self.names)"),
      (#"{"mode": "live"}"#, "mode: 'live' is not valid; choose from once, replay, record, extend, proxy, mock"),
      (#"{"mode": "recrd"}"#, "mode: 'recrd' is not valid; did you mean 'record'? Choose from \(Self.modes)"),
      (
        #"{"matching": {"order": "any"}}"#,
        "matching.order: 'any' is not valid; choose from strict, request, state, free"
      ),
      (
        #"{"matching": {"rules": [{"ignore": {"jsn": []}}]}}"#,
        "matching.rules[0].ignore.jsn: there is no such member; did you mean 'json'? "
          + "The members are headers, query, json, form, pattern"
      ),
      (#"{"seed": null}"#, "seed: it is null, not a string"),
      (#"{"seed": "a", "seed": "b"}"#, "seed: the member is there twice"),
      (#"{"owner": {}}"#, "owner: 'pid' is missing"),
      (#"{"owner": {"pid": 1.5}}"#, "owner.pid: it is a number, not a whole number of 64 bits"),
      (#"{"owner": {"pid": 0}}"#, "owner.pid: 0 is not from 1 to 4194304"),
      (#"{"clock": {"rate": 0}}"#, "clock.rate: 0.0 is not from 1e-06 to 1000000.0"),
      (#"{"clock": {"start": "now"}}"#, "clock.start: 'now' is not an instant such as 2018-10-08T09:00:00Z"),
      (#"{"ttlSeconds": 0}"#, "ttlSeconds: 0.0 is not from 0.1 to 2592000.0"),
      (#"{"ports": ["a", ""]}"#, "ports[1]: it is empty"),
      (
        #"{"cassette": "a/b"}"#, "cassette: it is not an absolute path without '..', such as /home/me/Cassettes/booking"
      ),
      (
        #"{"cassette": "/a/../b"}"#,
        "cassette: it is not an absolute path without '..', such as /home/me/Cassettes/booking"
      ),
      (
        #"{"cassette": "/a/../\u0301b"}"#,
        "cassette: it is not an absolute path without '..', such as /home/me/Cassettes/booking"
      ),
      (
        #"{"upstreams": {"a\nb": "http://c"}}"#,
        "upstreams.a b: the name cannot be used: it is not a text without control characters"
      ),
      (#"{"upstreams": {"a": "ftp://some"}}"#, "upstreams.a: it is not an origin such as https://api.example.com"),
      (
        #"{"credentials": [{"service": "s", "account": "a"}]}"#,
        "credentials[0]: exactly one of secret and text belongs here, not none"
      ),
      (
        #"{"credentials": [{"service": "s", "account": "a", "secret": "hunter2"}]}"#,
        "credentials[0].secret: it is not base64 with its padding"
      ),
    ])
  func problem(json: String, problem: String) throws {
    let value = try JSON.parse(Array(json.utf8))
    #expect(Schemas.provisioningRequest.problem(with: value) == problem)
  }

  @Test(
    "takes what fits",
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
    "says in its pattern what it does",
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
    "takes no number for a whole one that 64 bits cannot hold",
    arguments: ["-9223372036854775809", "9223372036854775808"])
  func wholeNumbers(number: String) throws {
    let value = try JSON.parse(Array(number.utf8))
    #expect(Schema.integer(Int.min...Int.max).problem(with: value) == "it is a number, not a whole number of 64 bits")
  }

  @Test("shows no text of a value, which may be a secret")
  func noSecrets() throws {
    let value = try JSON.parse(
      Array(#"{"credentials": [{"service": "s", "account": "a", "secret": "hunter2!", "text": 7}]}"#.utf8))
    let problem = try #require(Schemas.provisioningRequest.problem(with: value))
    #expect(!problem.contains("hunter2"))
  }
}
