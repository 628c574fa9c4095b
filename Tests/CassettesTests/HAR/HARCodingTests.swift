import HTTPMessages
import LaunchContract
import Testing

@testable import Cassettes

@Suite("HAR text codings")
struct HARCodingTests {
  @Test(
    "encodes and decodes the Base64 test vectors of RFC 4648, 10",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func base64(_ plain: String, _ coded: String) {
    #expect(HAR.Base64.encode(Array(plain.utf8)) == coded)
    #expect(HAR.Base64.decode(coded) == Array(plain.utf8))
  }

  @Test("round-trips all bytes through Base64")
  func base64Bytes() {
    let bytes = [UInt8](0...255) + [UInt8](0...255).reversed()
    for count in 500...512 {
      #expect(HAR.Base64.decode(HAR.Base64.encode(Array(bytes[..<count]))) == Array(bytes[..<count]))
    }
  }

  @Test("rejects invalid Base64", arguments: ["A", "AAAAA", "A*==", "AA=A", "\u{E9}AAA"])
  func notBase64(_ text: String) {
    #expect(HAR.Base64.decode(text) == nil)
  }

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

@Suite("HAR timestamps")
struct TimestampTests {
  @Test(
    "reads the timestamp formats of other tools",
    arguments: [
      ("1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z"),
      ("2018-10-08T09:00:00.123+01:00", 1_538_985_600, 123_000_000, "2018-10-08T09:00:00.123+01:00"),
      ("2018-10-08T09:00:00.1234567Z", 1_538_989_200, 123_456_700, "2018-10-08T09:00:00.1234567Z"),
      ("2018-10-08t09:00:00z", 1_538_989_200, 0, "2018-10-08t09:00:00z"),
      ("2018-10-08T09:00:00.000+0100", 1_538_985_600, 0, "2018-10-08T08:00:00Z"),
      ("2018-10-08 09:00:00Z", 1_538_989_200, 0, "2018-10-08T09:00:00Z"),
      ("2018-10-08T09:00Z", 1_538_989_200, 0, "2018-10-08T09:00:00Z"),
      ("2018-10-08T09:00:00", 1_538_989_200, 0, "2018-10-08T09:00:00Z"),
      ("2018-10-08T09:00:00,5-02", 1_538_996_400, 500_000_000, "2018-10-08T11:00:00.500Z"),
      ("2000-02-29T23:59:59+00:00", 951_868_799, 0, "2000-02-29T23:59:59+00:00"),
      ("1969-12-31T23:59:59", -1, 0, "1969-12-31T23:59:59Z"),
      ("1900-03-01T00:00:00", -2_203_891_200, 0, "1900-03-01T00:00:00Z"),
      ("9999-12-31T23:59:59", 253_402_300_799, 0, "9999-12-31T23:59:59Z"),
    ])
  func read(_ text: String, _ seconds: Int, _ nanoseconds: Int, _ rfc3339: String) throws {
    let timestamp = try #require(HAR.Timestamp(text))
    #expect(timestamp.seconds == seconds)
    #expect(timestamp.nanoseconds == nanoseconds)
    #expect(timestamp.rfc3339 == rfc3339)
  }

  @Test(
    "rejects invalid timestamps",
    arguments: [
      "", "yesterday", "2018-10-08", "2018-13-08T09:00:00Z", "2018-10-00T09:00:00Z", "2018-10-08T24:00:00Z",
      "2018-02-30T09:00:00Z", "2018-10-08T09:60:00Z", "2018-10-08T09:00:00.Z", "2018-10-08T09:00:00Zx",
      "2018-10-08T09:00:00+", "18-10-08T09:00:00Z", "2018-10-08T09:00:00+25:00",
    ])
  func refuse(_ text: String) {
    #expect(HAR.Timestamp(text) == nil)
  }

  @Test("round-trips every day")
  func days() throws {
    var previous = HAR.Timestamp.days(year: 1899, month: 12, day: 31)
    for year in 1900...2101 {
      for month in 1...12 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let last = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        for day in [1, 2, last] {
          let days = HAR.Timestamp.days(year: year, month: month, day: day)
          let text = HAR.Timestamp.text(seconds: days * 86_400 + 86_399)
          #expect(HAR.Timestamp(text)?.seconds == days * 86_400 + 86_399)
          if day == 1 { #expect(days == previous + 1) }
          previous = days
        }
      }
    }
  }

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
