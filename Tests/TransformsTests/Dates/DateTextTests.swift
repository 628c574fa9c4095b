@testable import Transforms
import Foundation
import HTTPMessages
import Testing

@testable import Cassettes

/// From the recording, 2018-10-08T09:00:00Z, to 2026-11-22T19:30:00Z.
let eightYears = DateOffset(seconds: 256_386_600, days: 2967)

@Suite("Dates in text")
struct DateTextTests {
  static func moved(_ text: String, by offset: DateOffset = eightYears, keepsLength: Bool = false) -> String {
    var scanner = DateScanner(offset: offset, tokens: nil, isBack: false, keepsLength: keepsLength)
    return String(decoding: scanner.push(Array(text.utf8), isLast: true), as: UTF8.self)
  }

  @Test(
    "are moved in their own format, width and time zone, and back to the same digits",
    arguments: [
      ("2018-10-08T09:00:00Z", "2026-11-22T19:30:00Z"),
      ("2018-10-08T09:00:00.123456789Z", "2026-11-22T19:30:00.123456789Z"),
      ("2018-10-08T10:00:00+01:00", "2026-11-22T20:30:00+01:00"),
      ("2018-10-08T23:59:59.5-0330", "2026-11-23T10:29:59.5-0330"),
      ("2018-10-08T09:00:00", "2026-11-22T19:30:00"), ("2018-10-08 09:00:00", "2026-11-22 19:30:00"),
      ("2018-10-08t09:00:00z", "2026-11-22t19:30:00z"), ("2018-10-08T09:00Z", "2026-11-22T19:30Z"),
      ("20181008T090000Z", "20261122T193000Z"),
      ("2020-02-29T12:00:00Z", "2028-04-14T22:30:00Z"),
      ("2018-10-08T09%3A00%3A00Z", "2026-11-22T19%3A30%3A00Z"),
      ("2018-10-08%2009%3a00%3a00%2B00%3A00", "2026-11-22%2019%3a30%3a00%2B00%3A00"),
      ("2018-10-08+09:00:00", "2026-11-22+19:30:00"),
      (#"{"at":"2018-10-08T09:00:00\u002B00:00"}"#, #"{"at":"2026-11-22T19:30:00\u002B00:00"}"#),
      (#""\n2018-10-08T09:00:00Z""#, #""\n2026-11-22T19:30:00Z""#),
      ("%202018-10-08T09:00:00Z", "%202026-11-22T19:30:00Z"),
      (#"\u00222018-10-08T09:00:00Z"#, #"\u00222026-11-22T19:30:00Z"#),
      ("Mon, 08 Oct 2018 09:00:00 GMT", "Sun, 22 Nov 2026 19:30:00 GMT"),
      ("Wed, 31 Oct 2018 23:59:59 +0000", "Wed, 16 Dec 2026 10:29:59 +0000"),
      ("a=b; Expires=Mon, 08-Oct-2018 09:00:00 GMT; Path=/", "a=b; Expires=Sun, 22-Nov-2026 19:30:00 GMT; Path=/"),
      ("Monday, 08-Oct-18 09:00:00 GMT", "Sunday, 22-Nov-26 19:30:00 GMT"),
      ("Mon Oct  8 09:00:00 2018", "Sun Nov 22 19:30:00 2026"),
      ("from 2018-10-08T09:00:00Z to 2018-10-08T10:00:00Z.", "from 2026-11-22T19:30:00Z to 2026-11-22T20:30:00Z."),
    ])
  func both(recorded: String, replayed: String) {
    #expect(Self.moved(recorded) == replayed)
    #expect(Self.moved(replayed, by: eightYears.reversed) == recorded)
  }

  @Test(
    "stay unchanged if they are invalid or placeholders",
    arguments: [
      "2018-10-08", "2018-13-08T09:00:00Z", "2018-02-29T09:00:00Z", "2018-10-08T24:00:00Z", "2018-10-08T09:61:00Z",
      "2018-10-08T09", "2018-10-08T09:00:000Z", "12018-10-08T09:00:00Z", "0001-01-01T00:00:00Z",
      "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 08 Okt 2018 09:00:00 GMT",
      "a20181008T090000Z", "20181008T090000", "Monkey, 08 Oct", "2018-10-08T09:00:0", "", "2018", "T", "Mo",
    ])
  func none(text: String) {
    #expect(Self.moved(text) == text)
  }

  @Test("are found wherever chunks end")
  func cut() {
    let text =
      #"[{"at": "2018-10-08T09:00:00.25Z"}, "Mon, 08 Oct 2018 09:00:00 GMT", 20181008T090000Z 2018-10-08T09:00 "#
      + #"Mon Oct  8 09:00:00 2018 %202018-10-08T09%3A00%3A00Z \u00222018-10-08T09:00:00"#
    let whole = Self.moved(text)
    #expect(!whole.contains("2018"))
    let bytes = Array(text.utf8)
    for size in 1...60 {
      var scanner = DateScanner(offset: eightYears, tokens: nil, isBack: false, keepsLength: true)
      var output: [UInt8] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        output += scanner.push(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      output += scanner.push([], isLast: true)
      #expect(String(decoding: output, as: UTF8.self) == whole, "in pieces of \(size)")
    }
  }

  @Test("keep their length if it was already sent")
  func length() {
    #expect(Self.moved("Monday, 08-Oct-18 09:00:00 GMT", keepsLength: true) == "Monday, 08-Oct-18 09:00:00 GMT")
    let wednesday = Self.moved("Wednesday, 31-Oct-18 12:00:00 GMT", by: DateOffset(seconds: 86_400, days: 1))
    #expect(wednesday == "Thursday, 01-Nov-18 12:00:00 GMT")
  }

  @Test("without a time are moved by whole days, so that today stays today")
  func days() throws {
    let recorded = try #require(ISO8601DateFormatter().date(from: "2018-10-08T22:30:00Z"))
    let now = try #require(ISO8601DateFormatter().date(from: "2018-10-09T22:10:00Z"))
    let utc = DateOffset(from: recorded, to: now, timeZone: .gmt)
    #expect(utc == DateOffset(seconds: 85_200, days: 1))
    let london = DateOffset(
      from: recorded, to: now.addingTimeInterval(-3600), timeZone: try #require(TimeZone(identifier: "Asia/Tokyo")))
    #expect(london.days == 1)
    #expect(ISODateText.movedDay(Array("2018-10-31".utf8), offset: utc) == Array("2018-11-01".utf8))
  }
}
