import Basics
import Foundation
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Streams in HARs")
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

  @Test("round-trips the parts and the end of a stream", arguments: [BodyEnd.whole, .cut, .open])
  func roundTrip(end: BodyEnd) throws {
    let response = try Self.read(Self.written(Self.interaction(parts, end)))
    #expect(response.parts == parts)
    #expect(response.end == end)
    #expect(response.isStreamed)
  }

  @Test("writes one line per part")
  func layout() {
    let text = String(decoding: Self.written(Self.interaction(parts, .cut)), as: UTF8.self)
    #expect(text.contains("\"parts\": [\n"))
    #expect(text.contains("[0, 9],\n"))
    #expect(text.contains("[1500, 9]\n"))
    #expect(text.contains("\"cut\": true\n"))
  }

  @Test("omits the parts of a body without pauses")
  func plain() throws {
    let bytes = Self.written(Self.interaction([], .whole))
    let content = String(decoding: bytes, as: UTF8.self).split(separator: "\"content\"")[1].prefix(300)
    #expect(!content.contains("_diorama"))
    #expect(try !Self.read(bytes).isStreamed)
  }

  @Test(
    "rejects invalid parts and names the first one",
    arguments: ["3", "[[0]]", "[[0, 0]]", "[[5, 1], [4, 1]]", "[[\"0\", 1]]", "[[-1, 1]]", "[[0, 1.5]]"])
  func broken(parts: String) throws {
    let text = String(
      decoding: Self.written(Self.interaction([BodyPart(milliseconds: 7, count: 18)], .whole)), as: UTF8.self)
    let start = try #require(text.range(of: "\"parts\": ["))
    let end = try #require(text.range(of: "]\n", range: start.upperBound..<text.endIndex))
    let last = try #require(text.range(of: "]", range: end.upperBound..<text.endIndex))
    let bytes = Array((text[..<start.lowerBound] + "\"parts\": \(parts)" + text[last.upperBound...]).utf8)
    let error = #expect(throws: CodedError.self) { try Self.read(bytes) }
    #expect(error?.description.contains("_diorama.parts") == true)
  }

  @Test("fits the parts to an edited body")
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

@Suite("Arrival times of body parts")
struct PartMeterTests {
  private static func parts(_ kind: StreamKind?, _ chunks: [(Int, String)]) -> [BodyPart] {
    var meter = PartMeter(kind)
    for (time, text) in chunks { meter.add(Array(text.utf8), at: time) }
    return meter.parts
  }

  private static func part(_ milliseconds: Int, _ count: Int) -> BodyPart {
    BodyPart(milliseconds: milliseconds, count: count)
  }

  @Test("records each event, including several in one chunk")
  func events() {
    #expect(
      Self.parts(.events, [(3, "data: a\n\nid: 1\ndata: b\n\n: c\n\n"), (900, "data: d\n\n")])
        == [Self.part(3, 9), Self.part(3, 15), Self.part(3, 5), Self.part(900, 9)])
  }

  @Test("records each fragment of an event, merging those within a millisecond")
  func pieces() {
    #expect(
      Self.parts(.events, [(0, "data:"), (0, " a\n"), (70, "\ndata: b"), (70, "\n\n")])
        == [Self.part(0, 8), Self.part(70, 1), Self.part(70, 9)])
  }

  @Test("finds the end of an event for any line ending and chunking", arguments: ["\n", "\r\n", "\r"])
  func lineEnds(_ end: String) {
    let first = "event: x\(end)data: a\(end)\(end)"
    let second = "data: b\(end)\(end)"
    let whole = [Self.part(1, first.utf8.count), Self.part(1, second.utf8.count)]
    #expect(Self.parts(.events, [(1, first + second)]) == whole)
    let bytes = Array((first + second).utf8)
    for cut in 1..<bytes.count {
      var meter = PartMeter(.events)
      meter.add(Array(bytes[..<cut]), at: 1)
      meter.add(Array(bytes[cut...]), at: 1)
      // If CR LF itself is split, the LF belongs to the next event.
      let isLate = end == "\r\n" && (cut == first.utf8.count - 1 || cut == bytes.count - 1)
      #expect(isLate || meter.parts == whole)
      #expect(meter.parts.reduce(0) { $0 + $1.count } == bytes.count)
    }
  }

  @Test("records each line of JSON")
  func lines() {
    #expect(
      Self.parts(.lines, [(0, "{\"a\":1}\n{\"a\""), (20, ":2}\n")])
        == [Self.part(0, 8), Self.part(0, 4), Self.part(20, 4)])
  }

  @Test("records no parts of a body without pauses")
  func plain() {
    #expect(Self.parts(nil, [(0, "abc"), (49, "def"), (98, "ghi")]) == [])
  }

  @Test("records the parts of a plain body with pauses in steps of 50 ms")
  func pauses() {
    #expect(
      Self.parts(nil, [(0, "abc"), (20, "def"), (70, "ghi"), (90, "\n\nj"), (3000, "k")])
        == [Self.part(0, 6), Self.part(70, 6), Self.part(3000, 1)])
  }

  @Test("records no parts of a plain body that arrives late, but without pauses")
  func late() {
    #expect(Self.parts(nil, [(3000, "abc")]) == [])
    #expect(Self.parts(nil, [(3000, "abc"), (3049, "def")]) == [])
  }

  @Test("finds the ends of parts in a redacted body of gRPC by its messages")
  func redactedMessages() {
    var meter = PartMeter(.grpc)
    let (first, second) = ([0, 0, 0, 0, 2, 0x0A, 0x0A] as [UInt8], [0, 0, 0, 0, 1, 7] as [UInt8])
    meter.add(first, at: 1)
    meter.add(second, at: 70)
    #expect(meter.parts.map(\.count) == [7, 6])
    var rest = [[0, 0, 0], [0, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0]] as [[UInt8]]
    let parts = meter.parts { rest.isEmpty ? [] : rest.removeFirst() }
    #expect(parts == [Self.part(1, 9), Self.part(70, 5)])
  }

  @Test("finds the ends of parts in a redacted body by its line breaks", arguments: [nil, StreamKind.lines])
  func redacted(kind: StreamKind?) {
    var meter = PartMeter(kind)
    for (time, text) in [
      (0, "{\"t\":\"abc\"}\n"), (100, "{\"t\":\"long long secret\"}\n"), (200, "{\"n\":"), (300, "1}\r\n"),
    ] {
      meter.add(Array(text.utf8), at: time)
    }
    func parts(_ pieces: String...) -> [BodyPart] {
      var rest = pieces[...]
      return meter.parts { rest.popFirst().map { Array($0.utf8) } ?? [] }
    }
    let redacted = "{\"t\":\"<redacted>\"}\n"
    let expected = [Self.part(0, 19), Self.part(100, 19), Self.part(200, 5), Self.part(300, 4)]
    #expect(parts(redacted + redacted + "{\"n\":1}\r\n") == expected)
    #expect(parts(redacted, "{\"t\":\"<reda", "cted>\"}\n{\"n", "\":1}\r\n") == expected)
    // A line that has become shorter than the part's end in it.
    #expect(parts(redacted + redacted + "{}\r\n").map(\.count) == [19, 19, 2, 2])
    // Redaction has removed a line.
    #expect(parts(redacted + "{\"n\":1}\r\n") == meter.parts)
  }

  @Test("limits the number of parts, and never reports a part before it arrived")
  func bounded() {
    var meter = PartMeter(.lines)
    let chunk = Array("1\n".utf8)
    var count = 0
    while count < 200_000 {
      meter.add(chunk, at: count / 10)
      count += 1
    }
    #expect(meter.parts.count <= PartMeter.limit)
    #expect(meter.parts.count > PartMeter.limit / 4)
    var bytes = 0
    for part in meter.parts {
      bytes += part.count
      #expect(part.milliseconds >= (bytes / 2 - 1) / 10)
    }
    #expect(bytes == 400_000)
  }

  @Test(
    "chooses the kind of stream by the media type",
    arguments: [
      ("text/event-stream", StreamKind.events), ("Text/Event-Stream; charset=utf-8", .events),
      ("application/x-ndjson", .lines), ("application/jsonl", .lines), ("application/json", nil), (nil, nil),
    ])
  func kinds(type: String?, kind: StreamKind?) {
    #expect(StreamKind(contentType: type) == kind)
  }
}
