import Basics
import HTTPMessages
import TestSupport
import Testing

@testable import Cassettes

@Suite("HAR round trip")
struct HARRoundTripTests {
  @Test("reads back any cassette that it wrote", arguments: 0..<200 as Range<UInt64>)
  func everything(_ seed: UInt64) throws {
    var random = SeededGenerator(seed)
    let interactions = (0..<random.upTo(5)).map { _ in random.interaction() }
    let file = HAR.write(Cassette(header: .sample, interactions: interactions))
    let cassette = try HAR.read(file, name: "a.har")
    #expect(cassette.header == .sample)
    #expect(cassette.interactions.map(\.everything) == interactions.map(\.everything))
    #expect(cassette.skipped == [])
    #expect(cassette.incomplete == [])
    #expect(HAR.write(cassette) == file)
  }

  @Test("reads back each line of a partial file", arguments: 0..<100 as Range<UInt64>)
  func lines(_ seed: UInt64) throws {
    var random = SeededGenerator(seed)
    let interaction = random.interaction()
    let line = HAR.line(interaction)
    let read = try line.withUnsafeBytes { try HAR.interaction(line: $0) }
    #expect(read.everything == interaction.everything)
    let withoutFeed = try line.dropLast().withUnsafeBytes { try HAR.interaction(line: $0) }
    #expect(withoutFeed.everything == interaction.everything)
  }

  @Test(
    "reads back the header of a partial file",
    arguments: [.sample, .sampleWithSchemas, CassetteHeader(), CassetteHeader(seed: "")])
  func header(_ header: CassetteHeader) throws {
    let line = HAR.headerLine(header)
    #expect(try line.withUnsafeBytes { try HAR.header(line: $0) } == header)
  }

  @Test("rejects every truncated line")
  func cutLines() throws {
    let line = HAR.line(.sample(requestBody: .bytes([0, 1]), body: .bytes(Array("\u{E9}\"\\".utf8)))).dropLast()
    for count in 0..<line.count {
      #expect(throws: CodedError.self) {
        try line.prefix(count).withUnsafeBytes { try HAR.interaction(line: $0) }
      }
    }
  }

  @Test("preserves the order, case and repeats of headers")
  func headers() throws {
    let headers = Headers([
      .init("set-cookie", "b=2"), .init("X-A", ""), .init("Set-Cookie", "a=1"), .init("Set-Cookie", "a=1"),
      .init("CONTENT-encoding", "gzip"),
    ])
    let file = HAR.write(Cassette(header: .sample, interactions: [.sample(requestHeaders: headers, headers: headers)]))
    let read = try HAR.read(file, name: "a.har").interactions[0]
    #expect(read.request.headers == headers)
    #expect(read.response.headers == headers)
  }

  @Test("preserves the bytes of text regardless of its charset")
  func charset() throws {
    let interaction = Interaction.sample(
      headers: ["Content-Type": "text/html; charset=iso-8859-1"], body: .bytes(Array("Z\u{FC}rich".utf8)))
    let file = HAR.write(Cassette(header: CassetteHeader(), interactions: [interaction]))
    #expect(try HAR.read(file, name: "a.har").interactions[0].response.body == interaction.response.body)
  }
}
