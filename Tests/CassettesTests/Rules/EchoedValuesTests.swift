import Basics
import EnvironmentConfiguration
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Values of a request that rules echo or ignore")
struct EchoedValuesTests {
  private static func places(_ rules: String, target: String = "/rpc") throws -> EchoPlaces {
    try RuleBook(try CassettesTests.rules(#"{"rules": [\#(rules)]}"#), upstreams: Sent.upstreams)
      .echoPlaces(method: "POST", upstream: "api", target: target)
  }

  private static func content(
    _ body: String, type: String = "application/json", target: String = "/rpc", headers: Headers = [:]
  ) -> EchoPlaces.Content {
    var headers = headers
    headers.append("Content-Type", type)
    return .init(target: target, headers: headers, body: Array(body.utf8))
  }

  /// Each value as `place name: recorded -> sent`.
  private static func values(
    _ rules: String, _ recorded: EchoPlaces.Content, _ sent: EchoPlaces.Content
  ) throws -> [String] {
    try places(rules, target: sent.target).values(recorded, sent).map {
      func text(_ value: JSON) -> String { String(decoding: value.encoded(), as: UTF8.self) }
      return
        "\($0.place.isEchoed ? "" : "ignored ")\($0.place) \($0.name ?? "-"): \(text($0.recorded)) -> \(text($0.sent))"
    }
  }

  @Test("an echo implies that the place is ignored")
  func ignored() throws {
    let json = "application/json-rpc"
    for (rule, one, other) in [
      (#"{"json": ["$.id"]}"#, Sent("POST", type: json, #"{"id":1}"#), Sent("POST", type: json, #"{"id":"x"}"#)),
      (#"{"query": ["st*"]}"#, Sent("GET", "/a?state=1&b=2"), Sent("GET", "/a?b=2&state=3")),
      (
        #"{"form": ["nonce"]}"#, Sent("POST", type: "application/x-www-form-urlencoded", "nonce=1&a=b"),
        Sent("POST", type: "application/x-www-form-urlencoded", "a=b&nonce=2")
      ),
    ] {
      #expect(try !areSame(one, other))
      #expect(try areSame(one, other, #"{"rules": [{"echo": \#(rule)}]}"#))
    }
    let compared = #"{"rules": [{"compare": {"headers": ["x-id"]}}, {"echo": {"headers": ["X-Id"]}}]}"#
    #expect(try areSame(Sent("GET", headers: ["X-Id": "1"]), Sent("GET", headers: ["X-Id": "2"]), compared))
  }

  @Test("are found at the same places of both requests")
  func pairs() throws {
    let rule = #"{"echo": {"json": ["$.id", "$[*].id", "$.params..token"]}, "ignore": {"json": ["$.at"]}}"#
    #expect(
      try Self.values(
        rule, Self.content(#"{"id": 1, "at": 5, "params": {"a": [{"token": "x"}, {"token": "y"}]}}"#),
        Self.content(#"{"at": 6, "params": {"a": [{"token": "z"}, {"other": 1}]}, "id": "one"}"#)) == [
          "$.id id: 1 -> \"one\"", "ignored $.at at: 5 -> 6", "$.params..token token: \"x\" -> \"z\"",
        ])
    #expect(
      try Self.values(rule, Self.content(#"[{"id": 1}, {"id": 2}]"#), Self.content(#"[{"id": 8}, {"id": 9}]"#)) == [
        "$[*].id id: 1 -> 8", "$[*].id id: 2 -> 9",
      ])
    // Only strings and numbers.
    #expect(try Self.values(rule, Self.content(#"{"id": null}"#), Self.content(#"{"id": 1}"#)) == [])
    #expect(try Self.values(rule, Self.content(#"{"id": {"a": 1}}"#), Self.content(#"{"id": 1}"#)) == [])
  }

  @Test("are found in queries, forms, multipart forms and headers, by name and occurrence")
  func named() throws {
    let rule = #"{"echo": {"query": ["state", "n*"], "form": ["nonce"], "headers": ["X-Request-*"], "json": ["$.id"]}}"#
    #expect(
      try Self.values(
        rule, Self.content("", target: "/a?state=a%20b&x=1&n=1&n=2", headers: ["X-Request-Id": "h1"]),
        Self.content("", target: "/a?n=3&n=4&n=5&state=c+d", headers: ["x-request-id": "h2"])) == [
          "query item `n*` n: \"1\" -> \"3\"", "query item `n*` n: \"2\" -> \"4\"",
          "query item `state` state: \"a b\" -> \"c d\"", "header `X-Request-*` x-request-id: \"h1\" -> \"h2\"",
        ])
    let form = "application/x-www-form-urlencoded"
    #expect(
      try Self.values(rule, Self.content("nonce=a&b=1", type: form), Self.content("b=1&nonce=%2B", type: form)) == [
        "form item `nonce` nonce: \"a\" -> \"+\""
      ])
    func multipart(_ nonce: String, _ id: Int) -> EchoPlaces.Content {
      let part = "--b\r\nContent-Disposition: form-data; name="
      return Self.content(
        "\(part)nonce\r\n\r\n\(nonce)\r\n\(part)j\r\nContent-Type: application/json\r\n\r\n{\"id\":\(id)}\r\n--b--",
        type: "multipart/form-data; boundary=b")
    }
    #expect(
      try Self.values(rule, multipart("a", 1), multipart("b", 2)) == [
        "form item `nonce` nonce: \"a\" -> \"b\"", "$.id id: 1 -> 2",
      ])
  }

  @Test("are bounded in number and length")
  func bounds() throws {
    let rule = #"{"echo": {"json": ["$[*]"]}}"#
    let many = "[" + (0..<3000).map(String.init).joined(separator: ",") + "]"
    #expect(try Self.values(rule, Self.content(many), Self.content(many)).count == EchoedValue.most)
    let long = "[\"\(String(repeating: "x", count: EchoedValue.longest + 1))\"]"
    #expect(try Self.values(rule, Self.content(#"["a"]"#), Self.content(long)) == [])
  }

  @Test("come from the rules that apply, and a rule names no place that cannot be followed")
  func rules() throws {
    #expect(try Self.places(#"{"path": "/other", "echo": {"json": ["$.id"]}}"#).isEmpty)
    #expect(try !Self.places(#"{"ignore": {"json": ["$.id"]}}"#).echoes)
    #expect(try Self.places(#"{"echo": {"json": ["$.id"]}}"#).echoes)
    for (path, problem) in [("$", "'$' is the whole body"), ("$[-1]", "'$[-1]' counts from the end")] {
      #expect {
        _ = try Self.places(#"{"echo": {"json": ["\#(path)"]}}"#)
      } throws: { ($0 as? CodedError)?.message.contains(problem) == true }
    }
    let book = try RuleBook(
      try CassettesTests.rules(#"{"rules": [{"echo": {"json": ["$.id"], "query": ["state"]}}]}"#),
      upstreams: Sent.upstreams)
    #expect(book.title(of: 0) == "rule 1: echoes query item state; echoes JSON $.id")
  }
}
