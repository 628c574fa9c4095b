import Basics
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("HAR text codings")
struct HARCodingTests {
  @Test(
    "splits queries into decoded names and values",
    arguments: [
      ("http://h/", []), ("http://h/?", []), ("http://h/?a", [["a", ""]]),
      ("http://h/?a=1&a=2", [["a", "1"], ["a", "2"]]),
      ("http://h/?a=b=c&=x&&", [["a", "b=c"], ["", "x"]]), ("http://h/?a?b=%3f#c?d", [["a?b", "?"]]),
      ("http://h/#?a=1", []), ("http://h/?%C3%BC=%2B+%20", [["\u{FC}", "+  "]]),
      ("http://h/?a=%FF&b=%zz&c=%4", [["a", "%FF"], ["b", "%zz"], ["c", "%4"]]),
    ] as [(String, [[String]])])
  func queries(_ url: String, _ pairs: [[String]]) {
    #expect((HAR.FormText.query(ofURL: url).map(HAR.FormText.pairs) ?? []).map { [$0.name, $0.value] } == pairs)
  }

  @Test("round-trips forms", arguments: 0..<50 as Range<UInt64>)
  func forms(_ seed: UInt64) {
    var random = SeededGenerator(seed)
    let pairs = (0..<5).map { _ in (name: "n" + random.text(upTo: 8), value: random.text(upTo: 20)) }
    let form = String(decoding: HAR.FormText.encode(pairs), as: UTF8.self)
    #expect(HAR.FormText.pairs(form[...]).map { [$0.name, $0.value] } == pairs.map { [$0.name, $0.value] })
  }

  @Test("lists the cookies of all Cookie fields")
  func requestCookies() throws {
    let json = HAR.requestCookies(Headers([.init("Cookie", "a=1;  b=x=y ;c"), .init("cookie", "d=")]))
    let expected =
      #"[{"name":"a","value":"1"},{"name":"b","value":"x=y"},{"name":"c","value":""},{"name":"d","value":""}]"#
    #expect(try json == JSON.parse(Array(expected.utf8)))
  }

  @Test("lists the cookies of a response without repeating attributes")
  func responseCookies() throws {
    let json = HAR.responseCookies([
      "Set-Cookie": "a=1; PATH=/x; path=/y; Expires=never; SameSite=Lax; Max-Age=1", "set-cookie": "b",
      "Set-Cookie": "",
    ])
    let expected = #"[{"name":"a","value":"1","path":"/y"},{"name":"b","value":""},{"name":"","value":""}]"#
    #expect(try json == JSON.parse(Array(expected.utf8)))
  }
}

@Suite("Cookie dates")
struct CookieDateTests {
  @Test(
    "reads cookie dates in all forms that browsers accept",
    arguments: [
      ("Wed, 21 Oct 2015 07:28:00 GMT", "2015-10-21T07:28:00Z"),
      ("Wednesday, 21-Oct-15 07:28:00 GMT", "2015-10-21T07:28:00Z"),
      ("Wed Oct 21 07:28:00 2015", "2015-10-21T07:28:00Z"), ("Thu, 01-Jan-1970 00:00:01 GMT", "1970-01-01T00:00:01Z"),
      ("21 oct 2015 7:28:0", "2015-10-21T07:28:00Z"), ("0", nil), ("", nil), ("Wed, 21 Oct 2015", nil),
      ("Wed, 21 Foo 2015 07:28:00 GMT", nil), ("Wed, 21 Oct 2015 27:28:00 GMT", nil),
    ])
  func cookieDates(_ text: String, _ expected: String?) {
    #expect(HAR.cookieDate(text) == expected)
  }
}
