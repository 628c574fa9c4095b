import Basics
import Foundation
import Testing

@Suite("Instants in RFC 3339")
struct RFC3339Tests {
  @Test("clamps instants outside the years 0000 to 9999")
  func clamps() {
    #expect(RFC3339.format(seconds: .min) == "0000-01-01T00:00:00Z")
    #expect(RFC3339.format(seconds: 253_402_300_800) == "9999-12-31T23:59:59Z")
  }

  @Test(
    "parses instants",
    arguments: [
      ("1970-01-01T00:00:00Z", 0),
      ("2018-10-08T09:00:00Z", 1_538_989_200),
      ("2018-10-08T10:00:00+01:00", 1_538_989_200),
      ("2018-10-08T03:30:00-05:30", 1_538_989_200),
      ("2018-10-08t09:00:00z", 1_538_989_200),
      ("2018-10-08 09:00:00Z", 1_538_989_200),
      ("2018-10-08T09:00:00.5Z", 1_538_989_200.5),
      ("2018-10-08T09:00:00.123456789Z", 1_538_989_200.123456789),
      ("2018-10-08T09:00:00.1234567890123Z", 1_538_989_200.123456789),
      ("2016-12-31T23:59:60Z", 1_483_228_800),
      ("2000-02-29T00:00:00Z", 951_782_400),
      ("1969-12-31T23:59:59.75Z", -0.25),
      ("0000-01-01T00:00:00Z", -62_167_219_200),
      ("9999-12-31T23:59:59Z", 253_402_300_799),
    ] as [(String, Double)])
  func parses(_ text: String, _ seconds: Double) throws {
    let date = try #require(RFC3339.parse(text))
    #expect(abs(date.timeIntervalSince1970 - seconds) < 1e-6)
  }

  @Test(
    "rejects anything else",
    arguments: [
      "", "2018", "2018-10-08", "2018-10-08T09:00:00", "2018-10-08T09:00Z", "2018-10-08T09:00:00.Z",
      "2018-13-08T09:00:00Z",
      "2018-00-08T09:00:00Z", "2018-02-29T09:00:00Z", "1900-02-29T09:00:00Z", "2018-10-00T09:00:00Z",
      "2018-10-32T09:00:00Z",
      "2018-10-08T24:00:00Z", "2018-10-08T09:60:00Z", "2018-10-08T09:00:61Z", "2018-10-08T09:00:00+24:00",
      "2018-10-08T09:00:00+0100",
      " 2018-10-08T09:00:00Z", "2018-10-08T09:00:00Z ", "18-10-08T09:00:00Z", "+018-10-08T09:00:00Z",
      "２018-10-08T09:00:00Z",
    ])
  func refuses(_ text: String) {
    #expect(RFC3339.parse(text) == nil)
  }

  @Test(
    "formats in UTC, with none, three or six digits",
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (1_538_989_200, "2018-10-08T09:00:00Z"),
      (1_538_989_200.25, "2018-10-08T09:00:00.250Z"), (1_538_989_200.0001, "2018-10-08T09:00:00.000100Z"),
      (1_538_989_200.999_999_6, "2018-10-08T09:00:01Z"), (-0.25, "1969-12-31T23:59:59.750Z"),
      (951_782_400, "2000-02-29T00:00:00Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
      (1e300, "9999-12-31T23:59:59.999Z"), (-.infinity, "0000-01-01T00:00:00Z"),
    ] as [(Double, String)])
  func formats(_ seconds: Double, _ text: String) {
    #expect(RFC3339.format(Date(timeIntervalSince1970: seconds)) == text)
  }

  @Test(
    "formats as many digits as are asked for",
    arguments: [(0, "00.000000Z"), (1_000, "00.000001Z"), (250_000_000, "00.250000Z")])
  func digits(nanoseconds: Int, end: String) {
    let text = RFC3339.format(seconds: 0, nanoseconds: nanoseconds, digits: 6)
    #expect(text == "1970-01-01T00:00:" + end)
  }

  @Test("parses back every formatted millisecond, over four centuries")
  func roundTrip() {
    let wrong = (0..<20_000).lazy.map { _ in Int.random(in: -5_000_000_000_000...8_000_000_000_000) }.first {
      let text = RFC3339.format(Date(timeIntervalSince1970: Double($0) / 1_000))
      return RFC3339.parse(text).map { Int(($0.timeIntervalSince1970 * 1_000).rounded()) } != $0
    }
    #expect(wrong == nil)
  }

  @Test(
    "formats exactly, with none, three, six or nine digits",
    arguments: [
      ("2018-10-08T09:00:00Z", "2018-10-08T09:00:00Z"), ("2018-10-08T09:00:00.25Z", "2018-10-08T09:00:00.250Z"),
      ("2018-10-08T09:00:00.1Z", "2018-10-08T09:00:00.100Z"),
      ("2018-10-08T09:00:00.000001Z", "2018-10-08T09:00:00.000001Z"),
      ("2001-01-01T00:00:01.123456789Z", "2001-01-01T00:00:01.123456789Z"),
      ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
      ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"), ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ])
  func formatsExactly(_ text: String, _ expected: String) throws {
    #expect(RFC3339.format(try #require(RFC3339.parse(text)), exactly: true) == expected)
  }

  @Test("parses back the exact value over four centuries, except near 2001")
  func exactRoundTrip() {
    let wrong = (0..<20_000).lazy.map { _ in Double.random(in: -5e9...8e9) }.first {
      let date = Date(timeIntervalSince1970: $0)
      guard abs(date.timeIntervalSinceReferenceDate) > 5e8 else { return false }
      return RFC3339.parse(RFC3339.format(date, exactly: true)) != date
    }
    #expect(wrong == nil)
  }

  @Test("agrees with Foundation for every fifth day of four hundred years")
  func calendar() {
    let wrong = stride(from: -60_000, to: 90_000, by: 5).first { day in
      let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 45_296)
      let text = RFC3339.format(date)
      return RFC3339.parse(text) != date || text != date.formatted(.iso8601)
    }
    #expect(wrong == nil)
  }
}

@Suite("Instants in other forms of ISO 8601")
struct InstantTests {
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
    let timestamp = try #require(Instant(text))
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
    #expect(Instant(text) == nil)
  }

  @Test("round-trips every day")
  func days() throws {
    var previous = RFC3339.daysSince1970(year: 1899, month: 12, day: 31)
    for year in 1900...2101 {
      for month in 1...12 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let last = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        for day in [1, 2, last] {
          let days = RFC3339.daysSince1970(year: year, month: month, day: day)
          let text = RFC3339.format(seconds: days * 86_400 + 86_399)
          #expect(Instant(text)?.seconds == days * 86_400 + 86_399)
          if day == 1 { #expect(days == previous + 1) }
          previous = days
        }
      }
    }
  }
}
