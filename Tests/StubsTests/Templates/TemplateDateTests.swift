import Testing

/// Dates as WireMock 2.35.1 prints them.
struct TemplateDateTests {
  @Test(
    "parses dates in the formats of HTTP and ISO 8601, and in patterns",
    arguments: [
      (#"{{parseDate "2018-10-08T09:05:03Z"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "2018-10-08T09:05:03.456+02:00"}}"#, "2018-10-08T09:05:03+02:00"),
      (
        #"{{date (parseDate "2018-10-08T09:05:03.456+02:00") format="yyyy-MM-dd HH:mm:ss.SSS Z z X XX XXX"}}"#,
        "2018-10-08 09:05:03.456 +0200 GMT+02:00 +02 +0200 +02:00"
      ),
      (#"{{parseDate "junk"}}"#, ""),
      (#"{{parseDate "Mon, 08 Oct 2018 09:05:03 GMT"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "Monday, 08-Oct-18 09:05:03 GMT"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "Mon Oct 08 09:05:03 2018"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "Mon Oct  8 09:05:03 2018"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "Mon, 8 Oct 2018 09:05:03 +0200"}}"#, "2018-10-08T09:05:03+02:00"),
      (#"{{parseDate "2018-10-08T09:05:03+02:00[Europe/Paris]"}}"#, "2018-10-08T09:05:03+02:00"),
      (#"{{parseDate "2018-10-08T09:05Z"}}"#, "2018-10-08T09:05:00Z"),
      (#"{{parseDate "2018-10-08T09:05:03"}}"#, ""),
      (#"{{parseDate "2018-10-08"}}"#, ""),
      (#"{{parseDate "Tue, 08 Oct 2018 09:05:03 GMT"}}"#, ""),
      (#"{{parseDate "2018-02-30T09:05:03Z"}}"#, ""),
      (#"{{parseDate "2018-10-08t09:05:03z"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "2018-10-08T09:05:03+0200"}}"#, ""),
      (#"{{parseDate "08 Oct 2018 09:05:03 GMT"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "2018-10-08 09:05:03Z"}}"#, ""),
      (#"{{parseDate "08/10/2018" format="dd/MM/yyyy"}}"#, "2018-10-08T00:00:00Z"),
      (#"{{parseDate "2018-10" format="yyyy-MM"}}"#, "2018-10-01T00:00:00Z"),
      (#"{{parseDate "2018" format="yyyy"}}"#, "2018-01-01T00:00:00Z"),
      (#"{{parseDate "1538989503" format="unix"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "1538989503000" format="epoch"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "2018-10-08 09:05" format="yyyy-MM-dd HH:mm"}}"#, "2018-10-08T09:05:00Z"),
      (#"{{parseDate "8 Oct 2018 1:05 PM" format="d MMM yyyy h:mm a"}}"#, "2018-10-08T13:05:00Z"),
      (#"{{parseDate "x" format="yyyy"}}"#, ""),
      (#"{{parseDate "8/1/2018" format="dd/MM/yyyy"}}"#, ""),
      (#"{{parseDate "20181008" format="yyyyMMdd"}}"#, "2018-10-08T00:00:00Z"),
      (#"{{parseDate "08/10/18" format="dd/MM/yy"}}"#, "2018-10-08T00:00:00Z"),
      (#"{{parseDate "Monday 8 October 2018" format="EEEE d MMMM yyyy"}}"#, "2018-10-08T00:00:00Z"),
      (#"{{parseDate "20181008T090503" format="yyyyMMdd'T'HHmmss"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "2018-10-08T09:05:03.123456Z" format="yyyy-MM-dd'T'HH:mm:ss.SSSSSSX"}}"#, "2018-10-08T09:05:03Z"),
      (#"{{parseDate "31/02/2018" format="dd/MM/yyyy"}}"#, "2018-02-28T00:00:00Z"),
      (#"{{parseDate "2018-10-08T09:05:03.1+0200" format="yyyy-MM-dd'T'HH:mm:ss.SZ"}}"#, "2018-10-08T09:05:03+02:00"),
      (#"{{parseDate "2018-10-08T09:05:03-05:30" format="yyyy-MM-dd'T'HH:mm:ssXXX"}}"#, "2018-10-08T09:05:03-05:30"),
    ])
  func parsing(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "prints dates in patterns",
    arguments: [
      (
        #"{{date (parseDate "2018-10-08T09:05:03Z") format="G yy y yyyyy M MM MMM MMMM d dd D DDD E EEE EEEE a H HH k kk K h hh m s S SS SSS SSSS u w W F zzzz z Z X XXX L LLLL YYYY 'at' ''"}}"#,
        "AD 18 2018 02018 10 10 Oct October 8 08 281 281 Mon Mon Monday AM 9 09 9 09 9 9 09 5 3 0 00 000 0000 1 41 2 2 Coordinated Universal Time UTC +0000 Z Z 10 October 2018 at &#x27;"
      ),
      (#"{{date (parseDate "2018-10-08T09:05:03Z") format="epoch"}}"#, "1538989503000"),
      (#"{{date (parseDate "2018-10-08T09:05:03.999Z") format="unix"}}"#, "1538989503"),
      (#"{{date (parseDate "1969-12-31T23:59:59.500Z") format="unix"}}"#, "0"),
    ])
  func printing(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "counts weeks from Sunday",
    arguments: [
      (#"{{date (parseDate "2018-01-01T00:00:00Z") format="yyyy YYYY w W F u D E"}}"#, "2018 2018 1 1 1 1 1 Mon"),
      (#"{{date (parseDate "2017-01-01T00:00:00Z") format="yyyy YYYY w W F u D E"}}"#, "2017 2017 1 1 1 7 1 Sun"),
      (#"{{date (parseDate "2018-12-31T00:00:00Z") format="yyyy YYYY w W F u D E"}}"#, "2018 2019 1 6 5 1 365 Mon"),
      (#"{{date (parseDate "2019-12-29T00:00:00Z") format="yyyy YYYY w W F u D E"}}"#, "2019 2020 1 5 5 7 363 Sun"),
      (#"{{date (parseDate "2020-02-29T00:00:00Z") format="yyyy YYYY w W F u D E"}}"#, "2020 2020 9 5 5 6 60 Sat"),
      (#"{{date (parseDate "2016-12-31T00:00:00Z") format="yyyy YYYY w W F u D E"}}"#, "2016 2016 53 5 5 6 366 Sat"),
    ])
  func weeks(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "shifts dates",
    arguments: [
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="1 months"}}"#, "2018-02-28T09:05:03Z"),
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="now -3 years"}}"#, "2015-01-31T09:05:03Z"),
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="+5 seconds"}}"#, "2018-01-31T09:05:08Z"),
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="-2 DAYS"}}"#, "2018-01-29T09:05:03Z"),
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="3 hours"}}"#, "2018-01-31T12:05:03Z"),
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="90 minutes" format="HH:mm"}}"#, "10:35"),
      (#"{{date (parseDate "2018-01-31T09:05:03Z") offset="now"}}"#, "2018-01-31T09:05:03Z"),
      (#"{{date (parseDate "2016-02-29T00:00:00Z") offset="-1 years"}}"#, "2015-02-28T00:00:00Z"),
    ])
  func offsets(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "prints dates in time zones",
    arguments: [
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Europe/Paris]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Paris]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Paris]")}}"#,
        "CEST Central European Summer Time +0200 +02:00 +02 CET Central European Standard Time 2018-12-08T09:05:03+01:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Europe/London]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/London]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/London]")}}"#,
        "BST British Summer Time +0100 +01:00 +01 GMT Greenwich Mean Time 2018-12-08T08:05:03Z"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[America/New_York]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/New_York]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/New_York]")}}"#,
        "EDT Eastern Daylight Time -0400 -04:00 -04 EST Eastern Standard Time 2018-12-08T03:05:03-05:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Australia/Sydney]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Australia/Sydney]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Australia/Sydney]")}}"#,
        "AEST Australian Eastern Standard Time +1000 +10:00 +10 AEDT Australian Eastern Daylight Time 2018-12-08T19:05:03+11:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Asia/Tokyo]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Tokyo]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Tokyo]")}}"#,
        "JST Japan Standard Time +0900 +09:00 +09 JST Japan Standard Time 2018-12-08T17:05:03+09:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Asia/Kolkata]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Kolkata]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Kolkata]")}}"#,
        "IST India Standard Time +0530 +05:30 +05 IST India Standard Time 2018-12-08T13:35:03+05:30"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[America/Los_Angeles]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/Los_Angeles]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/Los_Angeles]")}}"#,
        "PDT Pacific Daylight Time -0700 -07:00 -07 PST Pacific Standard Time 2018-12-08T00:05:03-08:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Europe/Athens]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Athens]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Athens]")}}"#,
        "EEST Eastern European Summer Time +0300 +03:00 +03 EET Eastern European Standard Time 2018-12-08T10:05:03+02:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[UTC]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[UTC]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[UTC]")}}"#,
        "UTC Coordinated Universal Time +0000 Z Z UTC Coordinated Universal Time 2018-12-08T08:05:03Z"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[GMT]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[GMT]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[GMT]")}}"#,
        "GMT Greenwich Mean Time +0000 Z Z GMT Greenwich Mean Time 2018-12-08T08:05:03Z"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[+05:30]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[+05:30]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[+05:30]")}}"#,
        "GMT+05:30 GMT+05:30 +0530 +05:30 +05 GMT+05:30 GMT+05:30 2018-12-08T13:35:03+05:30"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Z]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Z]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Z]")}}"#,
        "UTC Coordinated Universal Time +0000 Z Z UTC Coordinated Universal Time 2018-12-08T08:05:03Z"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Europe/Lisbon]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Lisbon]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Lisbon]")}}"#,
        "WEST Western European Summer Time +0100 +01:00 +01 WET Western European Standard Time 2018-12-08T08:05:03Z"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[America/Chicago]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/Chicago]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/Chicago]")}}"#,
        "CDT Central Daylight Time -0500 -05:00 -05 CST Central Standard Time 2018-12-08T02:05:03-06:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Europe/Moscow]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Moscow]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Moscow]")}}"#,
        "MSK Moscow Standard Time +0300 +03:00 +03 MSK Moscow Standard Time 2018-12-08T11:05:03+03:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Asia/Shanghai]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Shanghai]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Shanghai]")}}"#,
        "CST China Standard Time +0800 +08:00 +08 CST China Standard Time 2018-12-08T16:05:03+08:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Europe/Berlin]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Berlin]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Europe/Berlin]")}}"#,
        "CEST Central European Summer Time +0200 +02:00 +02 CET Central European Standard Time 2018-12-08T09:05:03+01:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Pacific/Auckland]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Pacific/Auckland]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Pacific/Auckland]")}}"#,
        "NZST New Zealand Standard Time +1200 +12:00 +12 NZDT New Zealand Daylight Time 2018-12-08T21:05:03+13:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[America/Denver]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/Denver]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[America/Denver]")}}"#,
        "MDT Mountain Daylight Time -0600 -06:00 -06 MST Mountain Standard Time 2018-12-08T01:05:03-07:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Asia/Singapore]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Singapore]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Singapore]")}}"#,
        "SGT Singapore Standard Time +0800 +08:00 +08 SGT Singapore Standard Time 2018-12-08T16:05:03+08:00"
      ),
      (
        #"{{date (parseDate "2018-07-08T09:05:03+02:00[Asia/Hong_Kong]") format="z zzzz Z XXX X"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Hong_Kong]") format="z zzzz"}} {{date (parseDate "2018-12-08T09:05:03+01:00[Asia/Hong_Kong]")}}"#,
        "HKT Hong Kong Standard Time +0800 +08:00 +08 HKT Hong Kong Standard Time 2018-12-08T16:05:03+08:00"
      ),
    ])
  func zones(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "truncates dates",
    arguments: [
      (#"{{truncateDate (parseDate "2018-10-08T09:05:03Z") "first day of month"}}"#, "2018-10-01T00:00:00Z"),
      (#"{{truncateDate (parseDate "2018-10-08T09:05:03+05:00") "first hour of day"}}"#, "2018-10-08T00:00:00+05:00"),
      (#"{{truncateDate (parseDate "2018-12-08T09:05:03Z") "first day of next month"}}"#, "2019-01-01T00:00:00Z"),
      (#"{{truncateDate (parseDate "2018-02-08T09:05:03Z") "last day of month"}}"#, "2018-02-28T00:00:00Z"),
      (#"{{truncateDate (parseDate "2018-02-08T09:05:03Z") "first minute of hour"}}"#, "2018-02-08T09:00:00Z"),
      (#"{{truncateDate (parseDate "2018-02-08T09:05:03Z") "first second of minute"}}"#, "2018-02-08T09:05:00Z"),
      (#"{{truncateDate (parseDate "2018-02-08T09:05:03Z") "FIRST_DAY_OF_NEXT_YEAR"}}"#, "2019-01-01T00:00:00Z"),
      (#"{{truncateDate (parseDate "2018-02-08T09:05:03Z") "first day of year"}}"#, "2018-01-01T00:00:00Z"),
      (#"{{truncateDate (parseDate "2018-02-08T09:05:03Z") "last day of year"}}"#, "2018-12-31T00:00:00Z"),
      (
        #"{{truncateDate "x" "first day of month"}}"#,
        "[ERROR: A date object must be passed to the truncateDate helper]"
      ),
      ("{{truncateDate now}}", "[ERROR: Truncation type must be specified as the first parameter to truncateDate]"),
      (
        #"{{date (truncateDate (parseDate "2018-02-08T09:05:03Z") "first day of month") offset="-1 days" format="yyyy-MM-dd"}}"#,
        "2018-01-31"
      ),
    ])
  func truncation(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "prints dates in styles",
    arguments: [
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z")}}"#, "Oct 8, 2018"),
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "full"}}"#, "Monday, October 8, 2018"),
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "long"}}"#, "October 8, 2018"),
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "short"}}"#, "10/8/18"),
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "medium" time="short"}}"#, "Oct 8, 2018, 9:05 AM"),
      (
        #"{{dateFormat (parseDate "2018-10-08T19:05:03Z") format="full" time="full" tz="America/New_York"}}"#,
        "Monday, October 8, 2018 at 3:05:03 PM Eastern Daylight Time"
      ),
      (
        #"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "yyyy-MM-dd HH:mm:ss.SSS xxx VV z a E EEEE" tz="Europe/Paris"}}"#,
        "2018-10-08 11:05:03.000 +02:00 Europe/Paris CEST AM Mon Monday"
      ),
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "medium" time="medium"}}"#, "Oct 8, 2018, 9:05:03 AM"),
      (#"{{dateFormat (parseDate "2018-10-08T09:05:03Z") "long" time="long"}}"#, "October 8, 2018 at 9:05:03 AM UTC"),
      (
        #"{{dateFormat (parseDate "2018-10-08T09:05:03.25Z") "S SS n X x xx Z yy u" tz="Asia/Kolkata"}}"#,
        "2 25 250000000 +0530 +0530 +0530 +0530 18 2018"
      ),
    ])
  func styles(template: String, text: String) throws {
    #expect(try TemplateSamples.render(template) == text)
  }

  @Test(
    "fails where WireMock answers 500",
    arguments: [
      #"{{parseDate "x" format="unix"}}"#,
      "{{parseDate missing}}",
      #"{{date (parseDate "2018-10-08T09:05:03Z") format="b"}}"#,
      #"{{date (parseDate "2018-10-08T09:05:03Z") format="yyyy-MM-dd'T"}}"#,
      #"{{date (parseDate "2018-01-31T09:05:03Z") offset="1 weeks"}}"#,
      #"{{date (parseDate "2018-01-31T09:05:03Z") offset="1"}}"#,
      #"{{date (parseDate "2018-01-31T09:05:03Z") offset="x days"}}"#,
      #"{{truncateDate (now) "x"}}"#,
      #"{{dateFormat "x" "yyyy"}}"#,
    ])
  func failures(template: String) {
    #expect(TemplateSamples.error(template)?.hasPrefix("body: line 1, column ") == true)
  }
}
