import CucumberExpressions
import Testing

@Suite("A Cucumber Expression")
struct CucumberExpressionTests {
  private var registry = ParameterTypeRegistry()

  @Test("gives the value, text and place of each parameter")
  func hasArguments() throws {
    let text = "😀 I have 7 \"green\" cukes"
    let arguments = try #require(try CucumberExpression("😀 I have {int} {string} cuke(s)", registry).match(text))
    #expect(try arguments.map { try $0.value as? AnyHashable } == [7, "green"])
    let groups = arguments.map(\.group)
    #expect(groups.map(\.text) == ["7", "\"green\""])
    #expect(groups.compactMap(\.range).map { String(text[$0]) } == ["7", "\"green\""])
    #expect(groups[1].children.map(\.text) == ["green", nil])
    #expect(groups[1].children.map { $0.range.map { String(text[$0]) } } == ["green", nil])
    #expect(arguments.map(\.parameterType.name) == ["int", "string"])
  }

  @Test("matches whole texts only", arguments: ["I have 7 cukes\n", "And I have 7 cukes", "I have 7 cukess"])
  func matchesWhole(_ text: String) throws {
    #expect(try CucumberExpression("I have {int} cuke(s)", registry).match(text) == nil)
  }

  @Test("accepts digits of all scripts")
  func takesDigits() throws {
    let expression = try CucumberExpression("{int} {float} {biginteger}", registry)
    let arguments = try #require(try expression.match("٣٤ -٣.٤ ٣"))
    #expect(try arguments[0].value as? Int == 34)
    #expect(try arguments[1].value as? Double == -3.4)
    #expect(try arguments[2].value as? String == "٣")
  }

  @Test("reports an integer that is too large when its value is read")
  func reportsOverflow() throws {
    let argument = try #require(try CucumberExpression("{byte}", registry).match("128")?.first)
    let error = #expect(throws: ExpressionError.self) { try argument.value }
    #expect(
      error?.message
        == "ParameterType {byte} failed to transform [128] to Int8: "
        + "'128' is not a valid Int8; expected an integer from -128 to 127")
  }

  @Test("names an undefined parameter type")
  func namesUndefinedType() throws {
    let error = #expect(throws: ExpressionError.self) { try CucumberExpression("a {color} ball", registry) }
    #expect(error?.undefinedParameterType == "color")
  }

  @Test("reports a search that takes too many steps", .timeLimit(.minutes(1)))
  func reportsSlowSearch() throws {
    let expression = try CucumberExpression(String(repeating: "{}", count: 12), registry)
    let text = String(repeating: "a", count: 200)
    #expect(try expression.match(text)?.first?.group.text == text)
    let error = #expect(throws: ExpressionError.self) { try expression.match(text + "\n") }
    #expect(error?.message.hasSuffix("avoid adjacent or nested repetitions") == true)
  }

  @Test(
    "parses long texts without deep recursion, in linear time", .timeLimit(.minutes(1)),
    arguments: ["(", "}", "a/", "{int}", "(a)", "\\(", " "])
  func parsesLong(_ part: String) {
    let text = String(repeating: part, count: 100_000)
    do { _ = try Node.parse(text) } catch { #expect(error.message.hasPrefix("This Cucumber Expression has a problem")) }
  }
}

@Suite("A custom parameter type")
struct ParameterTypeTests {
  struct Color: Equatable { let name: String }
  struct CSSColor: Equatable { let name: String }
  struct Coordinate: Equatable { let x, y, z: Int }
  struct Failure: Error {}
  enum Shade: String, CaseIterable {
    case dark
    case darkRed = "dark red"
    case odd = "a+b"
  }

  private var registry: ParameterTypeRegistry

  init() throws {
    registry = ParameterTypeRegistry()
    try registry.define(ParameterType("color", "red|blue|yellow", useForSnippets: false) { Color(name: $0) })
  }

  private func values(_ expression: String, _ text: String) throws -> [Any?] {
    try #require(try CucumberExpression(expression, registry).match(text)).map { try $0.value }
  }

  @Test("transforms the text")
  func transforms() throws {
    #expect(try values("I have a {color} ball", "I have a red ball").first as? Color == Color(name: "red"))
  }

  @Test("transforms several groups")
  mutating func transformsGroups() throws {
    try registry.define(
      ParameterType(
        "coordinate", capturing: #"(\d+),\s*(\d+),\s*(\d+)"#
      ) { values in
        let numbers = values.map { $0.flatMap { Int($0) } ?? 0 }
        return Coordinate(x: numbers[0], y: numbers[1], z: numbers[2])
      })
    let values = try values(
      "A {int} thick line from {coordinate} to {coordinate}", "A 5 thick line from 10,20,30 to 40,50,60")
    #expect(values[0] as? Int == 5)
    #expect(values[1] as? Coordinate == Coordinate(x: 10, y: 20, z: 30))
    #expect(values[2] as? Coordinate == Coordinate(x: 40, y: 50, z: 60))
  }

  @Test("returns nil for groups that did not participate in the match")
  mutating func givesNil() throws {
    try registry.define(ParameterType("textAndOrNumber", capturing: "([A-Z]+)?(?: )?([0-9]+)?") { $0 })
    #expect(try values("{textAndOrNumber}", "TLA").first as? [String?] == ["TLA", nil])
    #expect(try values("{textAndOrNumber}", "123").first as? [String?] == [nil, "123"])
  }

  @Test("matches any of several regular expressions")
  mutating func matchesSeveral() throws {
    try registry.define(
      ParameterType("shade", "red|blue|yellow", "(?:dark|light) (?:red|blue|yellow)") { Color(name: $0) })
    #expect(try values("I have a {shade} ball", "I have a dark red ball").first as? Color == Color(name: "dark red"))
  }

  @Test("can share its regular expression with another type")
  mutating func sharesExpression() throws {
    try registry.define(ParameterType("css-color", "red|blue|yellow") { CSSColor(name: $0) })
    #expect(try values("I have a {css-color} ball", "I have a blue ball").first as? CSSColor == CSSColor(name: "blue"))
    #expect(try values("I have a {color} ball", "I have a blue ball").first as? Color == Color(name: "blue"))
  }

  @Test("of an enum matches raw values or names")
  mutating func matchesCases() throws {
    enum Fruit: CaseIterable { case apple, pear }
    try registry.define(ParameterType("fruit", Fruit.self))
    try registry.define(ParameterType("shade", Shade.self))
    #expect(try values("{fruit}", "pear").first as? Fruit == .pear)
    #expect(try values("{shade}", "dark red").first as? Shade == .darkRed)
    #expect(try values("{shade}", "a+b").first as? Shade == .odd)
    #expect(try CucumberExpression("{shade}", registry).match("aab") == nil)
    #expect(
      try CucumberExpressionGenerator(registry).expressions(for: "a dark red pear")[0].source == "a {shade} {fruit}")
  }

  @Test("reports a failed transformation when the value is read")
  mutating func reportsFailure() throws {
    try registry.define(ParameterType("throwing", "bad") { _ -> Color in throw Failure() })
    let argument = try #require(
      try CucumberExpression("a {throwing} parameter", registry).match("a bad parameter")?.first)
    let error = #expect(throws: ExpressionError.self) { try argument.value }
    #expect(error?.message == "ParameterType {throwing} failed to transform [bad] to Color: Failure()")
  }

  @Test("cannot be defined if it is not valid")
  mutating func rejectsInvalid() throws {
    func message(_ body: () throws -> Void) -> String? {
      #expect(throws: ExpressionError.self, performing: body)?.message
    }
    #expect(
      message { _ = try ParameterType("(string)", ".*") { $0 } }
        == #"Illegal character in parameter name {(string)}. "#
        + #"Parameter names may not contain '{', '}', '(', ')', '\' or '/'"#)
    #expect(
      message { _ = try ParameterType("x", "a)(b") { $0 } }
        == "'a)(b' is not a valid regular expression; check its parentheses and quantifiers")
    #expect(
      message { _ = try ParameterType("x", "(a)(b)") { $0 } }
        == "ParameterType {x} has multiple capture groups [(a)(b)].\n"
        + "Write 'capturing:' before the regular expression to get all of them, or make them non-capturing: (?:…)")
    var registry = registry
    #expect(
      message { try registry.define(ParameterType("color", ".*") { $0 }) }
        == "There is already a parameter type with name color")
    #expect(
      message { try registry.define(ParameterType("", ".*") { $0 }) }
        == "The anonymous parameter type has already been defined")
    try registry.define(ParameterType("name", #"[A-Z]+\w+"#, preferForRegexpMatch: true) { $0 })
    try registry.define(ParameterType("person", #"[A-Z]+\w+"#) { $0 })
    #expect(
      message { try registry.define(ParameterType("place", #"[A-Z]+\w+"#, preferForRegexpMatch: true) { $0 }) }
        == """
        There can only be one preferential parameter type per regexp.
        The regexp /[A-Z]+\\w+/ is used for two preferential parameter types, {name} and {place}
        """)
  }
}
