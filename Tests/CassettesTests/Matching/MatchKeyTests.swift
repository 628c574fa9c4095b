import LaunchContract
import Testing

@testable import Cassettes

@Suite("What counts as the same request")
struct MatchKeyTests {
  private static let json = "application/json"
  private static let form = "application/x-www-form-urlencoded"

  @Test(
    "targets that are the same",
    arguments: [
      ("/%7Euser/%41%2d%2E%5f", "/~user/A-._"), ("/a%2fb%c3%a9", "/a%2Fb%C3%A9"), ("/x?", "/x"), ("", "/"),
      ("?a=1", "/?a=1"),
      ("/?b=2&a=1", "/?a=1&b=2"), ("/?a=1&b=x&a=2", "/?b=x&a=1&a=2"), ("/?a=%20b", "/?a=+b"), ("/?%61=%62", "/?a=b"),
      ("/?a=%c3%a9", "/?a=%C3%A9"), ("/?a=1&&b=2&", "/?a=1&b=2"), ("/?q=a:b/c?d", "/?q=a%3Ab%2Fc%3Fd"),
    ])
  func sameTargets(_ one: String, _ other: String) {
    #expect(Asked(target: one).key == Asked(target: other).key)
  }

  @Test(
    "targets that are not the same",
    arguments: [
      ("/a", "/b"), ("/a", "/A"), ("/a", "/a/"), ("/a//b", "/a/b"), ("/a/./b", "/a/b"), ("/a/../b", "/b"),
      ("/a%2Fb", "/a/b"),
      ("/%25", "/%"), ("/%7", "/~"), ("/%zz", "/%ZZ"), ("/a+b", "/a%20b"), ("/?a", "/?a="), ("/?a=1", "/?a=2"),
      ("/?a=1", "/?A=1"),
      ("/?a=1&a=2", "/?a=2&a=1"), ("/?a=1", "/?a=1&a=1"), ("/?a=1", "/?a=1&b"), ("/?a=1&b=2", "/?a=1%26b=2"),
      ("/?a=b=c", "/?a%3Db=c"), ("/?ab=c", "/?a=bc"), ("/?a=+", "/?a=%2B"), ("/?a=%zz", "/?a=%ZZ"), ("/a?b", "/a%3Fb"),
      ("/?a=1", "/a=1"), ("/", "/?a"), ("/?=", "/"), ("/?a=%C3%A9", "/?a=e%CC%81"),
    ])
  func otherTargets(_ one: String, _ other: String) {
    #expect(Asked(target: one).key != Asked(target: other).key)
  }

  @Test("method and upstream count")
  func methodAndUpstream() {
    #expect(Asked(method: "GET").key != Asked(method: "get").key)
    #expect(Asked(method: "GET").key != Asked(method: "POST").key)
    #expect(Asked(upstream: 0).key != Asked(upstream: 1).key)
    #expect(Asked(method: "GE", target: "T/").key != Asked(method: "GET", target: "/").key)
    #expect(Asked().key == Asked().key)
  }

  @Test(
    "bodies that are the same",
    arguments: [
      (json, #"{"a":1,"b":[true,null]}"#, json, "{ \"b\" : [ true , null ],\n\t\"a\" : 1.0 }"),
      (json, #"{"a":1,"b":{"c":1,"d":2}}"#, json, #"{"b":{"d":2,"c":1},"a":1}"#),
      (json, #"{"a":1,"b":0,"a":2}"#, json, #"{"a":1,"a":2,"b":0}"#), (json, #""\u00e9\/\n""#, json, "\"é/\\u000a\""),
      (json, #"{"\u0061":1}"#, json, #"{"a":1}"#), (json, "[0.00]", json, "[-0]"),
      (json, "[0.00]", json, "[0e999999999999999999999]"),
      (json, "[10e-1]", json, "[1]"), (json, "[1E+2]", json, "[100.000]"), (json, "[-1.50e3]", json, "[-1500]"),
      (json, "[1e999999999]", json, "[10e999999998]"), (json, "[1e0000000000000000000000002]", json, "[100]"),
      (json, "[1e99999999999999999999]", json, "[1.0E+099999999999999999999]".replacing("1.0", with: "1")),
      ("application/json; charset=utf-8", "[1]", "application/problem+json", "[1.0]"),
      ("text/json", "[1]", "Application/JSON ", "[ 1]"),
      (nil, #"{"a":1}"#, form, #" {"a":1.0}"#), (nil, "[1]", json, "[1.0]"), (form, "a=1&b=2", form, "b=2&a=1"),
      (form, "a=+&b=%7e", form, "b=~&a=%20"), (form, "{a=1&b", form, "b&{a=1"), ("text/plain", "x", nil, "x"),
      (json, #"{"a":1}"#, "text/plain; charset=utf-8", #"{"a": 1.0}"#),
      (json, "{broken", "text/plain", "{broken"), (json, "", form, ""), (json, "", nil, ""),
    ] as [(String?, String, String?, String)])
  func sameBodies(_ oneType: String?, _ one: String, _ otherType: String?, _ other: String) {
    #expect(Asked(type: oneType, body: one).key == Asked(type: otherType, body: other).key)
  }

  @Test(
    "bodies that are not the same",
    arguments: [
      (json, #"{"a":1}"#, json, #"{"a":2}"#), (json, #"{"a":1}"#, json, #"{"A":1}"#),
      (json, #"{"a":1}"#, json, #"{"a":1,"b":null}"#),
      (json, #"{"a":1,"a":2}"#, json, #"{"a":2,"a":1}"#), (json, "[1,2]", json, "[2,1]"),
      (json, "[1]", json, #"["1"]"#),
      (json, "[[1],2]", json, "[[1,2]]"), (json, "[]", json, "{}"), (json, "[null]", json, "[false]"),
      (json, "[0]", json, "[false]"),
      (json, "[0.1]", json, "[0.10000000000000001]"), (json, "[12345678901234567890]", json, "[12345678901234567891]"),
      (json, "[1]", json, "[-1]"), (json, "[1]", json, "[10]"), (json, "[1e999999999]", json, "[1e999999998]"),
      (json, "[1e99999999999999999999]", json, "[1e-99999999999999999999]"), (json, #"["é"]"#, json, "[\"e\u{301}\"]"),
      (json, "[\"\"]", json, "[]"), (json, "{broken", json, "{ broken"), (json, #"{"a":{}}"#, json, #"{"a":[]}"#),
      (json, #"{"ab":"c"}"#, json, #"{"a":"bc"}"#), ("text/csv", #"{"a":1}"#, "text/csv", #"{"a": 1}"#),
      ("text/plain", "a=1&b=2", "text/plain", "b=2&a=1"), (form, "a=1", form, "a=2"), (form, "a", form, "a="),
      (nil, "a", nil, "b"),
      (nil, "a", nil, "a\0"), (nil, "a", nil, ""), (form, "a=1&a=2", form, "a=2&a=1"),
    ] as [(String?, String, String?, String)])
  func otherBodies(_ oneType: String?, _ one: String, _ otherType: String?, _ other: String) {
    #expect(Asked(type: oneType, body: one).key != Asked(type: otherType, body: other).key)
  }

  @Test("JSON that is too deep is compared as bytes")
  func deep() {
    let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
    #expect(Asked(type: Self.json, body: deep).key == Asked(type: Self.json, body: deep).key)
    #expect(Asked(type: Self.json, body: deep).key != Asked(type: Self.json, body: deep + " ").key)
  }

  @Test("twenty thousand different requests have as many keys")
  func noCollision() {
    var generator = SeededGenerator(1)
    var descriptions: Set<String> = []
    var keys: Set<MatchKey> = []
    var lows: Set<UInt64> = []
    while descriptions.count < 20_000 {
      let number = generator.upTo(1_000_000)
      var asked = Asked(method: generator.pick(["GET", "POST", "PUT"]), upstream: generator.upTo(3))
      switch generator.upTo(3) {
      case 0: asked.target = "/items/\(number)"
      case 1: asked.target = "/items?id=\(number)&page=\(generator.upTo(9))"
      case 2:
        asked.type = Self.json
        asked.body = #"{"id":\#(number),"name":"\#(generator.upTo(99))"}"#
      default:
        asked.type = Self.form
        asked.body = "id=\(number)"
      }
      guard descriptions.insert("\(asked)").inserted else { continue }
      let key = asked.key
      keys.insert(key)
      lows.insert(key.low)
    }
    #expect(keys.count == 20_000)
    #expect(lows.count == 20_000)
  }

  @Test("a JSON value in another spelling has the same key, a changed one has another")
  func randomJSON() {
    var generator = SeededGenerator(2)
    for _ in 0..<2_000 {
      let value = JSON.array([generator.json(depth: 4)])
      let text = String(decoding: value.encoded(), as: UTF8.self)
      let respelled = Self.shuffled(value, &generator)
      let other = String(decoding: respelled.encoded(.compact), as: UTF8.self)
      #expect(Asked(type: Self.json, body: text).key == Asked(type: Self.json, body: other).key)
      #expect(CanonicalJSON.areSame(value, respelled))
      let changed = JSON.array([value, .null])
      let changedText = String(decoding: changed.encoded(), as: UTF8.self)
      #expect(Asked(type: Self.json, body: text).key != Asked(type: Self.json, body: changedText).key)
      #expect(!CanonicalJSON.areSame(value, changed))
    }
  }

  /// The same value with members in another order and numbers in another spelling.
  private static func shuffled(_ value: JSON, _ generator: inout SeededGenerator) -> JSON {
    switch value {
    case .array(let elements): return .array(elements.map { shuffled($0, &generator) })
    case .object(let members):
      let names = members.map { Array($0.key.utf8) }
      var result = members.map { JSON.Member($0.key, shuffled($0.value, &generator)) }
      // Members of one name have an order.
      if Set(names).count == names.count { result.shuffle(using: &generator) }
      return .object(result)
    case .number(let text) where !text.contains("e"): return .number(text + (text.contains(".") ? "00" : ".0") + "E+00")
    default: return value
    }
  }
}
