import Basics
@testable import Transforms
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import Cassettes

@Suite("Declared dates")
struct DeclaredDateTests {
  static func places() throws -> DatePlaces {
    var places = DatePlaces()
    for place in ["$..born", "header:X-Keep", "query:from"] { try places.add(place, .kept) }
    for place in ["$.exp", "$.items[*].at", "$.all", "header:X-Expires", "query:since", "form:since"] {
      try places.add(place, .epochSeconds)
    }
    try places.add("$.ms", .epochMilliseconds)
    for place in ["$.day", "query:day"] { try places.add(place, .day) }
    return places
  }

  static let cases: [(String, String)] = [
    (#"{"exp": 1538989200, "other": 1538989200}"#, #"{"exp": 1795375800, "other": 1538989200}"#),
    (#"{"exp": 1538989200.250}"#, #"{"exp": 1795375800.250}"#), (#"{"exp": "1538989200"}"#, #"{"exp": "1795375800"}"#),
    (#"{"exp": 0}"#, #"{"exp": 0}"#), (#"{"exp": -1}"#, #"{"exp": -1}"#), (#"{"exp": 1.5e9}"#, #"{"exp": 1.5e9}"#),
    (#"{"exp": null}"#, #"{"exp": null}"#),
    (#"{"ms": 1538989200123}"#, #"{"ms": 1795375800123}"#),
    (
      #"{"items": [{"at": 1538989200}, {"at": "2018-10-08T09:00:00Z"}]}"#,
      #"{"items": [{"at": 1795375800}, {"at": "2026-11-22T19:30:00Z"}]}"#
    ),
    (#"{"all": [1538989200, {"a": 1538989200}]}"#, #"{"all": [1795375800, {"a": 1795375800}]}"#),
    (#"{"day": "2018-10-08", "text": "2018-10-08"}"#, #"{"day": "2026-11-22", "text": "2018-10-08"}"#),
    (
      #"{"born": "2018-10-08T09:00:00Z", "at":"2018-10-08T09:00:00Z"}"#,
      #"{"born": "2018-10-08T09:00:00Z", "at":"2026-11-22T19:30:00Z"}"#
    ),
    (
      #"{"u": {"born": {"at": ["2018-10-08T09:00:00Z"]}}, "exp":1538989200}"#,
      #"{"u": {"born": {"at": ["2018-10-08T09:00:00Z"]}}, "exp":1795375800}"#
    ),
    ("2018-10-08T09:00:00Z no JSON", "2026-11-22T19:30:00Z no JSON"),
  ]

  @Test(
    "are moved as declared, others by their format, and nothing else, wherever chunks end", arguments: cases)
  func json(recorded: String, replayed: String) throws {
    let shifter = DateShifter(eightYears, places: try Self.places())
    let bytes = Array(recorded.utf8)
    for size in [1, 2, 3, 7, 1000] {
      var body = shifter.body(.json)
      var output: [UInt8] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        output += body.push(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      output += body.finish()
      #expect(String(decoding: output, as: UTF8.self) == replayed, "in pieces of \(size)")
    }
    #expect(String(decoding: shifter.reversed.body(Array(replayed.utf8), .json), as: UTF8.self) == recorded)
  }

  @Test(
    "are found in the document of each event, even after a malformed one",
    arguments: ["{\"exp\": [\"broken", String(repeating: "[", count: 5000)])
  func lines(broken: String) throws {
    let shifter = DateShifter(eightYears, places: try Self.places())
    let text = "data: {\"exp\": 1538989200}\n\ndata: \(broken)\n\ndata: {\"exp\": 1538989200}\n\n"
    let moved = "data: {\"exp\": 1795375800}\n\ndata: \(broken)\n\ndata: {\"exp\": 1795375800}\n\n"
    #expect(String(decoding: shifter.body(Array(text.utf8), .jsonLines), as: UTF8.self) == moved)
  }

  @Test("in a member to keep stay unchanged, however long it is")
  func long() throws {
    let text = #"{"born": "\#(String(repeating: "2018-10-08T09:00:00Z ", count: 1000))", "exp": 1538989200}"#
    let shifter = DateShifter(eightYears, places: try Self.places())
    let moved = String(decoding: shifter.body(Array(text.utf8), .json), as: UTF8.self)
    #expect(moved == text.replacing("1538989200", with: "1795375800"))
  }

  @Test("in headers and targets are moved by their names")
  func messages() throws {
    let shifter = DateShifter(eightYears, places: try Self.places())
    let recorded: Headers = [
      "Date": "Mon, 08 Oct 2018 09:00:00 GMT", "X-Expires": "1538989200", "X-Keep": "2018-10-08T09:00:00Z",
      "Set-Cookie": "a=1; Max-Age=3600; Expires=Mon, 08 Oct 2018 10:00:00 GMT", "X-Other": "1538989200",
    ]
    let replayed: Headers = [
      "Date": "Sun, 22 Nov 2026 19:30:00 GMT", "X-Expires": "1795375800", "X-Keep": "2018-10-08T09:00:00Z",
      "Set-Cookie": "a=1; Max-Age=3600; Expires=Sun, 22 Nov 2026 20:30:00 GMT", "X-Other": "1538989200",
    ]
    #expect(shifter.headers(recorded) == replayed)
    #expect(shifter.reversed.headers(replayed) == recorded)
    let target = "/on/2018-10-08T09:00:00Z?since=1538989200&from=2018-10-08T09:00:00Z&day=2018-10-08&x=1538989200"
    let moved = "/on/2026-11-22T19:30:00Z?since=1795375800&from=2018-10-08T09:00:00Z&day=2026-11-22&x=1538989200"
    #expect(shifter.target(target) == moved)
    #expect(shifter.reversed.target(moved) == target)
    let form = shifter.body(Array("since=1538989200&a=2018-10-08T09%3A00%3A00Z".utf8), .form)
    #expect(String(decoding: form, as: UTF8.self) == "since=1795375800&a=2026-11-22T19%3A30%3A00Z")
    func part(_ name: String, _ content: String) -> String {
      "--b\r\nContent-Disposition: form-data; name=\(name)\r\n\r\n\(content)\r\n"
    }
    func multipart(_ since: String, _ other: String) -> String {
      part("\"Since\"", since) + part("a", other) + part("\"since\"; filename=\"x\"", "1538989200")
        + "--b--\r\n"
    }
    let parts = shifter.body(
      Array(multipart("1538989200", "2018-10-08T09:00:00Z").utf8),
      .multipart(contentType: "multipart/form-data; boundary=b"))
    #expect(
      String(decoding: parts, as: UTF8.self) == multipart("1795375800", "2026-11-22T19:30:00Z"))
  }

  @Test(
    "in queries are moved in all URLs, wherever chunks end",
    arguments: [
      ("</a?since=1538989200>; rel=next", "</a?since=1795375800>; rel=next"),
      ("0; url=https://a.test/?x=1&Since=1538989200#top", "0; url=https://a.test/?x=1&Since=1795375800#top"),
      (#"<a href="/?x=1&amp;since=1538989200">"#, #"<a href="/?x=1&amp;since=1795375800">"#),
      (#"{"next": "/?x=1\u0026since\u003d1538989200"}"#, #"{"next": "/?x=1\u0026since\u003d1795375800"}"#),
      ("/?since=1538989200&day=2018-10-08", "/?since=1795375800&day=2026-11-22"),
      ("/?since=1538989200&since=1538989200", "/?since=1795375800&since=1795375800"),
      ("/?from=2018-10-08T09:00:00Z&at=2018-10-08T09:00:00Z", "/?from=2018-10-08T09:00:00Z&at=2026-11-22T19:30:00Z"),
      ("/?since=2018-10-08T09%3A00%3A00Z", "/?since=2026-11-22T19%3A30%3A00Z"),
      ("/?xsince=1538989200&sinces=1538989200&since=a", "/?xsince=1538989200&sinces=1538989200&since=a"),
      ("since=1538989200 &sinc", "since=1538989200 &sinc"), ("/?since=", "/?since="),
    ])
  func urls(recorded: String, replayed: String) throws {
    let shifter = DateShifter(eightYears, places: try Self.places())
    let bytes = Array(recorded.utf8)
    for size in [1, 3, 1000] {
      for form in [DateShifter.BodyForm.text, .json] {
        var body = shifter.body(form)
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
          output += body.push(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        output += body.finish()
        #expect(String(decoding: output, as: UTF8.self) == replayed, "in pieces of \(size)")
      }
    }
    #expect(shifter.headers(["Link": recorded])["Link"] == replayed)
    #expect(shifter.reversed.headers(["Referer": replayed])["Referer"] == recorded)
    // A number that would become longer stays unchanged if the length was already sent.
    let old = "/?since=999999999"
    #expect(String(decoding: shifter.body(Array(old.utf8), .text), as: UTF8.self) == old)
  }

  @Test(
    "are refused at invalid places",
    arguments: [
      ("expires", "'expires' is not a place"), ("cookie:a", "there is no place 'cookie'"),
      ("$.a[-1]", "counts from the end"),
      ("$.a[", "is not a valid JSON path"),
    ])
  func refused(place: String, problem: String) {
    let error = #expect(throws: CodedError.self) {
      var places = DatePlaces()
      try places.add(place, .day)
    }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
  }
}
