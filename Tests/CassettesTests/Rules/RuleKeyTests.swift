import HTTPMessages
import Testing

@testable import Cassettes

@Suite("What counts by rules")
struct RuleKeyTests {
  private static let json = "application/json"
  private static let form = "application/x-www-form-urlencoded"

  @Test(
    "each part counts, or does not",
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
    "what a rule does not leave out goes on counting",
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

  @Test("named headers count whatever their case, all values in order")
  func headers() throws {
    let rule = #"{"rules": [{"compare": {"headers": ["ACCEPT"]}}]}"#
    #expect(try areSame(Sent(headers: ["Accept": "a", "X": "1"]), Sent(headers: ["accept": "a", "X": "2"]), rule))
    let two = Sent(headers: ["Accept": "a", "accept": "b"])
    #expect(try !areSame(two, Sent(headers: ["Accept": "b", "accept": "a"]), rule))
  }

  @Test("a rule is for some requests only, and what several say adds up; the later one counts where they differ")
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

  @Test("requests under different rules are different, though neither's path counts")
  func otherRules() throws {
    let json =
      #"{"rules": [{"path": "/a/*", "compare": {"path": false}}, {"path": "/b/*", "compare": {"path": false}}]}"#
    #expect(try areSame(Sent("GET", "/a/1"), Sent("GET", "/a/2"), json))
    #expect(try !areSame(Sent("GET", "/a/1"), Sent("GET", "/b/1"), json))
  }

  @Test("where no rule fits, the key is that without rules")
  func plain() throws {
    let sent = Sent("POST", "/x?a=1", type: Self.json, "{}")
    let ruled = try sent.keys(#"{"rules": [{"path": "/y", "compare": {"query": false}}]}"#)
    #expect(try ruled.key == sent.keys(nil).key)
    #expect(ruled.plain == ruled.key)
  }
}
