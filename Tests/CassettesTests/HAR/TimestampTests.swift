import Testing

@testable import Cassettes

@Suite("HAR timestamps")
struct TimestampTests {
  @Test(
    "reads what tools write",
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
    "refuses what is no instant",
    arguments: [
      "", "yesterday", "2018-10-08", "2018-13-08T09:00:00Z", "2018-10-00T09:00:00Z", "2018-10-08T24:00:00Z",
      "2018-02-30T09:00:00Z", "2018-10-08T09:60:00Z", "2018-10-08T09:00:00.Z", "2018-10-08T09:00:00Zx",
      "2018-10-08T09:00:00+", "18-10-08T09:00:00Z", "2018-10-08T09:00:00+25:00",
    ])
  func refuse(_ text: String) {
    #expect(HAR.Timestamp(text) == nil)
  }

  @Test("finds each day again")
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
    "reads cookies' dates in all the forms that browsers take",
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
