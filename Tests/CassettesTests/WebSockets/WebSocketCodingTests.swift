@testable import CassetteConversion
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("A WebSocket in a HAR")
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

  @Test("is as Chrome writes it", arguments: [frames, []])
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

  @Test("is left out of what WireMock reads, and that is said")
  func wireMock() {
    let (file, losses) = WireMockExport.write([(0, Self.interaction(Self.frames))], origin: nil)
    #expect(!String(decoding: file, as: UTF8.self).contains("chat"))
    #expect(losses.count == 1)
  }
}
