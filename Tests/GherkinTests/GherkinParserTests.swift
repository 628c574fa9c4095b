import Basics
import Gherkin
import Testing

@Suite("The Gherkin parser")
struct GherkinParserTests {
  private func parse(_ text: String, uri: String = "a.feature", language: String = "en") throws -> Feature {
    try #require(try GherkinParser(language: language).parse(text, uri: uri).feature)
  }

  private func scenario(_ text: String, uri: String = "a.feature") throws -> Scenario {
    guard case .scenario(let scenario) = try parse(text, uri: uri).children.first else {
      throw CodedError(.broken, "no scenario")
    }
    return scenario
  }

  private func errors(_ text: String, uri: String = "a.feature", language: String = "en") -> String? {
    do {
      _ = try GherkinParser(language: language).parse(text, uri: uri)
      return nil
    } catch { return "\(error)" }
  }

  @Test("knows all keywords of all languages")
  func languages() throws {
    let languages = try JSON.parse(Array(GherkinFixture.text("gherkin-languages.json").utf8))
    let codes = (languages.object ?? []).map(\.key)
    #expect(codes.count == 80)
    #expect(GherkinDialect.languages == codes.sorted())
    for code in codes {
      func words(_ field: String) -> [String] { languages[code]?[field]?.array?.compactMap(\.string) ?? [] }
      let feature = try #require(words("feature").first)
      let rule = try #require(words("rule").first)
      let titles = words("scenario") + words("scenarioOutline")
      let kinds = ["given": "Context", "when": "Action", "then": "Outcome", "and": "Conjunction", "but": "Conjunction"]
      let steps = kinds.keys.flatMap(words)
      for keyword in words("feature") { #expect(try parse("\(keyword): a", language: code).keyword == keyword) }
      for keyword in words("background") {
        let parsed = try parse("\(feature): a\n\(rule): b\n\(keyword): c", language: code)
        guard case .rule(let rule) = parsed.children.first, case .background(let background) = rule.children.first
        else {
          Issue.record("no background: \(code) \(keyword)")
          continue
        }
        #expect(background.keyword == keyword)
      }
      for keyword in titles {
        let examples = words("examples").map { "\($0): d\n" }.joined()
        let text = "# language: \(code)\n\(feature): a\n\(keyword): b\n\(steps.map { "\($0)c\n" }.joined())\(examples)"
        let scenario = try scenario(text)
        #expect(scenario.keyword == keyword)
        #expect(scenario.steps.map(\.keyword) == steps)
        #expect(scenario.examples.map(\.keyword) == words("examples"))
        for step in scenario.steps {
          let fields = kinds.keys.filter { words($0).contains(step.keyword) }
          #expect(step.keywordType.rawValue == (fields.count == 1 ? kinds[fields[0]] : "Unknown"))
        }
      }
    }
  }

  @Test("reports the place of each error in a compiler's form")
  func compilerErrors() {
    #expect(
      errors("Feature: a\n  Scenario: b\n    Given c\n  oops\n  @a b\n") == """
        a.feature:4:3: error: expected: #EOF, #TableRow, #DocStringSeparator, #StepLine, #TagLine, #ExamplesLine, \
        #ScenarioLine, #RuleLine, #Comment, #Empty, got 'oops'
        a.feature:5:3: error: A tag may not contain whitespace
        a.feature:5:3: error: expected: #EOF, #TableRow, #DocStringSeparator, #StepLine, #TagLine, #ExamplesLine, \
        #ScenarioLine, #RuleLine, #Comment, #Empty, got '@a b'
        """)
    #expect(errors("", language: "xx") == "a.feature:1:1: error: Language not supported: xx")
  }

  @Test("stops after eleven errors")
  func manyErrors() {
    let text = (1...20).map { "oops \($0)\n" }.joined()
    #expect(errors(text)?.split(separator: "\n").count == 11)
  }

  @Test("numbers the nodes of several files with one generator")
  func sharedIDs() throws {
    var ids = IDGenerator()
    let text = "Feature: a\n  Scenario: b\n    Given c\n"
    for first in [0, 4] {
      let document = try GherkinParser().parse(text, uri: "a.feature", ids: &ids)
      let pickles = PickleCompiler.pickles(of: document, ids: &ids)
      #expect(pickles[0].astNodeIds == ["\(first + 1)"])
      #expect(pickles[0].id == "\(first + 3)")
    }
  }

  @Test("counts columns in Unicode scalars, and skips a byte order mark")
  func columns() throws {
    let text = "\u{FEFF}Feature: a\n  Scenario: b\n    Given c\n    \u{3000}| e\u{301}👩‍👧 | \\|x | y |\n"
    let table = try #require(try scenario(text).steps[0].dataTable)
    #expect(table.location == Location(line: 4, column: 6))
    #expect(table.rows[0].cells.map(\.value) == ["e\u{301}👩‍👧", "|x", "y"])
    #expect(table.rows[0].cells.map(\.location.column) == [8, 16, 22])
  }

  @Test("replaces placeholders by bytes, column by column")
  func placeholders() throws {
    var ids = IDGenerator()
    let text = """
      Feature: a
        Scenario Outline: <x>
          Given <x>\u{301} and <e\u{301}> and <é> and <z>
          Examples:
            | x   | e\u{301} | y |
            | <y> | 2  | $1 |
      """
    let document = try GherkinParser().parse(text, uri: "a.feature", ids: &ids)
    let pickle = try #require(PickleCompiler.pickles(of: document, ids: &ids).first)
    #expect(pickle.name == "$1")
    #expect(Array(pickle.steps[0].text.unicodeScalars) == Array("$1\u{301} and 2 and <é> and <z>".unicodeScalars))
  }

  @Suite("for Markdown")
  struct MarkdownTests {
    private let parser = GherkinParserTests()

    @Test("takes the language from its caller")
    func language() throws {
      let feature = try parser.parse(
        "# Fonctionnalité: a\n## Scénario: b\n* Soit c\n", uri: "a.feature.md", language: "fr")
      #expect(feature.keyword == "Fonctionnalité")
      #expect(feature.language == "fr")
      #expect(feature.children.count == 1)
    }

    @Test("skips code blocks in prose, and tags mentioned in it")
    func prose() throws {
      let text = """

        # Feature: a
        Write `@slow` for slow ones.
        ````
        # Scenario: not one
        ```
        ````
        ## Scenario: b
        Prose, and
        * a list
        * Given c
        More prose with `@slow`.
        """
      let feature = try parser.parse(text, uri: "a.feature.md")
      #expect(feature.name == "a")
      #expect(feature.location == Location(line: 2, column: 3))
      #expect(feature.children.count == 1)
      #expect(try parser.scenario(text, uri: "a.feature.md").steps.map(\.text) == ["c"])
    }

    @Test("keeps rows of dashes below the first two lines of a table")
    func dashes() throws {
      let text = "# Feature: a\n# Scenario: b\n* Given c\n  | d | e |\n  | - | :-: |\n  | - | - |\n  | - | f |\n"
      let rows = try parser.scenario(text, uri: "a.feature.md").steps[0].dataTable?.rows
      #expect(rows?.map { $0.cells.map(\.value) } == [["d", "e"], ["-", "-"], ["-", "f"]])
    }

    @Test("refuses a document that starts with a scenario")
    func scenarioFirst() {
      #expect(
        parser.errors("# Scenario: a\n", uri: "a.feature.md")
          == "a.feature.md:1:1: error: expected: #EOF, #Language, #TagLine, #FeatureLine, #Comment, #Empty, got '# Scenario: a'"
      )
    }

    @Test("refuses tags with white space")
    func tags() {
      #expect(
        parser.errors("`@a` `@b c`\n# Feature: d\n", uri: "a.feature.md")?.split(separator: "\n").first
          == "a.feature.md:1:7: error: A tag may not contain whitespace")
    }
  }
}
