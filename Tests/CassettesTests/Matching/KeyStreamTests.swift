import EnvironmentConfiguration
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Streamed match keys")
struct KeyStreamTests {
  private static let form = "application/x-www-form-urlencoded"
  private static let multipart = "multipart/form-data; boundary=x"
  private static let part = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n"
  private static let bodies: [(String?, String)] = [
    ("application/octet-stream", "\u{0}\u{1}bytes {"), ("application/json", #" {"b": 1, "a": [2.0]} "#),
    ("application/json", "{broken"), (nil, " \n [1, 2]"), (nil, "  plain"), (nil, "   "), (nil, ""),
    ("text/plain", "words, and more words"), (form, "b=1&a=%20"), (form, "[1]"), (multipart, part), (multipart, "none"),
    ("application/xml", "<a  b='1'><c/></a>"),
  ]

  private static func key(
    _ maker: MatchKeyMaker, _ type: String?, _ body: String, cut size: Int, limit: Int = KeyStream.heldLimit
  ) throws -> (keys: RequestKeys, isHeld: Bool) {
    var stream = try KeyStream(
      maker, method: "POST", upstream: 0, target: "/x?b=1&a=2", headers: headers(type), limit: limit)
    let bytes = Array(body.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { stream.push($0) }
    }
    let isHeld = stream.heldBody != nil
    #expect(stream.count == bytes.count)
    return (try stream.finish(), isHeld)
  }

  private static func headers(_ type: String?) -> Headers {
    var headers: Headers = ["X-Tenant": "t"]
    if let type { headers.append("Content-Type", type) }
    return headers
  }

  private static func maker(_ json: String?) throws -> MatchKeyMaker {
    MatchKeyMaker(try json.map { try RuleBook(try rules($0), upstreams: Sent.upstreams) })
  }

  @Test(
    "gives the same keys as the whole body, for any chunking",
    arguments: [
      nil, #"{"rules": [{"path": "/other", "compare": {"query": false}}]}"#,
      #"{"rules": [{"compare": {"body": "bytes", "headers": ["X-Tenant"]}}]}"#,
      #"{"rules": [{"compare": {"body": "xml"}}]}"#, #"{"rules": [{"compare": {"body": "none"}}]}"#,
      #"{"rules": [{"ignore": {"pattern": ["word"], "json": ["$.b"]}}]}"#,
    ])
  func cut(_ rules: String?) throws {
    let maker = try Self.maker(rules)
    for (type, body) in Self.bodies {
      let whole = try maker.keys(
        method: "POST", upstream: 0, target: "/x?b=1&a=2", headers: Self.headers(type), body: Array(body.utf8))
      for size in [1, 2, 3, 7, 8, 9, 1000] {
        #expect(try Self.key(maker, type, body, cut: size).keys == whole, "\(type ?? "none") \(body) by \(size)")
      }
    }
  }

  @Test("holds the body only if it has to be parsed")
  func held() throws {
    let expected: [(String?, String?, String, Bool)] = [
      (nil, "application/octet-stream", "a", false), (nil, "text/plain", " a", false), (nil, nil, " {", true),
      (nil, "application/json", "a", true), (nil, "application/xml", "<a/>", false), (nil, Self.form, "a", true),
      (#"{"rules": [{"compare": {"body": "xml"}}]}"#, "application/xml", "<a/>", true),
      (#"{"rules": [{"ignore": {"pattern": ["a"]}}]}"#, "text/plain", "a", true),
      (#"{"rules": [{"compare": {"body": "bytes"}}]}"#, "image/png", "a", false),
    ]
    for (rules, type, body, isHeld) in expected {
      #expect(try Self.key(Self.maker(rules), type, body, cut: 1).isHeld == isHeld, "\(type ?? "none") \(body)")
    }
  }

  @Test("compares as bytes above the limit, and by value up to it")
  func limit() throws {
    let maker = try Self.maker(#"{"rules": [{"ignore": {"json": ["$.t"]}}]}"#)
    let (one, same, other) = (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, #"{"a":1,"b":2,"t":3}"#)
    func key(_ body: String, _ limit: Int) throws -> RequestKeys {
      let found = try Self.key(maker, "application/json", body, cut: 4, limit: limit)
      #expect(found.isHeld == (body.utf8.count <= limit))
      return found.keys
    }
    #expect(try key(one, 13) == key(same, 13))
    #expect(try key(one, 12) != key(same, 12))
    #expect(try key(one, 12) == key(one, 12))
    #expect(try key(one, 100).key == key(other, 100).key)
    #expect(try key(one, 10).key != key(other, 10).key)
  }

  @Test("matches a recorded body in a file without holding it in memory")
  func file() throws {
    var interaction = Interaction.recorded("POST", "https://a.test/x", upstream: "api", type: "image/png")
    interaction.request.body = .file(name: "c.bodies/1.png", length: 6)
    let read = { (number: Int, key: inout KeyStream) in
      for piece in ["abc", "def"] { Array(piece.utf8).withUnsafeBytes { key.push($0) } }
      #expect(number == 0 && key.heldBody == nil)
    }
    let index = try CassetteIndex([interaction], upstreams: Sent.upstreams, maker: MatchKeyMaker(), body: read)
    var playback = Playback(index: index, uniquely: false)
    let key = Asked(method: "POST", target: "/x", type: "image/png", body: "abcdef").key
    #expect(playback.next(for: key) == 0)
  }
}
