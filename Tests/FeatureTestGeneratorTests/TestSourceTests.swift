import FeatureTestSources
import Gherkin
import Testing

@Suite("Generated tests")
struct TestSourceTests {
  private var names = TestNames(folder: "/tests/")

  private mutating func sources(
    of feature: String, at path: String = "/tests/a.feature", for library: TestLibrary = .swiftTesting, files: Int = 1
  ) throws -> [String] {
    try TestSource.make(of: FeatureFile.read(feature, path), at: path, for: library, files: files, &names)
  }

  /// The names of the functions of one source, in their order.
  private func functions(_ source: String) -> [String] {
    source.matches(of: /func (`[^`]*`|\w+)\(\)/).map { String($0.1) }
  }

  private let booking = """
    # language: en
    @smoke
    Feature: Booking
      Background:
        Given a clinic

      Scenario: a patient books
        When she books

      Rule: Rules
        Example: no patient books twice
          When she books

        Scenario Outline: <who> books
          When <who> books

          Examples:
            | who |
            | Ada |

          Examples: more
            | who |
            | Bob |
    """

  @Test("are on the line of their scenario or row")
  mutating func lines() throws {
    let source = try #require(sources(of: booking).first)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines.count == 24)
    #expect(lines[0] == "import DioramaScenarios; import Testing; ")
    #expect(
      lines[2] == "@Suite(.feature(\"Booking\", in: \"/tests/a.feature\")) struct `Feature: Booking` {")
    #expect(lines[6].contains("static func `a patient books`() async throws {"))
    #expect(lines[6].hasSuffix("{ try await DioramaScenarios.run(Features()) } }"))
    #expect(lines[9] == "extension `Feature: Booking` { @Suite struct `Rule: Rules` {")
    #expect(lines[10].contains("func `no patient books twice`()"))
    #expect(lines[18].contains("func `Ada books`()"))
    #expect(lines[22].contains("func `Bob books`()"))
    #expect(lines[22].hasSuffix("} } }"))
    let used = [0, 2, 6, 9, 10, 18, 22]
    #expect(lines.enumerated().allSatisfy { used.contains($0.offset) || $0.element.isEmpty })
  }

  @Test("contain their scenario")
  mutating func packed() throws {
    let source = try #require(sources(of: booking).first)
    let literals = source.matches(of: /@Test\(\.scenario\("((?:[^"\\]|\\.)*)"\)\)/).map { String($0.1) }
    let packed = literals.map { $0.replacing("\\\\", with: "\\").replacing("\\\"", with: "\"") }
    let document = try FeatureFile.read(booking, "/tests/a.feature")
    #expect(packed.map { PackedScenario(packed: $0) } == PackedScenario.all(in: document))
  }

  @Test("of a feature in the first line follow the imports")
  mutating func firstLine() throws {
    #expect(
      try sources(of: "Feature:\nScenario:").first?.hasPrefix(
        "import DioramaScenarios; import Testing; @Suite(.feature(\"\", in: \"/tests/a.feature\")) "
          + "struct `Feature: ` {\n@Test(") == true)
  }

  @Test(
    "are a comment without scenarios", arguments: ["", "# nothing\n", "Feature: Nothing\n", "Feature: A\nRule: B\n"])
  mutating func nothing(feature: String) throws {
    #expect(try sources(of: feature, files: 2) == Array(repeating: "// There are no scenarios.\n", count: 2))
  }

  @Test("of Markdown are on their lines")
  mutating func markdown() throws {
    let text = "# Feature: Booking\n\nProse.\n\n## Scenario: a patient books\n\n* When she books\n"
    let source = try #require(sources(of: text, at: "/tests/a.feature.md").first)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0].contains("struct `Feature: Booking`"))
    #expect(lines[4].contains("func `a patient books`()"))
  }

  // MARK: Names

  @Test(
    "have the name of their scenario as a raw identifier",
    arguments: [
      ("it's `quoted`", "it's 'quoted'"), ("a\\b", "a∖b"), ("a\tb\u{7F}c\u{A0}d\u{1}e", "a b c d e"), ("$5", " $5"),
      ("", "unnamed"), ("+", "unnamed +"), ("→", "unnamed →"), ("*/", "unnamed */"), ("…", "unnamed …"),
      ("\u{200E}", "unnamed \u{200E}"), ("a\u{FEFF}b", "ab"), ("a → b", "a → b"), ("запись", "запись"), ("1.5", "1.5"),
    ])
  func text(name: String, identifier: String) {
    #expect(Identifier.text(name) == identifier)
  }

  @Test(
    "do not hide what their code refers to",
    arguments: ["DioramaScenarios", "Features", "Protocol", "Testing", "Type", "Feature: A", "Rule: R"])
  mutating func hiding(name: String) throws {
    let source = try #require(sources(of: "Feature: A\nRule: R\nScenario: \(name)").first)
    #expect(functions(source) == ["`Scenario: \(name)`"])
  }

  @Test("of one name are numbered, in each rule of its own")
  mutating func duplicates() throws {
    let feature = """
      Feature: A
        Scenario: same
        Scenario: same
        Scenario: Rule: R
        Rule: R
          Scenario: same
          Scenario: same
        Rule: R
          Scenario: same
      """
    let source = try #require(sources(of: feature).first)
    #expect(functions(source) == ["`same`", "`same (2)`", "`Rule: R (3)`", "`same`", "`same (2)`", "`same`"])
    #expect(source.contains("struct `Rule: R` {"))
    #expect(source.contains("struct `Rule: R (2)` {"))
  }

  @Test("of rows are distinguished by the rows' values if their name does not")
  mutating func rows() throws {
    let feature = """
      Feature: A
        Scenario Outline: books
          Examples:
            | who | when |
            | Ada | 9:00 |
            | Bob | 9:20 |
            | Bob | 9:20 |
        Scenario Outline: <who> leaves
          Examples:
            | who |
            | Ada |
            | Bob |
      """
    let source = try #require(sources(of: feature).first)
    #expect(
      functions(source) == [
        "`books (Ada, 9:00)`", "`books (Bob, 9:20)`", "`books (Bob, 9:20) (2)`", "`Ada leaves`", "`Bob leaves`",
      ])
  }

  @Test("of features of one name are in suites named with the files")
  mutating func features() throws {
    let feature = "Feature: A\nScenario: b"
    let sources = try ["/tests/a.feature", "/tests/more/a.feature", "/elsewhere/a.feature"].flatMap {
      try self.sources(of: feature, at: $0)
    }
    let suites = sources.compactMap { $0.firstMatch(of: /struct (`[^`]*`)/).map { String($0.1) } }
    #expect(
      suites == ["`Feature: A`", "`Feature: A (more/a.feature)`", "`Feature: A (/elsewhere/a.feature)`"])
  }

  // MARK: Several files

  @Test("of a large feature are distributed to files, and keep their lines, suites and names")
  mutating func files() throws {
    let feature = """
      Feature: A
        Scenario: one
        Scenario: same
        Scenario: same
        Rule: R
          Scenario: one
          Scenario: two
          Scenario: two
      """
    let sources = try self.sources(of: feature, files: 4)
    let lines = sources.map { $0.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
    #expect(sources.map(functions) == [["`one`", "`same`"], ["`same (2)`", "`one`"], ["`two`", "`two (2)`"], []])
    #expect(lines[0][0].hasSuffix("struct `Feature: A` {"))
    #expect(lines[0][2].hasSuffix("} }"))
    #expect(lines[1][0] == "import DioramaScenarios; import Testing; extension `Feature: A` {")
    #expect(lines[1][3].contains("func `same (2)`()"))
    #expect(lines[1][3].hasSuffix("} }"))
    #expect(lines[1][4] == "extension `Feature: A` { @Suite struct `Rule: R` {")
    #expect(lines[1][5].hasSuffix("} } }"))
    #expect(lines[2][0] == "import DioramaScenarios; import Testing; extension `Feature: A`.`Rule: R` {")
    #expect(lines[2][7].hasSuffix("} }"))
    #expect(sources[3] == "// There are no scenarios.\n")
  }

  @Test("of a feature that begins with a rule have the feature's suite")
  mutating func onlyRules() throws {
    let source = try #require(sources(of: "Feature: A\nRule: R\nScenario: b\nRule: S\nScenario: c").first)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0].hasSuffix("struct `Feature: A` { }"))
    #expect(lines[2].hasSuffix("} } }"))
    #expect(lines[3] == "extension `Feature: A` { @Suite struct `Rule: S` {")
  }

  // MARK: XCTest

  @Test("of XCTest are methods with plain names in a class per file")
  mutating func xctest() throws {
    let source = try #require(sources(of: booking, at: "/tests/8-booking.feature", for: .xctest).first)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0] == "import DioramaScenarios; import XCTest; ")
    #expect(lines[2] == "nonisolated final class _8BookingFeatureTests: FeatureTestCase {")
    #expect(lines[6].hasPrefix("@MainActor func test_a_patient_books() async throws { try await run(scenario: \""))
    #expect(lines[6].hasSuffix("\", of: \"Booking\", in: \"/tests/8-booking.feature\", Features()) }"))
    #expect(lines[9].isEmpty)
    #expect(
      functions(source)
        == [
          "test_a_patient_books", "test_Rules_no_patient_books_twice", "test_Rules_Ada_books", "test_Rules_Bob_books",
        ])
    #expect(lines[22].hasSuffix("} }"))
  }

  @Test("of XCTest have unique names, also without ASCII letters")
  mutating func uniqueXCTest() throws {
    let feature = "Feature: A\nScenario: запись\nScenario: →\nScenario: a-b\nScenario: a b"
    let sources = try ["/tests/b.feature", "/tests/more/B.feature", "/tests/запись.feature", "/tests/日.feature"].map {
      try self.sources(of: feature, at: $0, for: .xctest)[0]
    }
    #expect(functions(sources[0]) == ["test_scenario", "test_scenario_line3_2", "test_a_b", "test_a_b_line5_2"])
    let classes = sources.compactMap { $0.firstMatch(of: /class (\w+):/).map { String($0.1) } }
    #expect(classes == ["BFeatureTests", "B_2FeatureTests", "FeatureTests", "_2FeatureTests"])
  }

  @Test("of XCTest are distributed to extensions")
  mutating func filesOfXCTest() throws {
    let sources = try self.sources(
      of: "Feature: A\nScenario: b\nRule: R\nScenario: c", for: .xctest, files: 2)
    #expect(
      sources[1].hasPrefix("import DioramaScenarios; import XCTest; extension AFeatureTests {\n\n\n@MainActor func "))
    #expect(sources[1].hasSuffix("} }\n"))
  }

  // MARK: Literals

  @Test("have string literals on one line")
  func literals() {
    #expect("a \"b\" \\(c) \\".literal == #""a \"b\" \\(c) \\""#)
    #expect(
      "\r\n\t\u{0}\u{1}\u{7F}\u{85}\u{2028}\u{2029}\u{FEFF}".literal
        == #""\r\n\t\u{0}\u{1}\u{7f}\u{85}\u{2028}\u{2029}\u{feff}""#)
    #expect("запись 😀".literal == "\"запись 😀\"")
  }
}
