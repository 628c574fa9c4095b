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

  @Test("describes how a message differs from the recorded one")
  func miss() {
    var playback = Self.playback([">a", "<1"])
    #expect(playback.begin() == [])
    #expect(playback.take(Self.text("b")) == .miss("message 1 is 'b', but the recorded one is 'a'"))
    var other = Self.playback([">a"])
    #expect(
      other.take(WebSocketMessage(.binary, [1, 2])) == .miss("message 1 is 2 bytes, but the recorded one is 'a'"))
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
    #expect(playback.take(Self.text("[2]")) == .miss("message 2 is '[2]', but the recorded one is '[1]'"))
  }
}
