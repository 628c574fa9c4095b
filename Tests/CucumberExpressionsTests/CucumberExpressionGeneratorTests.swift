import CucumberExpressions
import Testing

@Suite("Suggested Cucumber Expressions")
struct CucumberExpressionGeneratorTests {
  private var registry = ParameterTypeRegistry()

  private mutating func define(_ name: String, _ regexp: String, isPreferential: Bool = false) throws {
    try registry.define(ParameterType(name, regexp, preferForRegexpMatch: isPreferential) { $0 })
  }

  private func sources(_ text: String) throws -> [String] {
    try CucumberExpressionGenerator(registry).expressions(for: text).map(\.source)
  }

  private func expect(_ text: String, _ source: String, _ names: [String]) throws {
    let suggestion = try #require(try CucumberExpressionGenerator(registry).expressions(for: text).first)
    #expect(suggestion.source == source)
    #expect(suggestion.parameterNames == names)
    #expect(try CucumberExpression(suggestion.source, registry).match(text)?.count == names.count)
  }

  @Test(
    "have parameters for numbers and quoted texts, and match the step",
    arguments: [
      ("I have 2 cucumbers and 1.5 tomato", "I have {int} cucumbers and {float} tomato", ["int", "float"]),
      ("hello", "hello", []), ("(iii)", #"\(iii)"#, []), ("{iii}", #"\{iii}"#, []),
      (#"C:\temp"#, #"C:\\temp"#, []),
      ("The 1814/05/17 hey", #"The {int}\/{int}\/{int} hey"#, ["int", "int2", "int3"]),
      ("Some $5000.00 of cukes at 42° Celsius", "Some ${float} of cukes at {int}° Celsius", ["float", "int"]),
      ("i18n", "i18n", []), ("I like \"bangers\" and 'mash'", "I like {string} and {string}", ["string", "string2"]),
      ("I am 20% foobar", "I am {int}% foobar", ["int"]), ("99999", "{int}", ["int"]), ("", "", []),
      ("😀 2 is 2😀", "😀 {int} is 2😀", ["int"]),
    ])
  func matchStep(_ text: String, _ source: String, _ names: [String]) throws {
    try expect(text, source, names)
  }

  @Test("have custom parameter types, whose names are numbered if they repeat or are reserved")
  mutating func useCustomTypes() throws {
    try define("currency", "[A-Z]{3}")
    try expect(
      "I have a EUR account and a GBP account", "I have a {currency} account and a {currency} account",
      ["currency", "currency2"])
    try define("class", "first|second")
    try expect("I sit in first", "I sit in {class}", ["class1"])
  }

  @Test("have parameters for whole words only")
  mutating func needBoundaries() throws {
    try define("direction", "(up|down)")
    try expect("I like muppets", "I like muppets", [])
    try expect("it went up and down", "it went {direction} and {direction}", ["direction", "direction2"])
  }

  @Test("prefer the first match, then the longest")
  mutating func preferFirst() throws {
    try define("right", "c d")
    try define("left", "b c")
    try expect("a b c d e f g", "a {left} d e f g", ["left"])
    try define("airport", "[A-Z]{3}")
    try define("leg", "[A-Z]{3}-[A-Z]{3}")
    try expect("leg LHR-CDG", "leg {leg}", ["leg"])
  }

  @Test("have all combinations of matching types, preferential ones first")
  mutating func combine() throws {
    try define("date", "x")
    try define("currency", "x", isPreferential: true)
    #expect(
      try sources("I have x and x and another x") == [
        "I have {currency} and {currency} and another {currency}",
        "I have {currency} and {currency} and another {date}",
        "I have {currency} and {date} and another {currency}",
        "I have {currency} and {date} and another {date}",
        "I have {date} and {currency} and another {currency}",
        "I have {date} and {currency} and another {date}",
        "I have {date} and {date} and another {currency}",
        "I have {date} and {date} and another {date}",
      ])
  }

  @Test("skip empty matches")
  mutating func skipEmpty() throws {
    try define("zero-or-more", "[a-z]*")
    try define("exactly-one", "[a-z]")
    #expect(
      try sources("a simple step") == [
        "{exactly-one} {zero-or-more} {zero-or-more}", "{zero-or-more} {zero-or-more} {zero-or-more}",
      ])
    try define("optional-flight", "(1st flight)?")
    #expect(try sources("4: 1st flight -1 hotel")[0] == "{int}: {optional-flight} {int} {zero-or-more}")
  }

  @Test("are at most 256")
  mutating func areLimited() throws {
    for index in 0..<4 { try define("my-type-\(index)", "[a-z]") }
    let sources = try sources("a b c d e f g h i j k")
    #expect(sources.count == 256)
    #expect(sources.first == Array(repeating: "{my-type-0}", count: 11).joined(separator: " "))
    #expect(Set(sources).count == 256)
  }
}
