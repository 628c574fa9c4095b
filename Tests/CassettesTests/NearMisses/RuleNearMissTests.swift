import EnvironmentConfiguration
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Near misses by rules and order")
struct RuleNearMissTests {
  private static let json = "application/json"

  private func nearest(
    _ sent: Sent, _ interactions: [Interaction], _ json: String? = nil, expected: Int? = nil,
    awaited: (Int) -> Int? = { _ in nil }
  ) throws -> [NearMiss] {
    let book = try json.map { try RuleBook(try rules($0), upstreams: Sent.upstreams) }
    return nearMisses(
      method: sent.method, target: sent.target, upstreamName: Sent.upstreams[sent.upstream].name, headers: sent.headers,
      body: Array(sent.body.utf8), in: interactions, names: { $0.upstream }, book: book, expected: expected,
      awaited: awaited, body: inlineBody)
  }

  private func says(_ sent: Sent, _ interaction: Interaction, _ json: String? = nil) throws -> [String] {
    try nearest(sent, [interaction], json).first?.differences.map(\.description) ?? []
  }

  @Test("ignored parts are not reported, and the rule is named")
  func leftOut() throws {
    let recorded = Interaction.recorded(
      "POST", "https://a.test/x?_=1&p=1", upstream: "api", type: Self.json, body: #"{"t":1,"v":1}"#)
    let sent = Sent("POST", "/x?_=2&p=2", type: Self.json, #"{"t":2,"v":2}"#)
    let rule =
      #"{"rules": [{"note": "n", "path": "/x", "ignore": {"query": ["_"], "json": ["$.t"]}}, {"path": "/y", "compare": {"path": false}}]}"#
    let miss = try #require(try nearest(sent, [recorded], rule).first)
    #expect(
      miss.differences.map(\.description) == [
        "query item `p`: recorded `1`, got `2`", "body $.v: recorded 1, got 2",
      ])
    #expect(miss.rules == ["rule 1 (/x): ignores query item _; ignores JSON $.t"])
    #expect(try nearest(sent, [recorded]).first?.rules == [])
  }

  @Test("compared headers are reported by name")
  func headers() throws {
    let recorded = Interaction.recorded("GET", "https://a.test/x", upstream: "api")
    let rule = #"{"rules": [{"compare": {"headers": ["Accept", "X"]}}]}"#
    #expect(
      try says(Sent("GET", "/x", headers: ["Accept": "text/xml", "X": "1"]), recorded, rule) == [
        "header `accept`: recorded `*/*`, got `text/xml`", "header `x`: not recorded, got `1`",
      ])
  }

  @Test("a path or method that does not count does not hide the nearest recording")
  func elsewhere() throws {
    let recorded = Interaction.recorded("PUT", "https://a.test/somewhere/else?p=1", upstream: "api")
    let rule = #"{"rules": [{"compare": {"path": false, "method": false}}]}"#
    #expect(try says(Sent("GET", "/x?p=2"), recorded, rule) == ["query item `p`: recorded `1`, got `2`"])
  }

  @Test("reports a request to which only other rules apply")
  func otherRules() throws {
    let recorded = Interaction.recorded("GET", "https://a.test/a/1", upstream: "api")
    let rule = #"{"rules": [{"compare": {"path": false}}, {"path": "/a/*", "ignore": {"query": ["q"]}}]}"#
    #expect(try says(Sent("GET", "/b/1"), recorded, rule) == ["rules that apply: recorded 1, 2, got 1"])
  }

  @Test("multipart bodies differ by part")
  func multipart() throws {
    func body(_ mark: String, _ name: String, _ content: String) -> String {
      "--\(mark)\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\(name)\"\r\nContent-Type: application/json\r\n\r\n\(content)\r\n--\(mark)--\r\n"
    }
    let recorded = Interaction.recorded(
      "POST", "https://a.test/x", upstream: "api", type: "multipart/form-data; boundary=a",
      body: body("a", "n", "{\"v\":1}"))
    let sent = Sent("POST", "/x", type: "multipart/form-data; boundary=b", body("b", "m", "{\"v\":2}"))
    #expect(
      try says(sent, recorded) == [
        "part 1 `f` file name: recorded n, got m", "part 1 `f` $.v: recorded 1, got 2",
      ])
    let none = Sent("POST", "/x", type: "multipart/form-data; boundary=b", "--b--\r\n")
    #expect(try says(none, recorded) == ["part 1 `f`: recorded `{\"v\":1}`, missing in the request"])
  }

  @Test("multipart bodies in any order differ by the name of a part")
  func anyOrder() throws {
    func part(_ name: String, _ content: String) -> String {
      "--a\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(content)\r\n"
    }
    let type = "multipart/form-data; boundary=a"
    let recorded = Interaction.recorded(
      "POST", "https://a.test/x", upstream: "api", type: type,
      body: part("f", "1") + part("g", "2") + part("g", "3") + "--a--\r\n")
    let rule = #"{"rules": [{"compare": {"partOrder": false}}]}"#
    let sent = Sent("POST", "/x", type: type, part("g", "2") + part("f", "4") + part("g", "5") + "--a--\r\n")
    #expect(
      try says(sent, recorded, rule) == ["part `f`: recorded `1`, got `4`", "part `g` number 2: recorded `3`, got `5`"])
    #expect(try nearest(sent, [recorded], rule).first?.rules == ["rule 1: ignores the order of parts"])
  }

  @Test("XML differs by path")
  func xml() throws {
    func recorded(_ text: String) -> Interaction {
      .recorded("POST", "https://a.test/x", upstream: "api", type: "text/xml", body: text)
    }
    let rule = #"{"rules": [{"compare": {"body": "xml"}}]}"#
    let sent = Sent("POST", "/x", type: "text/xml", "<o><i n='2'>b</i><c/></o>")
    #expect(
      try says(sent, recorded("<o><i n='1'>a</i><c/></o>"), rule) == [
        "body /o/i/@n: recorded 1, got 2", "body /o/i: recorded a, got b",
      ])
    #expect(
      try says(sent, recorded("<o><i n='2'>b</i><d/></o>"), rule) == ["body /o: recorded <d>, got <c>"])
    #expect(
      try says(Sent("POST", "/x", type: "text/xml", "<o>"), recorded("<o>a</o>"), rule) == [
        "body: recorded XML `<o>`, got `<o>`, which is not valid XML"
      ])
  }

  @Test("in strict order, the expected interaction comes first")
  func expected() throws {
    let interactions = [
      Interaction.recorded("GET", "https://a.test/first", upstream: "api"),
      Interaction.recorded("GET", "https://a.test/second", upstream: "api"),
    ]
    let misses = try nearest(Sent("GET", "/second"), interactions, expected: 0) { $0 == 1 ? 0 : nil }
    #expect(misses.map(\.index) == [0, 1])
    // Without the differences from an unrelated request.
    #expect(misses.first?.differences.map(\.description) == ["expected next, in strict order"])
    #expect(
      misses.last?.differences.map(\.description) == [
        "recorded only after interaction 0, GET https://a.test/first, which has not been replayed"
      ])
  }
}
