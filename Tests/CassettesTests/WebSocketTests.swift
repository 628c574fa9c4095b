import HTTPMessages
import Testing

@testable import Cassettes

@Suite("WebSockets in HARs")
struct WebSocketCodingTests {
  private static let frames = [
    WebSocketFrame(isFromApp: true, time: 1_538_989_200.125, message: WebSocketMessage(.text, Array("naïve".utf8))),
    WebSocketFrame(isFromApp: false, time: 1_538_989_201.5, message: WebSocketMessage(.binary, [0, 255, 10])),
    WebSocketFrame(isFromApp: false, time: 1_538_989_202, message: .close(1001, "bye")),
  ]

  private static func interaction(_ frames: [WebSocketFrame]) -> Interaction {
    Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.000Z", milliseconds: 4,
      request: RecordedRequest(
        method: RecordedRequest.webSocketMethod, url: "https://a.test/chat?x=1", headers: ["Origin": "https://a.test"],
        body: .empty),
      response: RecordedResponse(
        status: 101, reason: "Switching Protocols", headers: ["Sec-WebSocket-Protocol": "chat"], body: .empty),
      webSocket: frames)
  }

  @Test("are written in Chrome's format", arguments: [frames, []])
  func roundTrip(frames: [WebSocketFrame]) throws {
    let bytes = HAR.write(Cassette(header: CassetteHeader(), interactions: [Self.interaction(frames)]))
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("\"url\": \"wss://a.test/chat?x=1\""))
    #expect(text.contains("\"method\": \"GET\""))
    #expect(text.contains("\"_resourceType\": \"websocket\""))
    if !frames.isEmpty { #expect(text.contains("\"time\": 1538989200.125")) }
    let cassette = try bytes.withUnsafeBytes { try HAR.read($0, name: "c.har") }
    #expect(cassette.skipped == [])
    let read = try #require(cassette.interactions.first)
    #expect(read.webSocket == frames)
    #expect(read.request.method == "WEBSOCKET")
    #expect(read.request.url == "https://a.test/chat?x=1")
    #expect(read.response.status == 101)
    #expect(read.response.headers["Sec-WebSocket-Protocol"] == "chat")
  }
}

@Suite("WebSocket playback")
struct WebSocketPlaybackTests {
  private static func text(_ text: String) -> WebSocketMessage { WebSocketMessage(.text, Array(text.utf8)) }

  /// `>` is from the app, `<` from the server; a second apart.
  private static func playback(_ lines: [String]) -> WebSocketPlayback {
    var frames: [WebSocketFrame] = []
    for line in lines {
      let message = line.hasSuffix("close") ? .close(1000) : text(String(line.dropFirst()))
      frames.append(
        WebSocketFrame(isFromApp: line.hasPrefix(">"), time: 101 + Double(frames.count), message: message))
    }
    return WebSocketPlayback(frames, start: 100)
  }

  private static func due(_ seconds: Int, _ message: String) -> WebSocketPlayback.Due {
    WebSocketPlayback.Due(milliseconds: seconds * 1000, message: text(message))
  }

  @Test("sends the server's messages after the app's k-th message, with the recorded delays")
  func order() {
    var playback = Self.playback(["<hello", ">a", "<1", "<2", ">b", ">c", "<3"])
    #expect(playback.begin() == [Self.due(1, "hello")])
    #expect(playback.take(Self.text("a")) == .plays([Self.due(1, "1"), Self.due(2, "2")]))
    #expect(!playback.isOver)
    #expect(playback.take(Self.text("b")) == .plays([]))
    #expect(playback.take(Self.text("c")) == .plays([Self.due(1, "3")]))
    #expect(playback.isOver)
  }

  @Test("describes where a message differs from the recorded one")
  func miss() {
    var playback = Self.playback([">a", "<1"])
    #expect(playback.begin() == [])
    #expect(playback.take(Self.text("b")) == .miss("message 1: recorded `a`, got `b`"))
    var other = Self.playback([">a"])
    #expect(
      other.take(WebSocketMessage(.binary, [1, 2]))
        == .miss(
          "message 1: recorded a text, got 2 bytes of binary data"))
    let same = String(repeating: "same ", count: 40)
    var long = Self.playback([">\(same)one\(same)"])
    #expect(
      long.take(Self.text("\(same)two\(same)"))
        == .miss(
          "message 1 byte 200: recorded `…ame same same same one\(same.prefix(54))…`, "
            + "got `…ame same same same two\(same.prefix(54))…`"))
    var json = Self.playback([#">{"text": "\#(same)", "a": {"b": [1, 2]}, "c": 3, "d": 4, "e": 5}"#])
    #expect(
      json.take(Self.text(#"{"text": "\#(same)", "a": {"b": [1, 3]}, "c": 4, "d": 5, "e": 6}"#))
        == .miss(
          "message 1 $.a.b[1]: recorded 2, got 3; message 1 $.c: recorded 3, got 4; message 1 $.d: recorded 4, got 5 "
            + "and 1 more"))
    var binary = WebSocketPlayback(
      [WebSocketFrame(isFromApp: true, time: 1, message: WebSocketMessage(.binary, [1, 2, 0, 4]))], start: 0)
    #expect(
      binary.take(WebSocketMessage(.binary, [1, 2, 0, 5])) == .miss("message 1 byte 3: recorded 0x04, got 0x05"))
  }

  private static func rules(_ json: String) throws -> MessageRules {
    MessageRules(
      try RuleBook(try CassettesTests.rules(#"{"rules": [\#(json)]}"#), upstreams: Sent.upstreams), upstream: "api",
      target: "/chat?x=1")
  }

  @Test(
    "compares messages by the rules that apply to the handshake",
    arguments: [
      (#"{"ignore": {"json": ["$.id"]}}"#, #"{"id": 1, "method": "m"}"#, #"{"id": "x", "method": "m"}"#, true),
      (#"{"path": "/other", "ignore": {"json": ["$.id"]}}"#, #"{"id": 1}"#, #"{"id": 2}"#, false),
      (#"{"upstream": "api", "path": "/chat", "ignore": {"json": ["$.id"]}}"#, #"{"id": 1}"#, "{}", true),
      (#"{"ignore": {"json": ["$.id"]}}"#, #"{"id": 1, "method": "m"}"#, #"{"id": 1, "method": "n"}"#, false),
      (#"{"ignore": {"pattern": ["[0-9a-f]{8}"]}}"#, "hello 00c0ffee", "hello deadbeef", true),
      (#"{"ignore": {"pattern": ["^\\d+$"]}}"#, #"{"id": 17}"#, #"{"id": 18}"#, true),
      (#"{"compare": {"body": "bytes"}}"#, #"{"a":1}"#, #"{"a": 1}"#, false),
      (#"{"compare": {"body": "json"}}"#, #""a\u0062""#, #""ab""#, true),
      (#"{"compare": {"body": "none"}}"#, "this", "that", true),
      (#"{"ignore": {"json": ["$[1].id"]}}"#, #"420["said",{"id":1,"v":1}]"#, #"420["said",{"v":1.0,"id":2}]"#, true),
      (#"{"ignore": {"json": ["$[1].id"]}}"#, #"420["said",{"id":1}]"#, #"421["said",{"id":2}]"#, false),
      (#"{"ignore": {"json": ["$[1].id"]}}"#, #"42/a,["s",{"id":1}]"#, #"42/a,["s",{"id":2}]"#, true),
    ])
  func rules(rule: String, recorded: String, sent: String, isSame: Bool) throws {
    let frame = WebSocketFrame(isFromApp: true, time: 1, message: Self.text(recorded))
    var playback = WebSocketPlayback([frame], start: 0, rules: try Self.rules(rule))
    #expect((playback.take(Self.text(sent)) == .plays([])) == isSame)
    #expect(playback.matched == (isSame ? 0 : nil))
  }

  @Test("names the rules that a message was compared by, and a pattern that takes too long")
  func ruleTitles() throws {
    let frame = WebSocketFrame(isFromApp: true, time: 1, message: Self.text(#"{"id": 1, "v": 1}"#))
    var playback = WebSocketPlayback([frame], start: 0, rules: try Self.rules(#"{"ignore": {"json": ["$.id"]}}"#))
    #expect(
      playback.take(Self.text(#"{"id": 2, "v": 2}"#))
        == .miss(
          "message 1 $.v: recorded 1, got 2, compared by rule 1: ignores JSON $.id"))
    let slow = Self.text(String(repeating: "a", count: 100_000) + "b")
    var other = WebSocketPlayback(
      [WebSocketFrame(isFromApp: true, time: 1, message: slow)], start: 0,
      rules: try Self.rules(#"{"ignore": {"pattern": ["(a+)+$"]}}"#))
    guard case .miss(let text) = other.take(Self.text("a")) else {
      Issue.record("not a miss")
      return
    }
    #expect(text.hasPrefix("message 1 cannot be compared: the pattern '(a+)+$' takes too long"))
  }

  @Test("reports a message beyond the recorded ones", arguments: [[">a"], [">a", "<close"], [">a", ">close"]])
  func tooMany(lines: [String]) {
    var playback = Self.playback(lines)
    _ = playback.begin()
    _ = playback.take(Self.text("a"))
    #expect(playback.take(Self.text("b")) == .miss("message 2, 'b', is not recorded: the recording has 1"))
  }

  @Test("sends the server's messages recorded after the app's close")
  func close() {
    var playback = Self.playback([">a", ">close", "<1", "<bye"])
    _ = playback.take(Self.text("a"))
    #expect(playback.close(.close(1000)) == [Self.due(1, "1"), Self.due(2, "bye")])
    #expect(playback.isOver)
  }

  @Test("echoes the app's close if the recorded server echoed the recorded one")
  func answer() {
    var playback = Self.playback([">close", "<1", "<close"])
    let due = playback.close(.close(1001, "elsewhere"))
    #expect(due?.map(\.message) == [Self.text("1"), .close(1001, "elsewhere")])
  }

  @Test(
    "distinguishes an unrecorded close from one without a recorded answer",
    arguments: [[">a", ">b", "<1", ">close", "<close"], [">a", "<close"], [">a"], [">a", ">close"]])
  func nothing(lines: [String]) {
    var playback = Self.playback(lines)
    _ = playback.take(Self.text("a"))
    #expect(playback.close(.close(1000)) == (lines.last == ">close" ? [] : nil))
  }

  @Test("treats JSON of the same value as equal")
  func json() {
    var playback = Self.playback([">{\"a\": 1, \"b\": [1.0]}", ">[1]"])
    #expect(playback.take(Self.text("{\"b\":[1],\"a\":1}")) == .plays([]))
    #expect(playback.take(Self.text("[2]")) == .miss("message 2 $[0]: recorded 1, got 2"))
  }
}
