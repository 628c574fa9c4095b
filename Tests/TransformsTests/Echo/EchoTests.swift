import Basics
import HTTPMessages
import Testing

@testable import Cassettes
@testable import Transforms

@Suite("Echoes of a request's values")
struct EchoTests {
  private static let json = "application/json"
  private static let old = "550e8400-e29b-41d4-a716-446655440000"
  private static let new = "123e4567-e89b-12d3-a456-426614174000"

  private static func value(
    _ kind: EchoPlace.Kind, _ name: String, _ recorded: JSON, _ sent: JSON, path: String? = nil
  ) throws -> EchoedValue {
    EchoedValue(
      place: EchoPlace(kind: kind, pattern: path ?? name, rule: 0, isEchoed: true), name: name,
      path: try path.map { try JSONPath($0) }, recorded: recorded, sent: sent)
  }

  private static func id(_ recorded: JSON, _ sent: JSON) throws -> EchoTable {
    EchoTable([try value(.json, "id", recorded, sent, path: "$.id")])
  }

  private static func state(_ recorded: String, _ sent: String) throws -> EchoTable {
    EchoTable([try value(.query, "state", .string(recorded), .string(sent))])
  }

  /// The body with the values, also if it comes byte by byte.
  private static func body(_ text: String, _ table: EchoTable, type: String? = json) throws -> String {
    var stream = try #require(EchoStream(table, contentType: type))
    let whole = stream.push(Array(text.utf8), isLast: true)
    var pieces = try #require(EchoStream(table, contentType: type))
    var bytes: [UInt8] = []
    for byte in text.utf8 { bytes += pieces.push([byte]) }
    bytes += pieces.push([], isLast: true)
    #expect(bytes == whole)
    return String(decoding: whole, as: UTF8.self)
  }

  @Test("a value that the app once sent as recorded is replaced again when it sends another")
  func again() throws {
    var table = try Self.id(.number("1"), .number("2"))
    table.add(try Self.value(.json, "id", .number("1"), .number("1"), path: "$.id"))
    #expect(try Self.body(#"{"id": 1}"#, table) == #"{"id": 1}"#)
    table.add(try Self.value(.json, "id", .number("1"), .number("3"), path: "$.id"))
    // As many keys as are kept: the first is still the oldest, and each is listed once.
    for number in 0..<4_990 {
      table.add(try Self.value(.json, "id", .string("a\(number)"), .number("9"), path: "$.id"))
    }
    #expect(try Self.body(#"{"id": 1}"#, table) == #"{"id": 3}"#)
  }

  @Test("a short JSON value is replaced where the rule's path selects it, with the request's type")
  func short() throws {
    let answer = #"{"jsonrpc": "2.0", "id": 1, "result": {"id": 1, "count": 1, "1": ["1", 1.0]}}"#
    #expect(
      try Self.body(answer, Self.id(.number("1"), .number("57")))
        == answer.replacing("\"id\": 1, \"re", with: "\"id\": 57, \"re"))
    #expect(
      try Self.body(answer, Self.id(.number("1"), .string("a\"\n")))
        == answer.replacing(
          "\"id\": 1, \"re", with: #""id": "a\"\n", "re"#))
    #expect(try Self.body(#"{"id":"1"}"#, Self.id(.string("1"), .number("5"))) == #"{"id":5}"#)
    // Another value at the place stays.
    #expect(try Self.body(#"{"id":"1"}"#, Self.id(.string("2"), .number("5"))) == #"{"id":"1"}"#)
    let batch = EchoTable([
      try Self.value(.json, "id", .number("1"), .number("8"), path: "$[*].id"),
      try Self.value(.json, "id", .number("2"), .number("9"), path: "$[*].id"),
    ])
    #expect(try Self.body(#"[{"id":2},{"id":1}]"#, batch) == #"[{"id":9},{"id":8}]"#)
  }

  @Test("a long value is replaced anywhere, as a whole value, a whole word, or a value in a URL")
  func long() throws {
    let table = try Self.id(.string(Self.old), .string(Self.new))
    let answer =
      #"{"a": ["\#(Self.old)"], "b": "order \#(Self.old), done.", "c": "\#(Self.old).pdf", "d": "/o/\#(Self.old)/x", "e": "x\#(Self.old)", "\#(Self.old)": "_\#(Self.old)"}"#
    var changed = answer
    for end in ["\"]", ", done", ".pdf", "/x"] { changed = changed.replacing(Self.old + end, with: Self.new + end) }
    #expect(try Self.body(answer, table) == changed)
    let number = try Self.id(.number("4711471147"), .number("99"))
    #expect(try Self.body(#"{"x":4711471147,"y":"4711471147"}"#, number) == #"{"x":99,"y":"99"}"#)
    let text = try Self.id(.number("4711471147"), .string("ab"))
    #expect(try Self.body(#"{"x":4711471147}"#, text) == #"{"x":"ab"}"#)
    // Everything else stays as it is, also what is no JSON.
    for other in [#"{"a": 0.00, "b" : "\u00e9" }"#, "{\"a\": ", "[1", "", "]", "{\"a\": \"x"] {
      #expect(try Self.body(other, table) == other)
    }
  }

  @Test("a query item is replaced in URLs, percent-encoded, and in members of its name")
  func urls() throws {
    let short = try Self.state("ab", "c d&e=\r\n%")
    let encoded = "c%20d%26e%3D%0D%0A%25"
    var found = EchoFindings()
    func headers(_ table: EchoTable, _ value: String) -> String? {
      table.headers(["Location": value], &found)["Location"]
    }
    #expect(
      headers(short, "https://a.test/cb?code=ab&state=ab#state=ab")
        == "https://a.test/cb?code=ab&state=\(encoded)#state=\(encoded)")
    #expect(headers(short, "https://a.test/ab?mystate=ab&state=abc") == "https://a.test/ab?mystate=ab&state=abc")
    #expect(
      try Self.body(#"{"state": "ab", "code": "ab", "u": {"state": "x?state=ab"}}"#, short)
        == #"{"state": "c d&e=\r\n%", "code": "ab", "u": {"state": "x?state=\#(encoded)"}}"#)
    let long = try Self.state("a b/c+d==", "x/y&z")
    for (recorded, changed) in [
      ("https://a.test/cb?s=a%20b%2Fc%2Bd%3D%3D", "https://a.test/cb?s=x%2Fy%26z"),
      ("https://a.test/cb?state=a+b%2fc%2Bd%3d%3d&x", "https://a.test/cb?state=x%2Fy%26z&x"),
    ] { #expect(headers(long, recorded) == changed) }
    let base = try Self.state("YWJjZGVmZw==", "x y")
    #expect(try Self.body("/?state=YWJjZGVmZw== ok", base, type: "text/plain") == "/?state=x%20y ok")
    #expect(try Self.body("token=YWJjZGVmZw== ok", base, type: "text/plain") == "token=x y ok")
    #expect(
      try Self.body("state=YWJjZGVmZw%3D%3D&b=1", base, type: "application/x-www-form-urlencoded") == "state=x%20y&b=1")
  }

  @Test("a hostile value cannot end the text around it")
  func hostile() throws {
    let evil = "\"><script>&\r\nSet-Cookie: a=b"
    let table = try Self.state("0123456789", evil)
    var found = EchoFindings()
    let headers: Headers = [
      "Location": "/cb?state=0123456789", "X-State": "0123456789", "X-Text": "is 0123456789",
      "Content-Length": "0123456789",
    ]
    let changed = table.headers(headers, &found)
    #expect(changed["Location"] == "/cb?state=%22%3E%3Cscript%3E%26%0D%0ASet-Cookie%3A%20a%3Db")
    #expect(changed["X-State"] == "0123456789" && changed["X-Text"] == "is 0123456789")
    #expect(changed["Content-Length"] == "0123456789")
    #expect(!changed.fields.contains { !$0.isSendable })
    #expect(try Self.body("data: 0123456789\n\n", table, type: "text/event-stream") == "data: 0123456789\n\n")
    let written = try Self.body(#"{"a":"0123456789"}"#, table)
    #expect(try JSON.parse(Array(written.utf8))["a"]?.string == evil)
    let markup = try Self.state("0123456789", "\"><b>&'")
    #expect(
      try Self.body("<input value=\"0123456789\">", markup, type: "text/html")
        == "<input value=\"&quot;&gt;&lt;b&gt;&amp;&#39;\">")
    // The number of replacements is limited.
    let many = Array(repeating: "0123456789", count: EchoTable.mostReplacements + 5).joined(separator: " ")
    let limited = try Self.body(many, try Self.state("0123456789", "x"), type: "text/plain")
    #expect(limited.split(separator: " ").count { $0 == "x" } == EchoTable.mostReplacements)
  }

  @Test("events and lines of JSON are read one by one")
  func lines() throws {
    let table = try Self.id(.number("1"), .number("57"))
    let events = "event: message\nid: 1\ndata: {\"id\":1}\n\ndata: {\"id\":1,\"x\n\ndata: {\"id\":1}\n\n"
    #expect(try Self.body(events, table, type: "text/event-stream") == events.replacing("\"id\":1", with: "\"id\":57"))
    let long = try Self.id(.string(Self.old), .string(Self.new))
    let text = "id: \(Self.old)\ndata: see https://a.test/?id=\(Self.old)\n\n"
    #expect(try Self.body(text, long, type: "text/event-stream") == text.replacing(Self.old, with: Self.new))
    var stream = try #require(EchoStream(table, contentType: "application/x-ndjson"))
    #expect(stream.push(Array("{\"id\":1}\n".utf8)) == Array("{\"id\":57}\n".utf8))
  }

  @Test("bodies that are not text, and redaction marks, stay")
  func untouched() throws {
    #expect(
      try Self.body(#"{"id":1}"#, Self.id(.number("1"), .number("2")), type: "application/json-rpc") == #"{"id":2}"#)
    #expect(EchoStream(try Self.state("0123456789", "x"), contentType: "image/png") == nil)
    let mark = try Self.state("<redacted>", "secret")
    #expect(
      try Self.body(#"{"a": "<redacted>", "state": "<redacted>"}"#, mark) == #"{"a": "<redacted>", "state": "secret"}"#)
  }

  @Test("a later value takes the place of an earlier one, and an equal one ends it")
  func later() throws {
    var table = try Self.id(.number("1"), .number("57"))
    table.add(try Self.value(.json, "id", .number("1"), .number("58"), path: "$.id"))
    #expect(try Self.body(#"{"id":1}"#, table) == #"{"id":58}"#)
    table.add(try Self.value(.json, "id", .number("1"), .number("1"), path: "$.id"))
    #expect(try Self.body(#"{"id":1}"#, table) == #"{"id":1}"#)
    #expect(table.isEmpty)
    for number in 0..<40_000 {
      table.add(try Self.value(.json, "id", .number("\(number)"), .number("-\(number)"), path: "$.id"))
    }
    #expect(try Self.body(#"{"id":39999}"#, table) == #"{"id":-39999}"#)
    #expect(try Self.body(#"{"id":1}"#, table) == #"{"id":1}"#)
  }

  @Test("a token with the value in its claims is signed again with its key, and stays without one")
  func token() throws {
    func token(_ nonce: String, _ signature: String) -> String {
      [#"{"alg":"HS256","kid":"k"}"#, #"{"nonce":"\#(nonce)","sub":"1"}"#, signature]
        .map { Base64.encode(Array($0.utf8), .url) }.joined(separator: ".")
    }
    let value = try Self.value(.query, "nonce", .string("n1"), .string("other"))
    let signer = TokenSigner { algorithm, key, message in
      #expect(algorithm == "HS256" && key == "k" && !message.isEmpty)
      return Array("signed".utf8)
    }
    let answer = #"{"id_token": "\#(token("n1", "old"))"}"#
    #expect(
      try Self.body(answer, EchoTable([value], signer: signer)) == #"{"id_token": "\#(token("other", "signed"))"}"#)
    var stream = try #require(EchoStream(EchoTable([value]), contentType: Self.json))
    #expect(stream.push(Array(answer.utf8), isLast: true) == Array(answer.utf8))
    #expect(stream.found.unsigned == [value.place] && stream.found.places.isEmpty)
  }

  @Test("messages of a WebSocket are JSON, packets with JSON, or text")
  func messages() throws {
    let table = EchoTable([
      try Self.value(.json, "id", .number("1"), .number("57"), path: "$.id"),
      try Self.value(.json, "id", .string(Self.old), .string(Self.new), path: "$[1].id"),
    ])
    func said(_ text: String) -> String {
      var found = EchoFindings()
      return String(decoding: table.message(WebSocketMessage(.text, Array(text.utf8)), &found).payload, as: UTF8.self)
    }
    #expect(said(#"{"id":1}"#) == #"{"id":57}"#)
    #expect(said(#"431[1,{"id":"\#(Self.old)"}]"#) == #"431[1,{"id":"\#(Self.new)"}]"#)
    #expect(said("1 \(Self.old)!") == "1 \(Self.new)!")
    var found = EchoFindings()
    let binary = WebSocketMessage(.binary, Array(#"{"id":1}"#.utf8))
    #expect(table.message(binary, &found) == binary)
  }
}
