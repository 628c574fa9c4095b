import Basics
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("Near misses")
struct NearMissTests {
  private static let json = "application/json"
  private static let form = "application/x-www-form-urlencoded"

  private func misses(
    _ asked: Asked, upstream: String? = "api", in interactions: [Interaction], limit: Int = 3
  ) -> [NearMiss] {
    nearMisses(
      method: asked.method, target: asked.target, upstreamName: upstream,
      headers: asked.type.map { ["Content-Type": $0] } ?? [:],
      body: Array(asked.body.utf8), in: interactions, names: { $0.upstream }, limit: limit, body: inlineBody)
  }

  /// The description of the near miss for one interaction.
  private func says(_ asked: Asked, _ interaction: Interaction) -> [String] {
    misses(asked, in: [interaction]).first?.differences.map(\.description) ?? []
  }

  @Test(
    "reports only the changed query item",
    arguments: [
      ("/x?page=1&q=a", "/x?q=a&page=2", "query item `page`: recorded `1`, got `2`"),
      ("/x?page=1&q=a", "/x?q=a", "query item `page`: recorded `1`, missing in the request"),
      ("/x?q=a", "/x?q=a&page=2", "query item `page`: not recorded, got `2`"),
      ("/x?q=a", "/x?q", "query item `q`: recorded `a`, got `(no value)`"),
      ("/x?q=a&q=b", "/x?q=a&q=c", "query item `q` number 2: recorded `b`, got `c`"),
      ("/x?q=a%20b", "/x?q=a%0Ab", #"query item `q`: recorded `a b`, got `a\nb`"#),
      ("/x", "/x?", "the request is recorded, but every recording of it has been played"),
    ])
  func query(_ recorded: String, _ actual: String, _ expected: String) {
    #expect(says(Asked(target: actual), .recorded("GET", "https://a.test\(recorded)", upstream: "api")) == [expected])
  }

  @Test(
    "reports only the change in a body",
    arguments: [
      (
        "text/plain", "recorded text: a", "recorded text: b",
        "body: recorded `recorded text: a`, got `recorded text: b`"
      ),
      ("image/png", "\u{1}\0\u{2}", "\u{1}\u{3}\u{2}", "body byte 1: recorded 0x00, got 0x03"),
      ("text/plain", "abc", "ab", "body: recorded `abc`, got `ab`"),
      ("text/plain", "grün\n", "grau\n", #"body: recorded `grün\n`, got `grau\n`"#),
      ("image/png", "\u{1}a", "\u{1}", "body length: recorded 2 bytes, got 1 byte"),
      (
        "text/plain", String(repeating: "ü", count: 100) + "a", String(repeating: "ü", count: 100) + "b",
        "body byte 200: recorded `…\(String(repeating: "ü", count: 10))a`, got `…\(String(repeating: "ü", count: 10))b`"
      ),
      ("text/plain", "abc", "", "body: recorded `abc`, missing in the request"),
      ("text/plain", "", "abc", "body: not recorded, got `abc`"),
      (
        json, #"{"user":{"name":"Ann","age":1}}"#, #"{"user":{"age":1.0,"name":"Bob"}}"#,
        #"body $.user.name: recorded "Ann", got "Bob""#
      ),
      (json, #"{"a":[1,2,3]}"#, #"{"a":[1,2,4]}"#, "body $.a[2]: recorded 3, got 4"),
      (json, #"{"a":[1,2,3]}"#, #"{"a":[0,1,2,3]}"#, "body $.a[0]: not recorded, got 0"),
      (json, #"{"a":[1,2,3]}"#, #"{"a":[1,3]}"#, "body $.a[1]: recorded 2, missing in the request"),
      (json, #"{"a":1,"b":2}"#, #"{"a":1}"#, "body $.b: recorded 2, missing in the request"),
      (json, #"{"a":1}"#, #"{"a":1,"b c":{"d":[]}}"#, #"body $["b c"]: not recorded, got {"d":[]}"#),
      (json, #"{"a":{"b":1}}"#, #"{"a":[1]}"#, #"body $.a: recorded {"b":1}, got [1]"#),
      (json, "1", "2", "body $: recorded 1, got 2"),
      (json, #"{"a":1,"a":2}"#, #"{"a":1,"a":3}"#, "body $.a: recorded 2, got 3"),
      (json, #"{"a":1}"#, "{broken", #"body: recorded JSON `{"a":1}`, got `{broken`, which is not valid JSON"#),
      (form, "a=1&b=2", "b=3&a=1", "form item `b`: recorded `2`, got `3`"),
    ])
  func body(_ type: String, _ recorded: String, _ actual: String, _ expected: String) {
    let interaction = Interaction.recorded("POST", "https://a.test/x", upstream: "api", type: type, body: recorded)
    #expect(says(Asked(method: "POST", target: "/x", type: type, body: actual), interaction) == [expected])
  }

  @Test("reports both the length and the first difference of a body")
  func bytesAndLength() {
    let interaction = Interaction.recorded(
      "POST", "https://a.test/x", upstream: "api", type: "image/png", body: "a\0cd")
    #expect(
      says(Asked(method: "POST", target: "/x", type: "image/png", body: "a\u{2}c"), interaction) == [
        "body byte 1: recorded 0x00, got 0x02", "body length: recorded 4 bytes, got 3 bytes",
      ])
  }

  @Test(
    "reports method, upstream and path",
    arguments: [
      ("POST", "api", "/users/1/x", ["method: recorded GET, got POST"]),
      ("GET", "auth", "/users/1/x", ["upstream: recorded `api`, got `auth`"]),
      ("GET", "api", "/users/2/x", ["path segment 2: recorded `1`, got `2`"]),
      ("GET", "api", "/users/1", ["path: recorded `/users/1/x`, got `/users/1`"]),
      ("PUT", "api", "/users/2/x", ["method: recorded GET, got PUT", "path segment 2: recorded `1`, got `2`"]),
    ])
  func line(_ method: String, _ upstream: String, _ target: String, _ expected: [String]) {
    let interaction = Interaction.recorded("GET", "https://a.test/users/1/x", upstream: "api")
    let found = misses(Asked(method: method, target: target), upstream: upstream, in: [interaction])
    #expect(found.first?.differences.map(\.description) == expected)
  }

  @Test("does not report unrelated recordings", arguments: ["/a", "/", "/orders/7"])
  func nothing(_ target: String) {
    #expect(misses(Asked(target: target), in: [.recorded("GET", "https://a.test/users", upstream: "api")]).isEmpty)
  }

  @Test("reports that all recordings of a request have been played")
  func exhausted() {
    let interactions: [Interaction] = [
      .recorded("POST", "https://a.test/%7Ex?b=1&a=2", upstream: "api", type: Self.json, body: #"{"a":1,"b":2}"#),
      .recorded("POST", "https://a.test/~x?b=1&a=2", upstream: "api", type: Self.json, body: #"{"a":1,"b":3}"#),
    ]
    let asked = Asked(method: "POST", target: "/~x?a=2&b=1", type: Self.json, body: #"{"b":2,"a":1.0}"#)
    let found = misses(asked, in: interactions)
    #expect(found.map(\.index) == [0, 1])
    #expect(found.first?.differences.map(\.kind) == [.exhausted])
    #expect(found.last?.differences.map(\.description) == ["body $.b: recorded 3, got 2"])
  }

  @Test("orders by same path and fewest differences, then other methods, then similar paths")
  func order() {
    let interactions: [Interaction] = [
      .recorded("GET", "https://a.test/users/12?x=1", upstream: "api"),
      .recorded("POST", "https://a.test/users/11?x=1", upstream: "api"),
      .recorded("GET", "https://a.test/users/11?x=2&y=2", upstream: "api"),
      .recorded("GET", "https://a.test/users/11?x=2", upstream: "api"),
      .recorded("GET", "https://a.test/about", upstream: "api"),
      .recorded("GET", "https://b.test/users/11?x=1", upstream: "b"),
    ]
    #expect(misses(Asked(target: "/users/11?x=1"), in: interactions, limit: 9).map(\.index) == [3, 2, 5, 1, 0])
    #expect(misses(Asked(target: "/users/11?x=1"), in: interactions).map(\.index) == [3, 2, 5])
    #expect(misses(Asked(target: "/users/11?x=1"), in: interactions, limit: 1).map(\.index) == [3])
  }

  @Test("reports repeats that differ in the same way once")
  func repeats() {
    let interactions = (0..<5).map { _ in Interaction.recorded("GET", "https://a.test/token", upstream: "api") }
    #expect(misses(Asked(target: "/tokens"), in: interactions).map(\.index) == [0])
  }

  @Test("reports a recorded body that cannot be read")
  func unreadable() {
    var interaction = Interaction.recorded("GET", "https://a.test/x", upstream: "api")
    interaction.request.body = .file(name: "gone", length: 3)
    #expect(
      says(Asked(target: "/x"), interaction) == ["body: recorded a body that cannot be read (no such file), got a body"]
    )
  }

  @Test("shortens long values to one line")
  func long() throws {
    let interaction = Interaction.recorded(
      "GET", "https://a.test/x?q=\(String(repeating: "a", count: 5000))", upstream: "api")
    let found = misses(Asked(target: "/x?q=" + String(repeating: "b%0A", count: 5000)), in: [interaction])
    let difference = try #require(found.first?.differences.first)
    #expect(difference.recorded?.count == 1000)
    #expect(difference.description.count < 300)
    #expect(!difference.description.contains("\n"))
    #expect(difference.description.contains(String(repeating: "a", count: 79) + "…"))
  }

  @Test("compares JSON of the maximum depth")
  func deep() {
    func nested(_ inner: String) -> String {
      String(repeating: #"{"a":["#, count: 250) + inner + String(repeating: "]}", count: 250)
    }
    let interaction = Interaction.recorded(
      "POST", "https://a.test/x", upstream: "api", type: Self.json, body: nested("1"))
    let path = String(repeating: ".a[0]", count: 250)
    #expect(
      says(Asked(method: "POST", target: "/x", type: Self.json, body: nested("2")), interaction)
        == ["body $\(path): recorded 1, got 2"])
    let one = Asked(type: Self.json, body: nested("1"))
    #expect(one.key == Asked(type: Self.json, body: nested("1.0")).key)
    #expect(one.key != Asked(type: Self.json, body: nested("2")).key)
  }

  @Test("finds the nearest recording among many with reordered members")
  func membersInAnyOrder() {
    var generator = SeededGenerator(8)
    var bodies: [[JSON.Member]] = []
    for _ in 0..<500 {
      bodies.append((0..<12).map { JSON.Member("key\($0)", .string("value \(generator.upTo(9999))")) })
    }
    let interactions = bodies.map { members in
      Interaction.recorded(
        "POST", "https://a.test/graphql", upstream: "api", type: Self.json,
        body: String(decoding: JSON.object(members.shuffled(using: &generator)).encoded(), as: UTF8.self))
    }
    for _ in 0..<50 {
      let index = generator.upTo(499)
      var members = bodies[index].shuffled(using: &generator)
      members[3].value = .number("5")
      let body = String(decoding: JSON.object(members).encoded(), as: UTF8.self)
      let found = misses(Asked(method: "POST", target: "/graphql", type: Self.json, body: body), in: interactions)
      #expect(found.first?.index == index)
      #expect(found.first?.differences.map(\.location) == ["body $.\(members[3].key)"])
    }
  }

  @Test("reports a random change as the only difference")
  func random() {
    var generator = SeededGenerator(3)
    for _ in 0..<300 {
      let count = 1 + generator.upTo(200)
      // Not text, which would have a different location.
      let bytes = [0] + (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      var interaction = Interaction.recorded("PUT", "https://a.test/blob", upstream: "api", type: "image/png")
      interaction.request.body = .bytes(bytes)
      var changed = bytes
      let place = 1 + generator.upTo(count - 1)
      changed[place] ^= 1 << UInt8(generator.upTo(7))
      let found = nearMisses(
        method: "PUT", target: "/blob", upstreamName: "api", headers: ["Content-Type": "image/png"], body: changed,
        in: [interaction],
        names: { $0.upstream }, body: inlineBody)
      #expect(found.first?.differences.map(\.location) == ["body byte \(place)"])
    }
  }

  @Test("near misses agree with match keys for any value")
  func agreesWithKey() {
    var generator = SeededGenerator(12)
    for _ in 0..<1_000 {
      let bodies = (0..<2).map { _ in String(decoding: JSON.array([generator.json(depth: 2)]).encoded(), as: UTF8.self)
      }
      let interaction = Interaction.recorded(
        "POST", "https://a.test/x", upstream: "api", type: Self.json, body: bodies[0])
      let asked = Asked(method: "POST", target: "/x", type: Self.json, body: bodies[1])
      let isSame = Asked(method: "POST", target: "/x", type: Self.json, body: bodies[0]).key == asked.key
      let found = misses(asked, in: [interaction])
      #expect((found.first?.differences.first?.kind == .exhausted) == isSame)
    }
  }
}

@Suite("Near misses of large bodies")
struct LargeNearMissTests {
  private func says(_ large: LargeBody, to target: String = "/x") -> [String] {
    var recorded = Interaction.recorded("POST", "https://a.test/x", upstream: "api", type: "image/png")
    recorded.request.body = .file(name: "c.bodies/1.png", length: 100)
    return nearMisses(
      method: "POST", target: target, upstreamName: "api", headers: ["Content-Type": "image/png"], body: [1, 2],
      in: [recorded], names: { $0.upstream }, large: large, body: inlineBody
    ).first?.differences.map(\.description) ?? []
  }

  @Test("reports different lengths or contents, and other differences")
  func differences() {
    #expect(says(LargeBody(length: 101) { _ in false }) == ["body length: recorded 100 bytes, got 101 bytes"])
    #expect(
      says(LargeBody(length: 100) { _ in false })
        == ["body: recorded 100 bytes, got different content of the same length"])
    #expect(says(LargeBody(length: 100) { $0 == 0 }, to: "/x?a=1") == ["query item `a`: not recorded, got `1`"])
    #expect(
      says(LargeBody(length: 100) { _ in true }) == [
        "the request is recorded, but every recording of it has been played"
      ])
    #expect(
      says(LargeBody(length: 100) { _ in throw NoSuchBody() }) == [
        "body: recorded a body that cannot be read (no such file), got a body"
      ])
  }
}
