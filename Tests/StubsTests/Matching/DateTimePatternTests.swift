import Basics
import Foundation
import Stubs
import Testing

@Suite("Date-time patterns")
struct DateTimePatternTests {
  /// 2026-03-28T12:30:45.5Z, the day before summer time begins in Europe.
  private static let now = Date(timeIntervalSince1970: 1_774_701_045.5)

  private static func matches(
    _ comparison: DateTimePattern.Comparison, _ text: String, _ actual: String, format: String? = nil,
    truncateExpected: String? = nil, truncateActual: String? = nil, last: Bool = false, offset: (Int, String)? = nil,
    zone: String = "UTC"
  ) throws -> Bool {
    try DateTimePattern(
      comparison, text, actualFormat: format, truncateExpected: truncateExpected, truncateActual: truncateActual,
      applyTruncationLast: last, expectedOffset: offset?.0, expectedOffsetUnit: offset?.1
    ).matches(actual, now: now, timeZone: try #require(TimeZone(identifier: zone)))
  }

  @Test(
    "reads date-times with and without a zone",
    arguments: [
      ("2021-06-14T15:15:15Z", "2021-06-14T16:15:15+01:00", true),
      ("2021-06-14T15:15:15Z", "2021-06-14T15:15:15.001Z", false),
      ("2021-06-14T15:15:15", "2021-06-14T15:15:15", true), ("2021-06-14T15:15:15", "2021-06-14T15:15:15+05:00", true),
      ("2021-06-14T15:15:15Z", "2021-06-14T15:15:15", true), ("2021-06-14", "2021-06-14T00:00:00", true),
      ("2021-06-14T15:15Z", "2021-06-14t15:15:00.000z", true),
      ("2021-06-14T15:15:15Z", "Mon, 14 Jun 2021 15:15:15 GMT", true),
      ("2021-06-14T15:15:15Z", "Monday, 14-Jun-21 15:15:15 GMT", true),
      ("2021-06-14T15:15:15Z", "Mon Jun 14 15:15:15 2021", true),
      ("2021-06-01T15:15:15Z", "Tue Jun  1 15:15:15 2021", true),
      ("2021-06-14T15:15:15Z", "14 Jun 2021 16:15:15 +0100", true),
      ("2021-06-14T14:15:15Z", "2021-06-14T15:15:15+01:00[Europe/London]", true), ("2021-06-01", "2021-06", true),
      ("2021-01-01", "2021", true), ("2021-06-14", "nonsense", false), ("2021-06-14", "2021-13-01", false),
      ("2021-03-02", "2021-02-30", false), ("2021-06-14", "Sun, 14 Jun 2021 00:00:00 GMT", false),
      ("2021-06-14", "", false),
    ] as [(String, String, Bool)])
  func reading(expected: String, actual: String, isEqual: Bool) throws {
    #expect(try Self.matches(.equal, expected, actual) == isEqual)
  }

  @Test("compares before and after")
  func order() throws {
    #expect(try Self.matches(.before, "2021-06-14T15:15:15Z", "2021-06-14T15:15:14Z"))
    #expect(try !Self.matches(.before, "2021-06-14T15:15:15Z", "2021-06-14T15:15:15Z"))
    #expect(try Self.matches(.after, "2021-06-14T15:15:15Z", "2021-06-14T15:15:16Z"))
    #expect(try !Self.matches(.after, "2021-06-14T15:15:15Z", "2021-06-14T15:15:15Z"))
  }

  @Test(
    "adds offsets to now",
    arguments: [
      ("now", "2026-03-28T12:30:45.5Z"), ("now +3 days", "2026-03-31T12:30:45.5Z"),
      ("-2 days", "2026-03-26T12:30:45.5Z"),
      ("15 minutes", "2026-03-28T12:45:45.5Z"), ("Now -1 months", "2026-02-28T12:30:45.5Z"),
      ("now +2 years", "2028-03-28T12:30:45.5Z"),
      ("now -40 hours", "2026-03-26T20:30:45.5Z"), ("now +11 months", "2027-02-28T12:30:45.5Z"),
      ("now -15 MONTHS", "2024-12-28T12:30:45.5Z"),
    ] as [(String, String)])
  func offsets(expected: String, actual: String) throws {
    #expect(try Self.matches(.equal, expected, actual))
  }

  @Test("lets expectedOffset replace the offset in the text")
  func expectedOffset() throws {
    #expect(try Self.matches(.equal, "now +9 days", "2026-03-27T12:30:45.5Z", offset: (-1, "days")))
  }

  @Test(
    "truncates now before adding, or after",
    arguments: [
      ("first second of minute", "2026-03-28T12:30:00Z"), ("first minute of hour", "2026-03-28T12:00:00Z"),
      ("first hour of day", "2026-03-28T00:00:00Z"), ("first day of month", "2026-03-01T00:00:00Z"),
      ("first day of next month", "2026-04-01T00:00:00Z"), ("last day of month", "2026-03-31T00:00:00Z"),
      ("first day of year", "2026-01-01T00:00:00Z"), ("FIRST_DAY_OF_NEXT_YEAR", "2027-01-01T00:00:00Z"),
      ("last day of year", "2026-12-31T00:00:00Z"),
    ] as [(String, String)])
  func truncation(truncation: String, expected: String) throws {
    #expect(try Self.matches(.equal, "now", expected, truncateExpected: truncation))
    #expect(try Self.matches(.equal, expected, "2026-03-28T12:30:45.5Z", truncateActual: truncation))
  }

  @Test("applies truncation last if told to")
  func truncationLast() throws {
    let first = "first day of month"
    #expect(try Self.matches(.equal, "now +5 days", "2026-03-06T00:00:00Z", truncateExpected: first))
    #expect(try Self.matches(.equal, "now +5 days", "2026-04-01T00:00:00Z", truncateExpected: first, last: true))
  }

  @Test("uses the time zone's rules for days and hours")
  func zones() throws {
    let zone = "Europe/Berlin"
    #expect(try Self.matches(.equal, "now +1 days", "2026-03-29T11:30:45.5Z", zone: zone))
    #expect(try Self.matches(.equal, "now +24 hours", "2026-03-29T12:30:45.5Z", zone: zone))
    #expect(
      try Self.matches(.equal, "now +1 days", "2026-03-28T23:00:00Z", truncateExpected: "first hour of day", zone: zone)
    )
    #expect(try Self.matches(.equal, "2026-03-28T12:00:00Z", "2026-03-28T13:00:00", zone: zone))
    // 02:30 does not exist that night; Java uses the offset before the change.
    #expect(try Self.matches(.equal, "2026-03-29T01:30:00Z", "2026-03-29T02:30:00", zone: zone))
  }

  @Test(
    "reads other formats",
    arguments: [
      ("unix", "1623683715", "2021-06-14T15:15:15Z"), ("epoch", "1623683715250", "2021-06-14T15:15:15.25Z"),
      ("epoch", "-1", "1969-12-31T23:59:59.999Z"),
      ("dd/MM/yyyy", "14/06/2021", "2021-06-14"), ("dd/MM/yyyy HH:mm", "14/06/2021 15:15", "2021-06-14T15:15:00"),
      ("yyyyMMdd", "20210614", "2021-06-14"), ("yyyyMMddHHmmssSSS", "20210614151515250", "2021-06-14T15:15:15.25"),
      ("d MMMM yyyy", "4 June 2021", "2021-06-04"),
      ("MMM d, yyyy hh:mm a", "Jun 14, 2021 12:15 AM", "2021-06-14T00:15:00"),
      ("H:mm d-M-yy", "3:05 14-6-21", "2021-06-14T03:05:00"),
      ("yyyy-MM-dd'T'HH:mm:ssZ", "2021-06-14T15:15:15+0100", "2021-06-14T14:15:15Z"),
      ("EEE, d MMM yyyy HH:mm:ss z", "Mon, 14 Jun 2021 15:15:15 GMT", "2021-06-14T15:15:15Z"),
      ("yyyyDDD", "2021165", "2021-06-14"),
      ("yyyy-MM-dd['T'HH:mm:ss[X]]", "2021-06-14T15:15:15+01", "2021-06-14T14:15:15Z"),
      ("dd/MM/yyyy", "31/02/2021", "2021-02-28"),
      ("yyyy-MM-dd HH:mm 'o''clock' VV", "2021-06-14 15:15 o'clock Europe/London", "2021-06-14T14:15:00Z"),
    ] as [(String, String, String)])
  func formats(format: String, actual: String, expected: String) throws {
    #expect(try Self.matches(.equal, expected, actual, format: format))
  }

  @Test("does not match a text in another format")
  func otherFormat() throws {
    for (format, text) in [
      ("unix", "x"), ("epoch", ""), ("dd/MM/yyyy", "2021-06-14"), ("yyyyMMdd", "2021064"), ("XXX", "Z"),
    ] {
      #expect(try !Self.matches(.after, "1900-01-01", text, format: format))
    }
  }

  @Test("rejects what it does not understand")
  func errors() {
    for (text, format, truncation, offset): (String, String?, String?, (Int, String)?) in [
      ("tomorrow", nil, nil, nil), ("now +3 weeks", nil, nil, nil), ("now +99999999999999 days", nil, nil, nil),
      ("now", "QQQ", nil, nil), ("now", "[yyyy]]", nil, nil), ("now", nil, "noon", nil),
      ("now", nil, nil, (1, "weeks")),
    ] {
      #expect(throws: CodedError.self) {
        try Self.matches(.equal, text, "2021-06-14", format: format, truncateExpected: truncation, offset: offset)
      }
    }
    #expect(throws: CodedError.self) { try DateTimePattern(.equal, "now", expectedOffset: 1) }
  }

  @Test("has WireMock's distances")
  func distances() throws {
    let pattern = try DateTimePattern(.equal, "2021-06-14T15:15:15Z")
    let zone = try #require(TimeZone(identifier: "UTC"))
    for (text, distance) in [
      ("2026-06-14T15:15:14Z", 0.04), ("2026-06-14T15:15:15Z", 0.05), ("1900-01-01T00:00:00Z", 1), ("x", 1),
      ("2021-06-14", 1),
    ] {
      #expect(pattern.distance(to: text, now: Self.now, timeZone: zone) == distance)
    }
  }

  @Test("survives 20,000 damaged texts and formats")
  func mutations() {
    let texts = [
      "2021-06-14T15:15:15.25+01:00[Europe/London]", "now +3 days", "Mon, 14 Jun 2021 15:15:15 GMT", "20210614",
      "-5 months",
    ]
    let formats = [
      "yyyy-MM-dd'T'HH:mm[:ss[.SSS]]XXX", "d MMMM yy hh:mm a z", "yyyyMMddHHmm", "unix", "epoch", "EEE D k:K x VV O",
    ]
    var mutations = Mutations()
    for round in 0..<20_000 {
      let format = round % 2 == 0 ? nil : mutations.next(of: formats)
      guard
        let pattern = try? DateTimePattern(
          .before, mutations.next(of: texts), actualFormat: format, truncateExpected: "last day of month")
      else { continue }
      _ = pattern.matches(mutations.next(of: texts), now: Self.now, timeZone: .gmt)
      _ = pattern.distance(to: mutations.next(of: texts), now: .distantFuture, timeZone: .gmt)
    }
  }
}
