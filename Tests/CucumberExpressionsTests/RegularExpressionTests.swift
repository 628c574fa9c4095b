import CucumberExpressions
import Testing

@Suite("A regular expression")
struct RegularExpressionTests {
  private var registry = ParameterTypeRegistry()

  private func values(_ expression: String, _ text: String) throws -> [AnyHashable?]? {
    try RegularExpression(expression, registry).match(text)?.map { try $0.value as? AnyHashable }
  }

  @Test("gives groups the parameter types with the same source, and makes strings of all others")
  func matches() throws {
    #expect(try values(#"I have (\d+) cukes? in my (\w+) now"#, "I have 7 cukes in my belly now") == [7, "belly"])
    #expect(try values("(.*)", "0.22") == ["0.22"])
    #expect(try values("^The value equals \"([^\"]*)\"$", "The value equals \"\"") == [""])
    #expect(try values(#"Across the line\(s\)"#, "Across the line(s)") == [])
    #expect(try values(#"(-?\d+) or (\d+)"#, "-1 or 2") == [-1, 2])
  }

  @Test("leaves out non-capturing groups")
  func ignoresNonCapturing() throws {
    let expression = #"(\S+) ?(can|cannot)? (?:delete|cancel) the (\d+)(?:st|nd|rd|th) (attachment|slide) ?(?:upload)?"#
    #expect(try values(expression, "I can cancel the 1st slide upload") == ["I", "can", 1, "slide"])
    let purchase = #"^a (pre-commercial transaction |pre buyer fee model )?purchase(?: for \$(\d+))?$"#
    #expect(try values(purchase, "a purchase for $33") == [nil, 33])
    #expect(try values(purchase, "a pre buyer fee model purchase") == ["pre buyer fee model ", nil])
  }

  @Test("uses the value of a group's only nested group")
  func takesNested() throws {
    #expect(try values("^a user( named \"([^\"]*)\")?$", "a user") == [nil])
    #expect(try values("^a user( named \"([^\"]*)\")?$", "a user named \"Charlie\"") == ["Charlie"])
  }

  @Test("must match the whole text")
  func matchesWhole() throws {
    #expect(try values("a|ab", "ab") == [])
    #expect(try values("a", "ab") == nil)
    #expect(try values("^a$", "a\n") == nil)
  }

  @Test("reports a group that contains several groups")
  func reportsGroups() throws {
    let expression = #"^from ((\d+),\s*(\d+))$"#
    let argument = try #require(try RegularExpression(expression, registry).match("from 10,20")?.first)
    #expect(argument.group.children.map(\.text) == ["10", "20"])
    let error = #expect(throws: ExpressionError.self) { try argument.value }
    #expect(
      error?.message == #"""
        Anonymous ParameterType has multiple capture groups [(\d+),\s*(\d+)].
        You can only use a single capture group in an anonymous ParameterType.
        """#)
  }

  @Test("prefers the preferential one of several parameter types")
  mutating func prefers() throws {
    try registry.define(ParameterType("name", #"[A-Z]+\w+"#) { $0 })
    try registry.define(ParameterType("person", #"[A-Z]+\w+"#, preferForRegexpMatch: true) { $0.uppercased() })
    #expect(try values(#"([A-Z]+\w+) and ([A-Z]+\w+)"#, "Lisa and Bob") == ["LISA", "BOB"])
  }

  @Test("suggests Cucumber Expressions if several parameter types match and none is preferential")
  mutating func reportsAmbiguity() throws {
    for name in ["name", "person", "place"] { try registry.define(ParameterType(name, #"[A-Z]+\w+"#) { $0 }) }
    let error = #expect(throws: ExpressionError.self) { try values(#"([A-Z]+\w+) and ([A-Z]+\w+)"#, "Lisa and Bob") }
    #expect(
      error?.message == #"""
        Your Regular Expression /([A-Z]+\w+) and ([A-Z]+\w+)/
        matches multiple parameter types with regexp /[A-Z]+\w+/:
           {name}
           {person}
           {place}

        I couldn't decide which one to use. You have two options:

        1) Use a Cucumber Expression instead of a Regular Expression. Try one of these:
           {name} and {name}
           {name} and {person}
           {name} and {place}
           {person} and {name}
           {person} and {person}
           {person} and {place}
           {place} and {name}
           {place} and {person}
           {place} and {place}

        2) Make one of the parameter types preferential and continue to use a Regular Expression.
        """#)
  }

  @Test(
    "knows how its groups nest",
    arguments: [
      ("(a(b(c))(d))", "abcd", "[abcd [bc [c]] [d]]"), ("a(?:b)(c)", "abc", "[c]"), ("a(?!b)(.+)", "aBc", "[Bc]"),
      ("a(?=b)(.+)", "abc", "[bc]"), ("a(.+)(?<=c)$", "abc", "[bc]"), ("a(.+)(?<!b)$", "abc", "[bc]"),
      ("a(?>b)(c)$", "abc", "[c]"), ("a(?<name>b)c$", "abc", "[b]"),
      ("Something( with an argument)?", "Something", "[-]"), ("the stdout(?: from \"(.*?)\")?", "the stdout", "[-]"),
      (#"(?:a)(:b)(\?c)(d)"#, "a:b?cd", "[:b] [?c] [d]"), (#"foo\\(bar|baz)"#, #"foo\bar"#, "[bar]"),
      (#"^(\d) (\w+) (\w+)$"#, "2 you привет", "[2] [you] [привет]"),
      ("^drawings: ([A-Z_, ()]+)$", "drawings: FU(BAR)", "[FU(BAR)]"), ("(?i)HELLO", "hello", ""),
      ("(?i:HELLO)", "hello", ""), ("()", "", "[]"), ("([](]+)([^](]+)([[(][a]]+)", "](b(a", "[](] [b] [(a]"),
    ])
  func nests(_ source: String, _ text: String, _ expected: String) throws {
    func outline(_ group: Argument.Group) -> String {
      "[\(([group.text ?? "-"] + group.children.map(outline)).joined(separator: " "))]"
    }
    let arguments = try #require(try RegularExpression(source, registry).match(text))
    #expect(arguments.map { outline($0.group) }.joined(separator: " ") == expected)
  }

  @Test(
    "is rejected if it is not valid, or its groups cannot be determined",
    arguments: [
      "a)(b", "(", "a{", #"\Q(a)\E"#, String(repeating: "(", count: 70) + String(repeating: ")", count: 70),
    ])
  func rejects(_ source: String) {
    #expect(throws: ExpressionError.self) { try RegularExpression(source, registry) }
  }
}

@Suite("An expression in a step definition")
struct StepExpressionTests {
  private let registry = ParameterTypeRegistry()

  @Test(
    "is a regular expression if it has anchors or slashes",
    arguments: [
      ("", nil), ("strings are cukexp by default", nil), ("^definitely a regexp$", "^definitely a regexp$"),
      ("/surely a regexp/", "surely a regexp"), ("this look(s) like a cukexp", nil),
      (#"a heavy storm forecast \(BF {int}+)"#, nil), ("the temperature is (+){int} degrees celsius", nil),
      ("^this looks like a regexp", "^this looks like a regexp"),
      ("this looks like a regexp$", "this looks like a regexp$"),
      ("/^please remove slashes$/", "^please remove slashes$"),
    ] as [(String, String?)])
  func isChosen(_ text: String, _ regularExpression: String?) throws {
    let expression = try registry.expression(text)
    #expect(expression.source == regularExpression ?? text)
    #expect((expression is RegularExpression) == (regularExpression != nil))
  }

  @Test("explains that Cucumber Expressions have no anchors")
  func explainsAnchors() {
    let error = #expect(throws: ExpressionError.self) {
      try registry.expression("^the seller has {int} strike(s)$")
    }
    #expect(
      error?.message == "You cannot use anchors (^ or $) in Cucumber Expressions. "
        + "Please remove them from ^the seller has {int} strike(s)$")
  }
}
