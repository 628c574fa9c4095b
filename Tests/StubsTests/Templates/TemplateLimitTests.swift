import Basics
import Stubs
import Testing

struct TemplateLimitTests {
  @Test(
    "ends templates that grow too much with one error",
    arguments: [
      "{{#each (range 1 1000)}}{{#each (range 1 1000)}}{{#each (range 1 1000)}}x{{/each}}{{/each}}{{/each}}",
      "{{#assign 'x'}}0123456789{{/assign}}"
        + String(repeating: "{{#assign 'x'}}{{x}}{{x}}{{x}}{{x}}{{/assign}}", count: 40) + "{{x}}",
      "{{#each (range 1 100000)}}{{ljust 'x' size=10000}}{{/each}}",
      "{{ljust 'x' size=2000000000}}", "{{rjust 'x' size='2147483647' pad='é'}}", "{{randomValue length=2000000000}}",
      "{{stringFormat '%999999999s' 'x'}}", "{{stringFormat '%99999999999999999999s' 'x'}}",
      "{{stringFormat '%.999999999f' 1.5}}",
      "{{range 1 2000000000}}", "{{range -2147483648 2147483647}}",
      "{{#each (range 1 2000)}}{{val (array this x) assign='x'}}{{/each}}",
      "{{val (range 1 10) assign='x'}}" + String(repeating: "{{val (array x x x x) assign='x'}}", count: 30) + "{{x}}",
      "{{replace (ljust 'x' size=100000 pad='x') 'x' (ljust 'y' size=100000)}}",
      "{{replace (ljust 'x' size=100000 pad='x') '' (ljust 'y' size=100000)}}",
      "{{join (range 1 100000) (ljust 'y' size=100000)}}",
      "{{matches (ljust 'a' size=40 pad='a') '(a+)+[bc]'}}", "{{regexExtract (ljust 'a' size=40 pad='a') '(a+)+[bc]'}}",
      "{{now offset='2147483647 years'}}", "{{parseDate '99999999999999999' format='epoch'}}",
      "{{math '99999999999999999999999999999999999999' '*' '99999999999999999999999999999999999999'}}",
    ])
  func growth(template: String) {
    // Without limits most of them would not end.
    #expect(TemplateSamples.error(template) != nil)
  }

  @Test(
    "accepts the largest numbers",
    arguments: [
      "{{wordWrap 'a b c' 1e99}}", "{{wordWrap '  a b c' 99999999999999999999}}",
      "{{#each (array 1 2) base=99999999999999999999}}{{@index_1}}{{/each}}",
      "{{randomInt lower=-99999999999999999999 upper=99999999999999999999}}",
      "{{numberFormat 99999999999999999999 maximumIntegerDigits=99999999999 minimumFractionDigits=99999999999}}",
      "{{numberFormat 0.00000000000000000001 '0.0%' maximumFractionDigits=0}}", "{{isEven 99999999999999999999}}",
      "{{substring 'abc' 0 -99999999999999999999}}", "{{abbreviate 'abc' 99999999999999999999}}",
      "{{range 99999999999999999999 99999999999999999999}}", "{{arrayRemove (array) position=-1}}",
      "{{math '99999999999999999999999999999999999999' '/' '-0.00000000000000000001'}}", "{{math 1 '%' '1e-300'}}",
      "{{stringFormat '%x %,d %c' -1 -99999 99999999999999999999}}", "{{now offset='-2147483648 days'}}",
      "{{parseDate '999999999' format='yyyyyyyyy'}}", "{{parseDate '-6000000000000000' format='epoch'}}",
      "{{date (parseDate '6000000000000000' format='epoch') format='YYYY w W D F'}}",
      "{{truncateDate (parseDate '6000000000000000' format='epoch') 'first day of next year'}}",
    ])
  func extremes(template: String) {
    // Each ends with a text or an error.
    _ = TemplateSamples.error(template)
  }

  @Test("parses 100 nested blocks or expressions, and refuses more")
  func depth() throws {
    func blocks(_ count: Int) -> String {
      String(repeating: "{{#if parameters.flag}}", count: count) + "x" + String(repeating: "{{/if}}", count: count)
    }
    func calls(_ count: Int) -> String {
      "{{upper " + String(repeating: "(upper ", count: count) + "'x'" + String(repeating: ")", count: count) + "}}"
    }
    func chain(_ count: Int) -> String {
      "{{#if parameters.off}}" + String(repeating: "{{else if parameters.off}}", count: count) + "{{else}}x{{/if}}"
    }
    #expect(try TemplateSamples.render(blocks(100)) == "x")
    #expect(try TemplateSamples.render(calls(100)) == "X")
    #expect(try TemplateSamples.render(chain(99)) == "x")
    for template in [blocks(101), blocks(100_000), calls(101), calls(100_000), chain(100), chain(100_000)] {
      #expect(TemplateSamples.error(template)?.contains("are nested more than 100 deep") == true)
    }
  }

  @Test("renders a text without tags as itself, also a large one")
  func plainText() throws {
    let text = String(repeating: "{ plain } ", count: 2_000_000)
    #expect(try Template(text, name: "body").isPlain)
    #expect(try TemplateSamples.render(text) == text)
    #expect(try TemplateSamples.render("") == "")
  }

  @Test("parses a template of 900 KB, in time that grows with its size")
  func largeTemplate() throws {
    let text = String(repeating: "{\"id\": \"{{parameters.name}}\"} {{! c }} \\{{x}} ", count: 20_000)
    // In quadratic time it would not end soon.
    #expect(try !Template(text, name: "body").isPlain)
  }

  @Test("survives 20,000 mutated templates")
  func mutations() throws {
    var random = SeededGenerator(state: 16)
    let pieces = [
      "{{", "}}", "{{{", "}}}", "{{{{", "}}}}", "{{#", "{{/", "{{^", "{{~", "~}}", "\\{{", "{{!--", "--}}", "else",
      "as |x|",
      "\"", "'", "(", ")", "[", "]", "../", "./", ".", "@index", "this", "=", "|", "1", "-2.5", "true", "\u{301}", "é",
      "\0",
      "😀", "if ", "each ", "parameters", "request.body",
    ]
    let seeds = [
      "{{#each parameters.people as |p i|}}{{p.n}}{{#if @last}}{{else if i}},{{else}};{{/if}}{{/each}}",
      "{{date (parseDate \"2018-10-08T09:05:03Z\") offset=\"3 days\" format=\"yyyy-MM-dd'T'HH:mm\"}}",
      "{{{jsonPath request.body '$.o'}}} {{math 10 '/' 4}} {{numberFormat 1234.5 '#,##0.00' roundingMode='UP'}}",
      "{{#with parameters.nested}}{{deep.v.[1]}}{{../request.path.[0]}}{{/with}} {{{{raw}}}}{{x}}{{{{/raw}}}}",
      "{{stringFormat '%5d|%-5s|%.2f' 42 'a' 3.5}} {{substring 'abcdef' 1 3}} {{wordWrap parameters.text 5}}",
      "{{#assign 'v'}}{{upper parameters.name}}{{/assign}}{{v}} {{regexExtract 'a1' '([a-z])([0-9])' 'g'}}{{g.[1]}}",
      "{{parseDate '08/10/18' format='dd/MM/yy'}} {{dateFormat (now) 'full' time='short' tz='Europe/Paris'}}",
      "{{center 'abc' size=9 pad='xy'}} {{range 1 5}} {{join (array 1 2) '-'}} {{randomValue length=3}} {{size 'x'}}",
    ]
    let helpers = TemplateSamples.helpers
    var count = 0
    for _ in 0..<20_000 {
      var units = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].unicodeScalars)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let at = Int.random(in: 0...units.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
          units.insert(contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &random)].unicodeScalars, at: at)
        case 1: units.removeSubrange(at..<min(units.count, at + Int.random(in: 0...5, using: &random)))
        case 2:
          units.insert(contentsOf: helpers[Int.random(in: 0..<helpers.count, using: &random)].unicodeScalars, at: at)
        case 3: units.insert(contentsOf: units[..<at].suffix(20), at: at)
        default:
          let digits = String(Int.random(in: -3...99_999_999_999, using: &random))
          units.insert(contentsOf: digits.unicodeScalars, at: at)
        }
      }
      if TemplateSamples.error(String(String.UnicodeScalarView(units))) == nil { count += 1 }
    }
    // Some are still valid, so that rendering is tested, too.
    #expect(count > 1_000)
  }
}
