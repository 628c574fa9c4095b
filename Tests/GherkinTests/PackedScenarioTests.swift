import Gherkin
import Testing

@Suite("Scenarios in one string")
struct PackedScenarioTests {
  private func expectSame(_ scenario: PackedScenario, _ place: SourceLocation = #_sourceLocation) {
    #expect(PackedScenario(packed: scenario.packed) == scenario, sourceLocation: place)
  }

  private let step = PackedScenario.Step(keyword: "When ", type: .action, text: "she books", line: 4, column: 5)

  @Test("are read as they were written")
  func everything() {
    var table = step
    table.table = [["name", "note"], ["a|b", ""], ["c\\d", "e\\p\nf"]]
    var docString = step
    docString.docString = "{\r\n\t\"a\": [1] }\u{0}"
    docString.mediaType = "json"
    var empty = step
    empty.docString = ""
    expectSame(
      PackedScenario(
        name: "books|a \\ slot\\", rule: "all | rules", language: "de", line: 3, column: 7, tags: ["@a:b|c", "@d\\"],
        row: ["", "s", "|", "\\"], steps: [step, table, docString, empty]))
  }

  @Test("tell a rule without a name from no rule")
  func rules() {
    expectSame(PackedScenario(name: "", line: 1, column: 1, steps: []))
    expectSame(PackedScenario(name: "", rule: "", line: 1, column: 1, steps: []))
  }

  @Test("keep characters that combine with the separator", arguments: ["\u{301}", "\u{600}", "\u{200D}", "\u{20E3}"])
  func combining(mark: String) {
    var combining = step
    combining.text = mark
    combining.table = [[mark, "|\(mark)"], ["\(mark)|\(mark)", "\\\(mark)"]]
    combining.docString = "\(mark)\\\(mark)"
    expectSame(
      PackedScenario(
        name: mark, rule: "\(mark)|", line: 1, column: 1, tags: ["@\(mark)"], row: [mark, "\\"], steps: [combining]))
  }

  @Test("keep what the syntax tree of Cucumber's test data has", arguments: GherkinFixture.good)
  func testData(_ fixture: GherkinFixture) throws {
    let document = try GherkinParser().parse(fixture.text(), uri: fixture.uri)
    for scenario in PackedScenario.all(in: document) { expectSame(scenario) }
  }

  @Test("come with their rule, their row, and the tags from the feature's to the examples'")
  func document() throws {
    let text = """
      # language: en
      @feature
      Feature: Booking
        Background:
          Given a clinic

        @rule
        Rule: Slots
          @scenario
          Scenario Outline: <who> books
            When <who> books "<slot>"
              | <who> |

            @examples
            Examples:
              | who | slot |
              | Ada | 9:00 |
              | Bob | 9:20 |
      """
    let scenarios = PackedScenario.all(in: try GherkinParser().parse(text, uri: "a.feature"))
    #expect(scenarios.map(\.name) == ["Ada books", "Bob books"])
    #expect(scenarios.map(\.line) == [17, 18])
    #expect(scenarios.map(\.rule) == ["Slots", "Slots"])
    #expect(scenarios.map(\.row) == [["Ada", "9:00"], ["Bob", "9:20"]])
    #expect(scenarios.map(\.tags) == Array(repeating: ["@feature", "@rule", "@scenario", "@examples"], count: 2))
    let last = try #require(scenarios.last)
    #expect(last.steps.map(\.keyword) == ["Given ", "When "])
    #expect(last.steps.map(\.text) == ["a clinic", "Bob books \"9:20\""])
    #expect(last.steps.map(\.line) == [5, 11])
    #expect(last.steps.last?.table == [["Bob"]])
  }

  @Test(
    "are rejected if they are broken",
    arguments: [
      "", "name", "name||", "name|||en|x|1|", "name|||en|1|1", "name|||en|1|1||x", "name|||en|1|1||r|2|a",
      "name|||en|1|1||r|-1", "name|||en|1|1||t|1|1|a", "name|||en|1|1||d|text", "name|||en|1|1||m|json",
      "name|||en|1|1||s|When |Action|text|1", "name|||en|1|1||s|When |None|text|1|1",
      "name|||en|1|1||s|When |Action|text|1|1|t|2|2|a|b|c",
      "name|||en|1|1||s|When |Action|text|1|1|t|9223372036854775807|2|a",
    ])
  func broken(packed: String) {
    #expect(PackedScenario(packed: packed) == nil)
  }
}
