import Testing

@testable import Cassettes

@Suite("When the parts of a body came")
struct PartMeterTests {
  private static func parts(_ kind: StreamKind?, _ chunks: [(Int, String)]) -> [BodyPart] {
    var meter = PartMeter(kind)
    for (time, text) in chunks { meter.add(Array(text.utf8), at: time) }
    return meter.parts
  }

  private static func part(_ milliseconds: Int, _ count: Int) -> BodyPart {
    BodyPart(milliseconds: milliseconds, count: count)
  }

  @Test("is told for each event, also of several in one chunk")
  func events() {
    #expect(
      Self.parts(.events, [(3, "data: a\n\nid: 1\ndata: b\n\n: c\n\n"), (900, "data: d\n\n")])
        == [Self.part(3, 9), Self.part(3, 15), Self.part(3, 5), Self.part(900, 9)])
  }

  @Test("is told for each piece of an event that came by itself, and once for pieces of one millisecond")
  func pieces() {
    #expect(
      Self.parts(.events, [(0, "data:"), (0, " a\n"), (70, "\ndata: b"), (70, "\n\n")])
        == [Self.part(0, 8), Self.part(70, 1), Self.part(70, 9)])
  }

  @Test("finds an event's end whatever ends its lines, and however it is cut", arguments: ["\n", "\r\n", "\r"])
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
      // Where CR LF itself is cut, the LF is the next event's.
      let isLate = end == "\r\n" && (cut == first.utf8.count - 1 || cut == bytes.count - 1)
      #expect(isLate || meter.parts == whole)
      #expect(meter.parts.reduce(0) { $0 + $1.count } == bytes.count)
    }
  }

  @Test("is told for each line of JSON")
  func lines() {
    #expect(
      Self.parts(.lines, [(0, "{\"a\":1}\n{\"a\""), (20, ":2}\n")])
        == [Self.part(0, 8), Self.part(0, 4), Self.part(20, 4)])
  }

  @Test("is of no interest where a body came without a pause")
  func plain() {
    #expect(Self.parts(nil, [(0, "abc"), (49, "def"), (98, "ghi")]) == [])
  }

  @Test("is told to the twentieth of a second where a plain body came with pauses")
  func pauses() {
    #expect(
      Self.parts(nil, [(0, "abc"), (20, "def"), (70, "ghi"), (90, "\n\nj"), (3000, "k")])
        == [Self.part(0, 6), Self.part(70, 6), Self.part(3000, 1)])
  }

  @Test("is kept for a bounded number of parts, and none is told before it was there")
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
    "is measured for messages by the type",
    arguments: [
      ("text/event-stream", StreamKind.events), ("Text/Event-Stream; charset=utf-8", .events),
      ("application/x-ndjson", .lines), ("application/jsonl", .lines), ("application/json", nil), (nil, nil),
    ])
  func kinds(type: String?, kind: StreamKind?) {
    #expect(StreamKind(contentType: type) == kind)
  }
}
