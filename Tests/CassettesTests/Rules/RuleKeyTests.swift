import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import Cassettes

@Suite("Match keys with rules")
struct RuleKeyTests {
  private static let json = "application/json"
  private static let form = "application/x-www-form-urlencoded"

  @Test(
    "a rule sets whether each part counts",
    arguments: [
      (#"{"compare": {"method": false}}"#, Sent("GET", "/a"), Sent("PUT", "/a")),
      (#"{"compare": {"path": false}}"#, Sent("GET", "/a?x=1"), Sent("GET", "/b?x=1")),
      (#"{"compare": {"query": false}}"#, Sent("GET", "/a?x=1"), Sent("GET", "/a")),
      (#"{"compare": {"body": "none"}}"#, Sent("POST", "/a", "1"), Sent("POST", "/a", "2")),
      (#"{"compare": {"host": false, "scheme": false}}"#, Sent("GET", "/a"), Sent("GET", upstream: 1, "/a")),
      (#"{"ignore": {"query": ["_", "utm_*"]}}"#, Sent("GET", "/a?x=1&_=3"), Sent("GET", "/a?utm_s=4&x=1&utm_t")),
      (
        #"{"ignore": {"json": ["$.t", "$.a[*].id"]}}"#,
        Sent("POST", type: json, #"{"t": 1, "a": [{"id": 1, "v": 1.0}]}"#),
        Sent("POST", type: json, #"{"a": [{"v": 1, "id": 2}]}"#)
      ),
      (
        #"{"ignore": {"form": ["csrf"]}}"#, Sent("POST", type: form, "a=1&csrf=x"),
        Sent("POST", type: form, "csrf=y&a=1")
      ),
      (
        #"{"ignore": {"pattern": ["\\d{4}-\\d\\d-\\d\\d"]}}"#,
        Sent("POST", "/on/2020-01-01?d=2020-01-01", type: json, #"{"on": "2020-01-01"}"#),
        Sent("POST", "/on/2021-12-31?d=2021-12-31", type: json, #"{"on": "2021-12-31"}"#)
      ),
      (
        #"{"ignore": {"pattern": ["^17\\d{8}$"]}}"#,
        Sent("POST", type: json, #"{"t": 1700000001}"#), Sent("POST", type: json, #"{"t": 1700000002}"#)
      ),
      (
        #"{"ignore": {"pattern": ["id=\\d+"]}}"#, Sent("POST", "/", type: "text/csv", "a,id=1"),
        Sent("POST", "/", type: "text/csv", "a,id=2")
      ),
      (
        #"{"compare": {"body": "json"}}"#, Sent("POST", type: "text/csv", "{\"a\": 1}"),
        Sent("POST", type: "x/y", "{\"a\":1.0}")
      ),
      (#"{"compare": {"body": "form"}}"#, Sent("POST", "/", "a=1&b=2"), Sent("POST", "/", "b=2&a=%31")),
    ])
  func leftOut(rule: String, one: Sent, other: Sent) throws {
    #expect(try !areSame(one, other))
    #expect(try areSame(one, other, #"{"rules": [\#(rule)]}"#))
  }

  @Test(
    "parts that a rule does not ignore still count",
    arguments: [
      (#"{"compare": {"method": false}}"#, Sent("GET", "/a"), Sent("PUT", "/b")),
      (#"{"compare": {"path": false}}"#, Sent("GET", "/a?x=1"), Sent("GET", "/b?x=2")),
      (#"{"compare": {"host": false}}"#, Sent("GET", "/a"), Sent("GET", upstream: 1, "/a")),
      (#"{"compare": {"scheme": false}}"#, Sent("GET", "/a"), Sent("GET", upstream: 1, "/a")),
      (
        #"{"compare": {"headers": ["accept"]}}"#, Sent("GET", headers: ["Accept": "a"]),
        Sent("GET", headers: ["Accept": "b"])
      ),
      (#"{"compare": {"headers": ["accept"]}}"#, Sent("GET", headers: ["Accept": "a"]), Sent("GET")),
      (#"{"compare": {"body": "bytes"}}"#, Sent("POST", type: json, "{}"), Sent("POST", type: json, "{ }")),
      (
        #"{"ignore": {"json": ["$.t"]}}"#, Sent("POST", type: json, #"{"u": {"t": 1}}"#),
        Sent("POST", type: json, #"{"u": {"t": 2}}"#)
      ),
    ])
  func goesOn(rule: String, one: Sent, other: Sent) throws {
    #expect(try !areSame(one, other, #"{"rules": [\#(rule)]}"#))
  }

  @Test("compared headers ignore case and count all values in order")
  func headers() throws {
    let rule = #"{"rules": [{"compare": {"headers": ["ACCEPT"]}}]}"#
    #expect(try areSame(Sent(headers: ["Accept": "a", "X": "1"]), Sent(headers: ["accept": "a", "X": "2"]), rule))
    let two = Sent(headers: ["Accept": "a", "accept": "b"])
    #expect(try !areSame(two, Sent(headers: ["Accept": "b", "accept": "a"]), rule))
  }

  @Test("rules apply to some requests, add up, and later ones override earlier ones")
  func scope() throws {
    let some = #"""
      {"rules": [
        {"ignore": {"query": ["_"]}, "compare": {"headers": ["Accept"]}},
        {"upstream": "api", "method": "POST", "path": "/search/**", "ignore": {"json": ["$.t"], "headers": ["acc*"]}}
      ]}
      """#
    let one = Sent("POST", "/search/x?_=1", type: Self.json, headers: ["Accept": "a"], #"{"t": 1}"#)
    let other = Sent("POST", "/search/x", type: Self.json, headers: ["Accept": "b"], #"{"t": 2}"#)
    #expect(try areSame(one, other, some))
    for change: (inout Sent) -> Void in [
      { $0.upstream = 1 }, { $0.method = "PUT" }, { $0.target = "/find/x" },
    ] {
      var (one, other) = (one, other)
      change(&one)
      change(&other)
      #expect(try !areSame(one, other, some))
    }
    let takenBack = #"{"rules": [{"compare": {"query": false}}, {"path": "/exact", "compare": {"query": true}}]}"#
    #expect(try areSame(Sent("GET", "/a?x=1"), Sent("GET", "/a?x=2"), takenBack))
    #expect(try !areSame(Sent("GET", "/exact?x=1"), Sent("GET", "/exact?x=2"), takenBack))
  }

  @Test("requests to which different rules apply differ, even if their paths do not count")
  func otherRules() throws {
    let json =
      #"{"rules": [{"path": "/a/*", "compare": {"path": false}}, {"path": "/b/*", "compare": {"path": false}}]}"#
    #expect(try areSame(Sent("GET", "/a/1"), Sent("GET", "/a/2"), json))
    #expect(try !areSame(Sent("GET", "/a/1"), Sent("GET", "/b/1"), json))
  }

  @Test("the key is the one without rules if none applies")
  func plain() throws {
    let sent = Sent("POST", "/x?a=1", type: Self.json, "{}")
    let ruled = try sent.keys(#"{"rules": [{"path": "/y", "compare": {"query": false}}]}"#)
    #expect(try ruled.key == sent.keys(nil).key)
    #expect(ruled.plain == ruled.key)
  }
}

/// Rules in the format of a file.
func rules(_ json: String) throws -> MatchingRules {
  let rules = try MatchingRules(decoding: Data(json.utf8))
  _ = try RuleBook(rules, upstreams: [])
  return rules
}

/// A request to one of two upstreams, `api` (https://a.test) and `b` (http://a.test:81).
struct Sent {
  var method = "GET"
  var upstream = 0
  var target = "/"
  var headers: Headers = [:]
  var body = ""

  init(
    _ method: String = "GET", upstream: Int = 0, _ target: String = "/", type: String? = nil, headers: Headers = [:],
    _ body: String = ""
  ) {
    self.method = method
    self.upstream = upstream
    self.target = target
    self.headers = headers
    if let type { self.headers.append("Content-Type", type) }
    self.body = body
  }

  static let upstreams = [
    CassetteHeader.Upstream(name: "api", origin: Origin(scheme: "https", host: "a.test", port: 443)),
    CassetteHeader.Upstream(name: "b", origin: Origin(scheme: "http", host: "a.test", port: 81)),
  ]

  func keys(_ json: String?) throws -> RequestKeys {
    let book = try json.map { try RuleBook(try rules($0), upstreams: Self.upstreams) }
    return try MatchKeyMaker(book).keys(
      method: method, upstream: upstream, target: target, headers: headers, body: Array(body.utf8))
  }
}

/// Whether two requests are equal by the given rules, or by default.
func areSame(_ one: Sent, _ other: Sent, _ json: String? = nil) throws -> Bool {
  try one.keys(json).key == other.keys(json).key
}
