import Basics
@testable import CassetteConversion
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("Importing")
struct ImportingTests {
  private func guess(_ text: String) -> String {
    do {
      return try ForeignCassette.guess(Array(text.utf8), name: "a").rawValue
    } catch {
      return "\(error)"
    }
  }

  @Test("recognizes every tool's file by its content", arguments: Fixture.allCases)
  func guesses(_ fixture: Fixture) throws {
    #expect(try ForeignCassette.guess(fixture.bytes(), name: "a") == fixture.format)
    #expect(try ForeignCassette.guess([0xEF, 0xBB, 0xBF] + fixture.bytes(), name: "a") == fixture.format)
  }

  @Test(
    "names the kind of a file that it cannot import",
    arguments: [
      ("", "the file is empty"), (" \n", "the file is empty"),
      ("hello", "not a recording in a known format (har, vinyl"),
      ("{\"data\": {\"pairs\": []}}", "it looks like a Hoverfly simulation"),
      ("[{\"scope\": \"h\", \"path\": \"/\", \"response\": {}}]", "it looks like a nock recording"),
      ("\u{1F}", "not a recording in a known format"),
      ("1234:9:websocket;", "it is a flow file of mitmproxy; make a HAR of it"),
      ("{\"a\": ", "line 1, column 7: expected a value, found the end of the text"),
    ])
  func unknown(_ text: String, _ problem: String) {
    #expect(guess(text).hasPrefix("a: "))
    #expect(guess(text).contains(problem), "\(guess(text))")
  }

  @Test("combines several files in their order, with the upstreams' names and the earliest date")
  func assembling() throws {
    let origin = Origin(scheme: "http", host: "api.example.com", port: 80)
    let foreign = [try Fixture.vinyl.read(), try Fixture.dvr.read()]
    let cassette = Cassette(
      importing: foreign, upstreams: [.init(name: "api", origin: origin)], recordedAt: nil,
      otherwise: "2020-01-01T00:00:00Z")
    #expect(cassette.header.recordedAt == "2011-11-01T04:58:44Z")
    #expect(cassette.interactions.count == 7)
    #expect(cassette.interactions.allSatisfy { $0.upstream == "api" })
    #expect(cassette.interactions[1].startedAt == "2011-11-01T04:58:44Z")
    #expect(cassette.interactions[4].startedAt == "2015-06-19T04:38:41.440751Z")
    #expect(HARRules.breaches(of: try JSON.parse(HAR.write(cassette))) == [])

    let chosen = Cassette(
      importing: foreign, upstreams: [], recordedAt: "2018-10-08T09:00:00Z", otherwise: "2020-01-01T00:00:00Z")
    #expect(chosen.header.recordedAt == "2018-10-08T09:00:00Z")
    #expect(chosen.interactions[1].startedAt == "2018-10-08T09:00:00Z")
    let timeless = [ForeignCassette(format: .vinyl, header: CassetteHeader(), interactions: [], losses: [])]
    let empty = Cassette(importing: timeless, upstreams: [], recordedAt: nil, otherwise: "2020-01-01T00:00:00Z")
    #expect(empty.header.recordedAt == "2020-01-01T00:00:00Z")
  }

  @Test("keeps the time zone, date and upstreams of one of our cassettes")
  func ours() throws {
    var header = CassetteHeader.sample
    header.recordedAt = "2018-10-08T09:00:00Z"
    let file = HAR.write(Cassette(header: header, interactions: [.sample(requestBody: .empty, body: .empty)]))
    let foreign = try ForeignCassette.read(file, name: "a.har")
    let cassette = Cassette(
      importing: [foreign], upstreams: header.upstreams, recordedAt: nil, otherwise: "2020-01-01T00:00:00Z")
    #expect(cassette.header.recordedAt == header.recordedAt)
    #expect(cassette.header.timeZone == header.timeZone)
    #expect(cassette.header.recording == nil)
    #expect(foreign.losses == [])
  }

  @Test("lists what many entries have in common on one line")
  func lines() {
    var losses = Losses()
    for place in [1, 2, 3, 3, 7, 9, 10] { losses.add("it is odd", at: place) }
    losses.add("all of it is odd")
    losses.add("it is even", at: 2)
    #expect(
      losses.all.map { $0.line(("entry", "entries")) } == [
        "entries 1-3, 7, 9-10: it is odd", "all of it is odd", "entry 2: it is even",
      ])
  }

  @Test("never accepts a truncated file, and never crashes", arguments: Fixture.allCases)
  func prefixes(_ fixture: Fixture) throws {
    let file = try fixture.bytes()
    let all = try fixture.read().interactions.count
    var step = 0
    while step < file.count - 2 {
      do {
        // A YAML file that is truncated after an entry is valid; the loss cannot be detected.
        let foreign = try ForeignCassette.read(Array(file[..<step]), name: "a", as: fixture.format)
        #expect(fixture.rawValue.contains(".y"), "\(step) bytes of \(file.count)")
        #expect(foreign.interactions.count <= all)
      } catch {
        expectOneLine(error)
      }
      step += 1 + file.count / 300
    }
  }

  @Test("reads or rejects any damaged file in one line, and never crashes", arguments: 0..<240 as Range<UInt64>)
  func damaged(_ seed: UInt64) throws {
    var random = SeededGenerator(seed)
    let fixture = Fixture.allCases[Int(seed) % Fixture.allCases.count]
    var file = try fixture.bytes()
    for _ in 0...random.upTo(4) {
      let at = random.upTo(file.count - 1)
      switch random.upTo(3) {
      case 0: file[at] = UInt8(random.upTo(255))
      case 1: file.removeSubrange(at..<min(file.count, at + 1 + random.upTo(20)))
      case 2:
        let pieces = [
          "\"", "{", "]", ",", "1e999", "-", "\\u", "null", "&a ", "*a ", "!binary ", "? ", "\n- ", ": ", "|\n",
        ]
        file.insert(contentsOf: random.pick(pieces).utf8, at: at)
      default: file.insert(contentsOf: random.bytes(upTo: 5), at: at)
      }
    }
    for format in [fixture.format, nil] {
      do {
        let foreign = try ForeignCassette.read(file, name: "a", as: format)
        for line in foreign.lines { #expect(!line.isEmpty && line.utf8.count < 600, "\(line)") }
        let cassette = Cassette(
          importing: [foreign], upstreams: [], recordedAt: nil, otherwise: "2020-01-01T00:00:00Z")
        #expect(HARRules.breaches(of: try JSON.parse(HAR.write(cassette))) == [])
        #expect(!HARExport.write(cassette.interactions).file.isEmpty)
        let numbered = cassette.interactions.enumerated().map { ($0.offset, $0.element) }
        #expect(throws: Never.self) { try JSON.parse(WireMockExport.write(numbered, origin: nil).file) }
      } catch {
        expectOneLine(error)
      }
    }
  }

  private func expectOneLine(_ error: any Error) {
    let line = "\(error)"
    #expect(error is CodedError && line.hasPrefix("a: ") && line.contains("; "), "\(line)")
  }
}
