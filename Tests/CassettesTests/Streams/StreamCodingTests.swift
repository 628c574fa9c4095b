import Foundation
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("A stream in a HAR")
struct StreamCodingTests {
  private static func interaction(_ parts: [BodyPart], _ end: BodyEnd) -> Interaction {
    Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.000Z", milliseconds: 4,
      request: RecordedRequest(method: "GET", url: "http://a.test/", headers: [:], body: .empty),
      response: RecordedResponse(
        status: 200, reason: "OK", headers: ["Content-Type": "text/event-stream"],
        body: .bytes(Array("data: a\n\ndata: b\n\n".utf8)), parts: parts, end: end))
  }

  private static func written(_ interaction: Interaction) -> [UInt8] {
    HAR.write(Cassette(header: CassetteHeader(), interactions: [interaction]))
  }

  private static func read(_ bytes: [UInt8]) throws -> RecordedResponse {
    let cassette = try bytes.withUnsafeBytes { try HAR.read($0, name: "c.har") }
    return try #require(cassette.interactions.first).response
  }

  private let parts = [BodyPart(milliseconds: 0, count: 9), BodyPart(milliseconds: 1500, count: 9)]

  @Test("has its parts and its end, and comes back with them", arguments: [BodyEnd.whole, .cut, .open])
  func roundTrip(end: BodyEnd) throws {
    let response = try Self.read(Self.written(Self.interaction(parts, end)))
    #expect(response.parts == parts)
    #expect(response.end == end)
    #expect(response.isStreamed)
  }

  @Test("has a line for each part")
  func layout() {
    let text = String(decoding: Self.written(Self.interaction(parts, .cut)), as: UTF8.self)
    #expect(text.contains("\"parts\": [\n"))
    #expect(text.contains("[0, 9],\n"))
    #expect(text.contains("[1500, 9]\n"))
    #expect(text.contains("\"cut\": true\n"))
  }

  @Test("a body that came in one says nothing of parts")
  func plain() throws {
    let bytes = Self.written(Self.interaction([], .whole))
    let content = String(decoding: bytes, as: UTF8.self).split(separator: "\"content\"")[1].prefix(300)
    #expect(!content.contains("_diorama"))
    #expect(try !Self.read(bytes).isStreamed)
  }

  @Test(
    "whose parts are no pairs of times and lengths is an error that says which",
    arguments: ["3", "[[0]]", "[[0, 0]]", "[[5, 1], [4, 1]]", "[[\"0\", 1]]", "[[-1, 1]]", "[[0, 1.5]]"])
  func broken(parts: String) throws {
    let text = String(
      decoding: Self.written(Self.interaction([BodyPart(milliseconds: 7, count: 18)], .whole)), as: UTF8.self)
    let start = try #require(text.range(of: "\"parts\": ["))
    let end = try #require(text.range(of: "]\n", range: start.upperBound..<text.endIndex))
    let last = try #require(text.range(of: "]", range: end.upperBound..<text.endIndex))
    let bytes = Array((text[..<start.lowerBound] + "\"parts\": \(parts)" + text[last.upperBound...]).utf8)
    let error = #expect(throws: CassetteError.self) { try Self.read(bytes) }
    #expect(error?.description.contains("_diorama.parts") == true)
  }

  @Test("whose body was edited has its parts fitted to it")
  func edited() {
    var response = Self.interaction(parts, .whole).response
    func fitted(_ length: Int) -> [Int] { response.parts(of: length).map(\.count) }
    #expect(fitted(18) == [9, 9])
    #expect(fitted(25) == [9, 16])
    #expect(fitted(12) == [9, 3])
    #expect(fitted(9) == [9])
    #expect(fitted(0) == [])
    response.parts = []
    #expect(fitted(5) == [5])
  }
}
