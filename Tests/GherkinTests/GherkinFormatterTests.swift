import Basics
import Gherkin
import Testing

@Suite("Formatted feature files")
struct GherkinFormatterTests {
  private func format(_ text: String, uri: String = "a.feature") throws -> String {
    try GherkinFormatter().format(text, uri: uri)
  }

  @Test("keep the syntax tree of Cucumber's test data, and are then stable", arguments: GherkinFixture.good)
  func testData(_ fixture: GherkinFixture) throws {
    let text = try fixture.text()
    let formatted = try format(text, uri: fixture.uri)
    let document = try GherkinParser().parse(text, uri: fixture.uri)
    let again = try GherkinParser().parse(formatted, uri: fixture.uri)
    #expect(
      try Envelope.gherkinDocument(again).json().withoutPlaces
        == Envelope.gherkinDocument(document).json().withoutPlaces)
    #expect(try format(formatted, uri: fixture.uri) == formatted)
  }

  @Test("have two spaces per level, aligned columns, and an empty line before each block")
  func layout() throws {
    let text = """
      # A file.
      #language: en
      @slow
         @shop   @cart#1  #not now
      Feature:Shop
          As a customer
            I buy things.
      # not yet

      # why
      Background:
      Given a shop


      And a cart
      Rule: Cheap things
      Background:
      Given   money
      @fast
      Scenario Outline:   Buy
      When I buy
      |thing|price|
      # how many?
      |a \\| b|1| extra
      Then I get
        ```json
        {"thing":
          <thing>}

        ```
      # pay
      But pay
      # pay later

      # all of them
      Examples:
      |thing|

      |pen|
      # the end
      """
    #expect(
      try format(text) == """
        # A file.
        # language: en
        @slow
        @shop @cart#1 #not now
        Feature: Shop
            As a customer
              I buy things.
          # not yet

          # why
          Background:
            Given a shop

            And a cart

          Rule: Cheap things

            Background:
              Given   money

            @fast
            Scenario Outline: Buy
              When I buy
                | thing  | price |
                # how many?
                | a \\| b | 1     | extra
              Then I get
                ```json
                {"thing":
                  <thing>}

                ```
              # pay
              But pay
              # pay later

              # all of them
              Examples:
                | thing |
                | pen   |
                # the end

        """)
  }

  @Test(
    "keep a comment and the empty line above it in front of the first description",
    arguments: [
      "Feature: a\n# comment\n\ntext\n", "Feature: a\n\n  # comment\ntext\n",
    ])
  func commentedDescriptions(_ text: String) throws {
    let description = { (text: String) in try GherkinParser().parse(text, uri: "").feature?.description }
    #expect(try description(format(text)) == description(text))
  }

  @Test("keep the spaces in a step, which may end its keyword")
  func spacesInSteps() throws {
    let text = "# language: fr\nFonctionnalité: a\n  Scénario: b\n    Étant donné  que c\n    Et \n"
    let formatted = try format(text)
    #expect(formatted == text.replacing("a\n ", with: "a\n\n "))
    guard case .scenario(let scenario) = try GherkinParser().parse(formatted, uri: "").feature?.children.first else {
      Issue.record("no scenario")
      return
    }
    #expect(scenario.steps.map(\.keyword) == ["Étant donné ", "Et "])
  }

  @Test("keep CRLF at the ends of lines")
  func lineEnds() throws {
    #expect(try format("Feature: a\r\n\r\nScenario: b\r\n") == "Feature: a\r\n\r\n  Scenario: b\r\n")
  }

  @Test("have aligned tables in Markdown, and are otherwise unchanged")
  func markdown() throws {
    let text = """
      # Feature:  a
      Some |prose|
      ## Scenario: b
      - Given c
        |d|long|
        |:-:|-|
        |-|e|

      |not|ours|
      |-|-|
      """
    #expect(
      try format(text, uri: "a.feature.md") == """
        # Feature:  a
        Some |prose|
        ## Scenario: b
        - Given c
          | d   | long |
          | :-: | ---- |
          | -   | e    |

        |not|ours|
        |-|-|

        """)
  }

  @Test("are refused with the parser's errors")
  func errors() {
    #expect(throws: GherkinErrors.self) { try format("not gherkin") }
  }
}

extension JSON {
  /// A message without what formatting may change.
  fileprivate var withoutPlaces: JSON {
    switch self {
    case .array(let elements): return .array(elements.map(\.withoutPlaces))
    case .object(let members):
      let isComment = members.map(\.key) == ["location", "text"]
      return .object(
        members.filter { $0.key != "location" }.map { member in
          let text = isComment ? member.value.string : nil
          return Member(
            member.key,
            text.map { .string($0.split(whereSeparator: \.isWhitespace).joined(separator: " ")) }
              ?? member.value.withoutPlaces)
        })
    default: return self
    }
  }
}
