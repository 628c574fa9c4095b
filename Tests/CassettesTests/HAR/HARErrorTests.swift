import Basics
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("HAR errors")
struct HARErrorTests {
  private func message(_ text: String) -> String {
    do {
      _ = try HAR.read(Array(text.utf8), name: "a.har")
      return "no error"
    } catch {
      return error.description
    }
  }

  private let fix = "; fix or remove that entry, or re-record the cassette"
  private let restore = "; restore the file or re-record it"

  @Test(
    "names the entry and the member that is invalid",
    arguments: [
      ("1", "it is not an object"),
      ("{}", "request is missing"),
      (#"{"request": null}"#, "request is missing"),
      (#"{"request": []}"#, "request is not an object"),
      (#"{"request": {"method": "GET"}}"#, "request.url is missing"),
      (#"{"request": {"method": "GET", "url": 1}}"#, "request.url is not a string"),
      (#"{"request": {"method": "GET", "url": ""}}"#, "request.url is empty"),
      (#"{"request": {"method": "GET", "url": "http://h/"}}"#, "response is missing"),
      (#"{"request": {"method": "GET", "url": "http://h/"}, "response": {}}"#, "response.status is missing"),
      (
        #"{"request": {"method": "GET", "url": "http://h/"}, "response": {"status": "OK"}}"#,
        "response.status is not a whole number"
      ),
      (#"{"request": {"url": "http://h/"}, "response": {"status": 200}}"#, "request.method is missing"),
      (
        #"{"request": {"method": "GET", "url": "http://h/"}, "response": {"status": 200, "content": {"text": "*", "encoding": "base64"}}}"#,
        "response.content.text is not Base64"
      ),
      (
        #"{"request": {"method": "GET", "url": "http://h/"}, "response": {"status": 200, "content": {"text": "x", "encoding": "gzip"}}}"#,
        "response.content.encoding is 'gzip'; only base64 is supported"
      ),
      (
        #"{"request": {"method": "GET", "url": "http://h/"}, "response": {"status": 200, "content": {"text": "x", "_isBinary": true}}}"#,
        "response.content.text is not hexadecimal, though _isBinary is true"
      ),
      (
        #"{"request": {"method": "GET", "url": "http://h/"}, "response": {"status": 200, "content": {"_file": "../x"}}}"#,
        "response.content._file leaves the cassette's folder: '../x'"
      ),
      (
        #"{"request": {"method": "GET", "url": "http://h/", "postData": {"_file": 1}}, "response": {"status": 200}}"#,
        "request.postData._file is not a file name"
      ),
    ])
  func entries(_ entry: String, _ problem: String) {
    let good = #"{"request": {"method": "GET", "url": "http://h/"}, "response": {"status": 200}}"#
    #expect(message("{\"log\": {\"entries\": [\(good), \(entry)]}}") == "a.har: entry 2: \(problem)\(fix)")
  }

  @Test(
    "reports the line and column of malformed JSON",
    arguments: [
      ("{\"log\": {\"entries\": [", "line 1, column 22: expected a value, found the end of the text"),
      ("{\"log\": {\n  \"entries\": [\n    1", "entry 1: it is not an object"),
      ("{\"log\": {\n\"version\": \"1.", "line 2, column 12: the text ends inside the string that begins here"),
      ("{\"log\": {\"entries\": []}} x", "line 1, column 26: expected the end after the value, found 'x'"),
      (
        "{\"log\": {\"entries\": []}",
        "line 1, column 24: expected ',' or '}' after a member, found the end of the text"
      ),
    ])
  func syntax(_ text: String, _ problem: String) {
    #expect(message(text).hasPrefix("a.har: \(problem)"))
  }

  @Test("rejects every truncated file")
  func prefixes() {
    let file = HAR.write(
      Cassette(header: .sample, interactions: [.sample(requestBody: .bytes([0]), body: .bytes([0x61, 0x0A]))]))
    // The last line feed may be missing.
    for count in 0..<(file.count - 1) {
      #expect(throws: CodedError.self) { try HAR.read(Array(file[..<count]), name: "a.har") }
    }
  }

  @Test("reads or rejects any damaged file without crashing", arguments: 0..<150 as Range<UInt64>)
  func damaged(_ seed: UInt64) {
    var random = SeededGenerator(seed)
    let ours = HAR.write(Cassette(header: .sample, interactions: [random.interaction()]))
    var file = seed.isMultiple(of: 3) ? Array(mitmproxySample.utf8) : ours
    for _ in 0...random.upTo(3) {
      let at = random.upTo(file.count - 1)
      switch random.upTo(3) {
      case 0: file[at] = UInt8(random.upTo(255))
      case 1: file.removeSubrange(at..<min(file.count, at + 1 + random.upTo(20)))
      case 2: file.insert(contentsOf: random.pick(["\"", "{", "]", ",", "1e999", "-", "\\u", "null"]).utf8, at: at)
      default: file.insert(contentsOf: random.bytes(upTo: 5), at: at)
      }
    }
    do {
      let cassette = try HAR.read(file, name: "a.har")
      #expect(!HAR.write(cassette).isEmpty)
    } catch {
      #expect(!error.description.isEmpty)
    }
  }

  @Test(
    "accepts numbers that are out of range",
    arguments: ["9223372036854775807", "-9223372036854775808", "1e999", "-1e999"])
  func hugeNumbers(_ number: String) throws {
    let text = """
      {"log": {"creator": {"name": "mitmproxy"}, "entries": [{"startedDateTime": "2018-10-08T09:00:00Z", "time": \(number),
      "request": {"method": "GET", "url": "http://h/", "bodySize": \(number), "postData": {"text": "x", "mimeType": ""}},
      "response": {"status": 200, "content": {"size": \(number), "compression": \(number), "text": "\u{FC}"}}}]}}
      """
    let cassette = try HAR.read(Array(text.utf8), name: "a.har")
    #expect(HARRules.breaches(of: try JSON.parse(HAR.write(cassette))) == [])
  }

  @Test("rejects a newer format")
  func newerFormat() {
    #expect(
      message(#"{"log": {"_diorama": {"format": 2}, "entries": []}}"#)
        == "a.har: its format is 2, but this version of diorama supports at most 1; update diorama")
    #expect(
      message(#"{"log": {"_diorama": {"format": "x"}, "entries": []}}"#)
        == "a.har: _diorama.format is not a positive integer\(restore)")
    #expect(throws: CodedError.self) {
      try Array(#"{"_diorama": {"format": 2}}"#.utf8).withUnsafeBytes { try HAR.header(line: $0) }
    }
  }

  @Test("rejects an upstream without an origin")
  func badUpstream() {
    #expect(
      message(#"{"log": {"_diorama": {"format": 1, "upstreams": {"api": "ftp://x"}}, "entries": []}}"#)
        .hasPrefix("a.har: _diorama.upstreams.api: 'ftp://x' is not an origin"))
  }

  @Test(
    "names the format of a file that is not a HAR",
    arguments: [
      ("", "the file is empty"), (" \n", "the file is empty"),
      ("hello", "it is not a HAR, which is"), ("---\nversion: 1", "it looks like YAML"),
      ("http_interactions:\n- x", "it looks like YAML"), ("PK\u{3}\u{4}", "it looks like a compressed file"),
      ("[]", "it is not a HAR, which is a JSON object with a member 'log'"),
      ("12", "it is not a HAR, which is"), ("{}", "it is not a HAR, which is"),
      (#"{"entries": []}"#, "it is not a HAR, which is"),
      (#"[{"request": {}, "response": {}}]"#, "it looks like a Vinyl cassette"),
      (#"[{"scope": "http://h:80", "path": "/", "response": {}}]"#, "it looks like a nock recording"),
      (#"{"name": "x", "interactions": []}"#, "it looks like a DVR cassette"),
      (#"{"version": 1, "interactions": []}"#, "it looks like a vcrpy cassette"),
      (#"{"http_interactions": []}"#, "it looks like a VCR cassette"),
      (#"{"data": {"pairs": []}, "meta": {}}"#, "it looks like a Hoverfly simulation"),
      (#"{"mappings": []}"#, "it looks like WireMock mappings"),
      (#"{"info": {}, "item": []}"#, "it looks like a Postman collection"),
      (
        #"{"format": 1, "algorithm": "uuid5-v1", "seed": ""}"#,
        "it looks like a string store; pass the .har file next to it"
      ),
      (#"{"log": []}"#, "log is not an object"), (#"{"log": {}}"#, "log.entries is missing"),
      (#"{"log": {"entries": {}}}"#, "log.entries is not an array"),
    ])
  func foreign(_ text: String, _ problem: String) {
    let message = message(text)
    #expect(message.contains(problem))
    #expect(message.hasPrefix("a.har: ") && !message.contains("\n"))
  }

  @Test(
    "rejects lines that are not an interaction",
    arguments: ["", "{}", "[]", #"{"request": {"method": "GET", "url": "wss://h/"}, "response": {"status": 101}}"#])
  func lines(_ line: String) {
    #expect(throws: CodedError.self) {
      try Array(line.utf8).withUnsafeBytes { try HAR.interaction(line: $0, name: "a.partial", number: 3) }
    }
    #expect(throws: CodedError.self) {
      try Array(line.utf8).withUnsafeBytes { try HAR.header(line: $0) }
    }
  }
}
