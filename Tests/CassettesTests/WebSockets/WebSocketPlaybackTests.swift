import HTTPMessages
import Testing

@testable import Cassettes

@Suite("The playback of a WebSocket")
struct WebSocketPlaybackTests {
  private static func text(_ text: String) -> WebSocketMessage { WebSocketMessage(.text, Array(text.utf8)) }

  /// `>` is the app's, `<` the server's; a second apart.
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

  @Test("sends what the server sent after the app's k-th message once that has come, as much later as then")
  func order() {
    var playback = Self.playback(["<hello", ">a", "<1", "<2", ">b", ">c", "<3"])
    #expect(playback.begin() == [Self.due(1, "hello")])
    #expect(playback.take(Self.text("a")) == .plays([Self.due(1, "1"), Self.due(2, "2")]))
    #expect(!playback.isOver)
    #expect(playback.take(Self.text("b")) == .plays([]))
    #expect(playback.take(Self.text("c")) == .plays([Self.due(1, "3")]))
    #expect(playback.isOver)
  }

  @Test("says how a message differs from the recorded one")
  func miss() {
    var playback = Self.playback([">a", "<1"])
    #expect(playback.begin() == [])
    #expect(playback.take(Self.text("b")) == .miss("message 1 is 'b', but the recorded one is 'a'"))
    var other = Self.playback([">a"])
    #expect(
      other.take(WebSocketMessage(.binary, [1, 2])) == .miss("message 1 is 2 bytes, but the recorded one is 'a'"))
  }

  @Test("says that a message is one too many", arguments: [[">a"], [">a", "<close"], [">a", ">close"]])
  func tooMany(lines: [String]) {
    var playback = Self.playback(lines)
    _ = playback.begin()
    _ = playback.take(Self.text("a"))
    #expect(playback.take(Self.text("b")) == .miss("message 2, 'b', is not recorded: the recording has 1"))
  }

  @Test("sends what the server sent after the app's close once that has come")
  func close() {
    var playback = Self.playback([">a", ">close", "<1", "<bye"])
    _ = playback.take(Self.text("a"))
    #expect(playback.close(.close(1000)) == [Self.due(1, "1"), Self.due(2, "bye")])
    #expect(playback.isOver)
  }

  @Test("answers a close with that close where the recorded answer repeated the recorded one")
  func answer() {
    var playback = Self.playback([">close", "<1", "<close"])
    let due = playback.close(.close(1001, "elsewhere"))
    #expect(due?.map(\.message) == [Self.text("1"), .close(1001, "elsewhere")])
  }

  @Test(
    "tells a close where the app did not close from one after which nothing is recorded",
    arguments: [[">a", ">b", "<1", ">close", "<close"], [">a", "<close"], [">a"], [">a", ">close"]])
  func nothing(lines: [String]) {
    var playback = Self.playback(lines)
    _ = playback.take(Self.text("a"))
    #expect(playback.close(.close(1000)) == (lines.last == ">close" ? [] : nil))
  }

  @Test("takes JSON of the same value for the same")
  func json() {
    var playback = Self.playback([">{\"a\": 1, \"b\": [1.0]}", ">[1]"])
    #expect(playback.take(Self.text("{\"b\":[1],\"a\":1}")) == .plays([]))
    #expect(playback.take(Self.text("[2]")) == .miss("message 2 is '[2]', but the recorded one is '[1]'"))
  }
}
