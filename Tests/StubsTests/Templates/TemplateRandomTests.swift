import Foundation
import Testing

struct TemplateRandomTests {
  @Test(
    "makes random values of a type and a length",
    arguments: [
      ("{{randomValue}}", "^[a-z0-9]{36}$"),
      ("{{randomValue length=5 type='ALPHANUMERIC'}}", "^[a-z0-9]{5}$"),
      ("{{randomValue length=5 type='ALPHABETIC' uppercase=true}}", "^[A-Z]{5}$"),
      ("{{randomValue length=8 type='NUMERIC'}}", "^[0-9]{8}$"),
      ("{{{randomValue length=50 type='ALPHANUMERIC_AND_SYMBOLS'}}}", "^[!-}&&[^A-Z]]{50}$"),
      ("{{randomValue length=6 type='HEXADECIMAL'}}", "^[0-9a-f]{6}$"),
      ("{{randomValue length=6 type='HEXADECIMAL' uppercase=true}}", "^[0-9A-F]{6}$"),
      ("{{randomValue type='UUID'}}", "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"),
      ("{{{randomValue length=9 type='OTHER'}}}", "^[ -~]{9}$"),
      ("{{randomValue length=0}}", "^$"),
      ("{{randomInt}}", "^-?[0-9]{1,10}$"),
      ("{{randomInt lower=5 upper=7}}", "^[56]$"),
      ("{{randomInt lower='-3' upper=-2}}", "^-3$"),
      ("{{randomDecimal lower=-2.5 upper=-1}}", #"^-[12]\.[0-9]+$"#),
      ("{{pickRandom 'a' 'b' 3}}", "^[ab3]$"),
      ("{{pickRandom parameters.list}}", "^[abc]$"),
    ])
  func values(template: String, pattern: String) throws {
    #expect(try TemplateSamples.render(template).contains(Regex(pattern)))
  }

  @Test("draws the same values in the same order each time")
  func repetition() throws {
    let template =
      "{{randomValue type='UUID'}} {{randomInt}} {{randomDecimal}} {{pickRandom 1 2 3}} {{randomValue}} {{now}}"
    let first = try TemplateSamples.render(template)
    #expect(try TemplateSamples.render(template) == first)
    let pieces = first.split(separator: " ")
    #expect(Set(pieces).count == pieces.count)
  }

  @Test("uses all characters of a type")
  func characters() throws {
    for (type, count) in [("ALPHANUMERIC", 36), ("NUMERIC", 10), ("ALPHABETIC", 26), ("HEXADECIMAL", 16)] {
      let text = try TemplateSamples.render("{{randomValue length=2000 type='\(type)'}}")
      #expect(Set(text).count == count, "\(type)")
    }
  }

  @Test("covers a whole range evenly")
  func distribution() throws {
    let text = try TemplateSamples.render("{{#each (range 1 1000)}}{{randomInt lower=0 upper=10}}{{/each}}")
    for digit in "0123456789" { #expect(50...150 ~= text.count { $0 == digit }) }
  }

  @Test(
    "refuses an empty range",
    arguments: ["{{randomInt lower=3 upper=3}}", "{{randomDecimal lower=3 upper=2}}", "{{randomValue length=-1}}"])
  func emptyRange(template: String) {
    #expect(TemplateSamples.error(template) != nil)
  }

  @Test("uses the given time and no other")
  func now() throws {
    let now = Date(timeIntervalSince1970: 951_782_400.5)
    #expect(
      try TemplateSamples.render(
        "{{now}} {{now offset='1 years'}} {{now format='epoch'}} {{now format='unix'}} "
          + "{{now timezone='Asia/Tokyo'}} {{date format='HH:mm:ss.SSS' timezone='GMT+2'}} "
          + "{{now timezone='GMT' format='EEE, dd MMM yyyy HH:mm:ss z'}}", now: now)
        == "2000-02-29T00:00:00Z 2001-02-28T00:00:00Z 951782400500 951782400 2000-02-29T09:00:00+09:00 02:00:00.500 "
        + "Tue, 29 Feb 2000 00:00:00 GMT")
  }
}
