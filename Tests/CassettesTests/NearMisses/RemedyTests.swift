import Basics
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("What makes a miss match")
struct RemedyTests {
  private static let json = "application/json"
  private static let form = "application/x-www-form-urlencoded"
  private static let uuids = ["550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"]
  /// Recordings are of 2018-10-08T09:00:00Z.
  private static let times = MissTimes(now: Date(timeIntervalSince1970: 1_539_172_800))

  private func remedy(
    _ sent: Sent, _ interactions: [Interaction], _ json: String = #"{"rules": []}"#, expected: Int? = nil
  ) throws -> Remedy {
    let upstreams = [Sent.upstreams[0]]
    let misses = nearMisses(
      method: sent.method, target: sent.target, upstreamName: "api", headers: sent.headers,
      body: Array(sent.body.utf8), in: interactions, names: { $0.upstream },
      book: try RuleBook(try rules(json), upstreams: upstreams), expected: expected, at: Self.times, body: inlineBody)
    return try #require(misses.first { $0.remedy?.rule != nil }?.remedy ?? misses.first?.remedy)
  }

  private func recorded(_ sent: Sent) -> Interaction {
    .recorded(
      sent.method, "https://a.test" + sent.target, upstream: "api", type: sent.headers["Content-Type"], body: sent.body)
  }

  private func text(_ rule: MatchingRules.Rule?) -> String? {
    rule.map { String(decoding: $0.document.encoded(.line), as: UTF8.self) }
  }

  @Test(
    "is a rule for the place that differs, which makes both requests equal",
    arguments: [
      (
        Sent("POST", "/orders", type: json, #"{"sentAt": "2018-10-08T09:00:01Z", "n": 1}"#),
        Sent("POST", "/orders", type: json, #"{"n": 1, "sentAt": "2018-10-10T12:00:02Z"}"#), ["instant"],
        #"{"method": "POST", "path": "/orders", "ignore": {"json": ["$.sentAt"]}}"#
      ),
      (
        Sent("GET", "/a?_=1538989201123&p=1"), Sent("GET", "/a?p=1&_=1539172802345"), ["instant"],
        #"{"method": "GET", "path": "/a", "ignore": {"query": ["_"]}}"#
      ),
      (
        Sent("POST", "/f", type: form, "a=1&nonce=a1b2c3d4"), Sent("POST", "/f", type: form, "a=1&nonce=d4c3b2a1"),
        ["nonce"], #"{"method": "POST", "path": "/f", "ignore": {"form": ["nonce"]}}"#
      ),
      (
        Sent("PUT", "/o/\(uuids[0])/items/7"), Sent("PUT", "/o/\(uuids[1])/items/7"), ["uuid"],
        #"{"method": "PUT", "path": "/o/*/items/7", "ignore": {"pattern": ["(?<=/o/)[^/]+"]}}"#
      ),
      (
        Sent("GET", "/\(uuids[0])/items"), Sent("GET", "/\(uuids[1])/items"), ["uuid"],
        #"{"method": "GET", "path": "/*/items", "ignore": {"pattern": ["(?<=^/)[^/]+"]}}"#
      ),
      (
        Sent("POST", "/l", type: json, #"{"i": [{"id": "\#(uuids[0])"}, {"id": "9f86d081884c7d65"}]}"#),
        Sent("POST", "/l", type: json, #"{"i": [{"id": "\#(uuids[1])"}, {"id": "2c26b46b68ffc68f"}]}"#),
        ["uuid", "nonce"], #"{"method": "POST", "path": "/l", "ignore": {"json": ["$.i[*].id"]}}"#
      ),
      (
        Sent("POST", "/rpc", type: json, #"{"jsonrpc": "2.0", "id": 4, "method": "get"}"#),
        Sent("POST", "/rpc", type: json, #"{"jsonrpc": "2.0", "id": 5, "method": "get"}"#), ["counter"],
        #"{"method": "POST", "path": "/rpc", "ignore": {"json": ["$.id"]}}"#
      ),
      (
        Sent("POST", "/c", type: json, #"{"x-nonce 1": {"a.b": {"nonce": "a1b2c3d4"}}}"#),
        Sent("POST", "/c", type: json, #"{"x-nonce 1": {"a.b": {"nonce": "d4c3b2a1"}}}"#), ["nonce"],
        #"{"method": "POST", "path": "/c", "ignore": {"json": ["$[\"x-nonce 1\"][\"a.b\"].nonce"]}}"#
      ),
      (
        Sent("POST", "/t", type: "text/plain", "at=2018-10-08T09:00:01Z\nid=9f86d081884c7d65\n"),
        Sent("POST", "/t", type: "text/plain", "at=2018-10-10T12:00:05Z\nid=2c26b46b68ffc68f\n"),
        ["instant", "nonce"],
        ##"{"method": "POST", "path": "/t", "ignore": {"pattern": ["(?<=at=)[^\\s\"'`<>,;@&=?/|()\\[\\]{}#]+", "(?<=id=)[^\\s\"'`<>,;@&=?/|()\\[\\]{}#]+"]}}"##
      ),
      (
        Sent("POST", "/x", type: "text/xml", "<a><sentAt>2018-10-08T09:00:01Z</sentAt><b>1</b></a>"),
        Sent("POST", "/x", type: "text/xml", "<a><sentAt>2018-10-10T12:00:05Z</sentAt><b>1</b></a>"), ["instant"],
        ##"{"method": "POST", "path": "/x", "ignore": {"pattern": ["(?<=<a><sentAt>)[^\\s\"'`<>,;@&=?/|()\\[\\]{}#]+"]}}"##
      ),
      (
        Sent("POST", "/x", type: "text/xml", "<a x='1' y='2'/>"),
        Sent("POST", "/x", type: "text/xml", "<a y='2' x='1'/>"),
        ["notation"], #"{"method": "POST", "path": "/x", "compare": {"body": "xml"}}"#
      ),
      (
        Sent("POST", "/x", type: "application/octet-stream", #"{"a": 1, "b": 2}"#),
        Sent("POST", "/x", type: "application/octet-stream", #"{"b":2,"a":1}"#), ["notation"],
        #"{"method": "POST", "path": "/x", "compare": {"body": "json"}}"#
      ),
    ])
  func rule(_ one: Sent, _ other: Sent, _ kinds: [String], _ expected: String) throws {
    let remedy = try remedy(other, [recorded(one)])
    #expect(remedy.causes.map(\.kind.name) == kinds)
    #expect(text(remedy.rule) == expected)
    #expect(try !areSame(one, other))
    #expect(try areSame(one, other, #"{"rules": [\#(expected)]}"#))
  }

  @Test(
    "is no rule where the app asks for something else",
    arguments: [
      (Sent("GET", "/a?page=1"), Sent("GET", "/a?page=2"), ["other"]),
      (Sent("GET", "/a"), Sent("POST", "/a"), ["other"]), (Sent("GET", "/a?x=1"), Sent("GET", "/a?x=1&y=2"), ["other"]),
      (
        Sent("POST", "/a", type: json, #"{"n": 1, "nonce": "a1b2c3d4"}"#),
        Sent("POST", "/a", type: json, #"{"n": 2, "nonce": "d4c3b2a1"}"#), ["other", "nonce"]
      ),
      (Sent("POST", "/a", type: json, #"{"on": true}"#), Sent("POST", "/a", type: json, #"{"on": false}"#), ["other"]),
      (
        Sent("POST", "/a", type: "text/plain", "two teas"), Sent("POST", "/a", type: "text/plain", "one tea"), ["other"]
      ),
    ])
  func other(_ one: Sent, _ other: Sent, _ kinds: [String]) throws {
    let remedy = try remedy(other, [recorded(one)])
    #expect(remedy.causes.map(\.kind.name) == kinds)
    #expect(remedy.rule == nil)
  }

  @Test("an id that the recording knows is not random")
  func known() throws {
    let one = recorded(Sent("GET", "/items/\(Self.uuids[0])"))
    var list = recorded(Sent("GET", "/list"))
    list.response.body = .bytes(Array(#"[{"id": "\#(Self.uuids[1])"}]"#.utf8))
    let asked = Sent("GET", "/items/\(Self.uuids[1])")
    #expect(try remedy(asked, [one]).rule != nil)
    let remedy = try remedy(asked, [one, list])
    #expect(remedy.rule == nil)
    #expect(remedy.causes.map(\.kind) == [.other])
  }

  @Test("a redacted value is redacted, too, and a credential's is ignored")
  func redacted() throws {
    let asked = Sent("POST", "/login?key=k1", type: Self.json, #"{"pin": "4711"}"#)
    let plain = try remedy(
      asked, [recorded(Sent("POST", "/login?key=%3Credacted%3E", type: Self.json, #"{"pin": "<redacted>"}"#))])
    #expect(plain.causes.map(\.kind) == [.value(.redacted), .value(.redacted)])
    var rules = RedactionRules()
    (rules.query, rules.json) = (["key"], ["$.pin"])
    #expect(plain.redaction == rules)
    #expect(text(plain.rule)?.contains(#""query": ["key"]"#) == true)
    let named = try remedy(
      asked, [recorded(Sent("POST", "/login?key=k1", type: Self.json, #"{"pin": "<redacted:shop/pin>"}"#))])
    #expect(named.redaction == nil)
    #expect(named.causes.map(\.mark) == ["<redacted:shop/pin>"])
    #expect(named.rule?.ignore.json == ["$.pin"])
  }

  @Test("rules that exist stay in force")
  func existing() throws {
    let one = recorded(Sent("POST", "/x", type: "text/xml", "<a y='1' x='1'><at>2018-10-08T09:00:01Z</at></a>"))
    let remedy = try remedy(
      Sent("POST", "/x", type: "text/xml", "<a y='1' x='1'><at>2018-10-10T12:00:01Z</at></a>"), [one],
      #"{"rules": [{"compare": {"body": "xml"}}]}"#)
    #expect(remedy.rule?.ignore.pattern.count == 1)
    #expect(remedy.rule?.compare.body == nil)
    let header = try self.remedy(
      Sent("GET", "/x", headers: ["X-Nonce": "d4c3b2a1"]), [recorded(Sent("GET", "/x"))],
      #"{"rules": [{"compare": {"headers": ["X-Nonce"]}}]}"#)
    #expect(header.rule == nil)
  }

  @Test("parts in another order may have other values, too", arguments: ["a1b2c3d4", "d4c3b2a1"])
  func parts(nonce: String) throws {
    func form(_ parts: [(String, String)]) -> String {
      parts.map { "--x\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n\($1)\r\n" }.joined() + "--x--\r\n"
    }
    let type = "multipart/form-data; boundary=x"
    let one = Sent("POST", "/up", type: type, form([("title", "cat"), ("nonce", "a1b2c3d4"), ("n", "1")]))
    let other = Sent("POST", "/up", type: type, form([("nonce", nonce), ("title", "cat"), ("n", "1")]))
    let remedy = try remedy(other, [recorded(one)])
    #expect(remedy.causes.map(\.kind.name) == ["partOrder"] + (nonce == "a1b2c3d4" ? [] : ["nonce"]))
    #expect(remedy.rule?.compare.partOrder == false)
    #expect(remedy.rule?.ignore.form == (nonce == "a1b2c3d4" ? [] : ["nonce"]))
    let more = Sent("POST", "/up", type: type, form([("nonce", nonce), ("title", "dog"), ("n", "1")]))
    #expect(try self.remedy(more, [recorded(one)]).rule == nil)
  }

  @Test("in strict order, the expected request may still differ by such a value")
  func strict() throws {
    let interactions = [
      recorded(Sent("POST", "/a", type: Self.json, #"{"nonce": "a1b2c3d4"}"#)), recorded(Sent("GET", "/b")),
    ]
    let asked = Sent("POST", "/a", type: Self.json, #"{"nonce": "d4c3b2a1"}"#)
    #expect(try remedy(asked, interactions, expected: 0).rule?.ignore.json == ["$.nonce"])
    let early = try remedy(Sent("GET", "/b"), interactions, expected: 0)
    #expect(early.causes.map(\.kind) == [.order])
    #expect(early.rule == nil)
  }
}

@Suite("Rules of several misses")
struct SuggestedRulesTests {
  private func combined(_ texts: [String]) throws -> [String] {
    try SuggestedRules.combined(texts.flatMap { try rules(#"{"rules": [\#($0)]}"#).rules })
      .map { String(decoding: $0.document.encoded(.line), as: UTF8.self) }
  }

  @Test("are one if they are of the same shape, with wildcards for ids only")
  func shape() throws {
    let ignore = #""ignore": {"json": ["$.at"]}"#
    #expect(
      try combined([
        #"{"method": "POST", "path": "/o/1/ack", \#(ignore)}"#, #"{"method": "POST", "path": "/o/27/ack", \#(ignore)}"#,
        #"{"method": "POST", "path": "/o/1/ack", \#(ignore)}"#, #"{"method": "PUT", "path": "/o/1/ack", \#(ignore)}"#,
        #"{"method": "POST", "path": "/p/1/ack", \#(ignore)}"#,
      ]) == [
        #"{"method": "POST", "path": "/o/*/ack", \#(ignore)}"#, #"{"method": "PUT", "path": "/o/1/ack", \#(ignore)}"#,
        #"{"method": "POST", "path": "/p/1/ack", \#(ignore)}"#,
      ])
  }

  @Test("are one if they are for the same requests")
  func scope() throws {
    #expect(
      try combined([
        #"{"method": "POST", "path": "/o", "ignore": {"json": ["$.i[0].at", "$.n"]}}"#,
        #"{"method": "POST", "path": "/o", "ignore": {"query": ["_"], "json": ["$.i[3].at"]}}"#,
        #"{"method": "POST", "path": "/o", "compare": {"body": "xml"}}"#,
      ]) == [
        #"{"method": "POST", "path": "/o", "ignore": {"json": ["$.i[*].at", "$.n"], "query": ["_"]}, "compare": {"body": "xml"}}"#
      ])
  }
}
