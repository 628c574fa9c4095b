import Basics
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("Match keys")
struct MatchKeyTests {
  private static let json = "application/json"
  private static let form = "application/x-www-form-urlencoded"

  @Test(
    "equal targets have the same key",
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
    "different targets have different keys",
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
    "equal bodies have the same key",
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
    "different bodies have different keys",
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

  @Test("JSON that is nested too deeply is compared as bytes")
  func deep() {
    let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
    #expect(Asked(type: Self.json, body: deep).key == Asked(type: Self.json, body: deep).key)
    #expect(Asked(type: Self.json, body: deep).key != Asked(type: Self.json, body: deep + " ").key)
  }

  @Test("twenty thousand different requests have different keys")
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

  @Test("a JSON value in another notation has the same key, and a changed one does not")
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

  /// The same value with members in another order and numbers in another notation.
  private static func shuffled(_ value: JSON, _ generator: inout SeededGenerator) -> JSON {
    switch value {
    case .array(let elements): return .array(elements.map { shuffled($0, &generator) })
    case .object(let members):
      let names = members.map { Array($0.key.utf8) }
      var result = members.map { JSON.Member($0.key, shuffled($0.value, &generator)) }
      // The order of members with the same name counts.
      if Set(names).count == names.count { result.shuffle(using: &generator) }
      return .object(result)
    case .number(let text) where !text.contains("e"): return .number(text + (text.contains(".") ? "00" : ".0") + "E+00")
    default: return value
    }
  }
}

@Suite("Exact decimal values")
struct ExactDecimalTests {
  @Test(
    "normalizes each value to one notation",
    arguments: [
      ("0", "0"), ("-0.00", "0"), ("0e5", "0"), ("1", "1e0"), ("1.0", "1e0"), ("10e-1", "1e0"), ("100", "1e2"),
      ("0.010", "1e-2"),
      ("-12.50", "-125e-1"), ("1e-7", "1e-7"), ("1E+400", "1e400"), ("1.5e00000000000000000003", "15e2"),
      ("1e123456789012345678", "1e+123456789012345678e0"), ("2e-123456789012345678", "2e-123456789012345678e0"),
    ])
  func spelling(_ text: String, _ expected: String) {
    #expect(String(decoding: ExactDecimal(text).bytes, as: UTF8.self) == expected)
  }

  @Test("is the same after shifting both the point and the exponent")
  func random() {
    var generator = SeededGenerator(4)
    for _ in 0..<2_000 {
      let digits = String(generator.next())
      let point = 1 + generator.upTo(digits.count - 2)
      let exponent = generator.upTo(600) - 300
      let moved = "\(digits.prefix(point)).\(digits.dropFirst(point))e\(exponent + digits.count - point)"
      #expect(ExactDecimal("\(digits)e\(exponent)") == ExactDecimal(moved))
      #expect(ExactDecimal("\(digits)e\(exponent)") != ExactDecimal("\(digits)e\(exponent + 1)"))
    }
  }
}

@Suite("SipHash")
struct SipHashTests {
  // From the paper's reference implementation: key 00 01 … 0f, input 00 01 …, 128 bits of output.
  @Test(
    "produces the published test vectors",
    arguments: [(0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45")])
  func published(_ count: Int, _ expected: String) {
    var hash = SipHash(key0: 0x0706_0504_0302_0100, key1: 0x0F0E_0D0C_0B0A_0908)
    for byte in 0..<count { hash.append(UInt8(byte)) }
    let (first, second) = hash.finish()
    let bytes = [first, second].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(hex == expected)
  }

  @Test("does not depend on how the input is split")
  func cuts() {
    var generator = SeededGenerator(9)
    for _ in 0..<500 {
      let bytes = (0..<generator.upTo(60)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      var whole = SipHash()
      bytes.withUnsafeBytes { whole.append($0) }
      var pieces = SipHash()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(1 + generator.upTo(20))
        rest = rest.dropFirst(piece.count)
        if piece.count == 1 {
          pieces.append(piece[piece.startIndex])
        } else {
          piece.withUnsafeBytes { pieces.append($0) }
        }
      }
      #expect(whole.finish() == pieces.finish())
    }
  }
}
