import Foundation
import TestSupport
import Testing

@testable import DioramaCommand

@Suite("diorama features", .timeLimit(.minutes(5)))
struct FeaturesCommandTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
    try folder.write(
      """
      @web
      Feature: Booking
        # how it goes
        Scenario: books
          Given a patient named "Ann"
      \tWhen she books 2 slots
        Rule: often
          @slow
          Scenario Outline: <n> slots
            When she books <n> slots
            Examples:
              | n |
              | 3 |
              | 4 |

      """, to: "booking.feature")
    try folder.write(
      """
      Given("a patient named {string}") { (name: String) in }
      When("she books {int} slot(s)") { (count: Int) in }

      """, to: "Steps.swift")
  }

  private func run(_ words: String...) async throws -> Child.Outcome {
    try await Diorama.run(["features"] + words, folder: folder.path)
  }

  @Test("check accepts features whose steps are defined")
  func accepts() async throws {
    let outcome = try await run("check")
    #expect(outcome.status == 0, "\(outcome.text)")
    #expect(outcome.text.isEmpty)
    #expect(outcome.words == "diorama: 1 feature, 3 scenarios, 4 steps, 2 step definitions: no problems\n")
  }

  @Test("check prints undefined steps with code to add and similar definitions")
  func undefined() async throws {
    try folder.write("Feature: F\n  Scenario: S\n    Given a patient namd \"Bo\"\n", to: "other.feature")
    let outcome = try await run("check")
    #expect(outcome.status == 1)
    #expect(
      outcome.text == """
        other.feature:3:5: error: the step 'a patient namd "Bo"' has no definition
        Steps.swift:1:1: note: similar: 'a patient named {string}'

        Add these step definitions:

        // other.feature:3:5
        Given("a patient namd {string}") { (string: String) in
          throw PendingStep()
        }

        """)
  }

  @Test("check prints both places of an ambiguous step")
  func ambiguous() async throws {
    try folder.write("Then(\"she books 2 {word}\") { }", to: "More.swift")
    let outcome = try await run("check")
    #expect(outcome.status == 1)
    let lines = outcome.text.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines.first?.hasPrefix("booking.feature:6:2: error: the step 'she books 2 slots' matches 2") == true)
    #expect(lines.dropFirst().first == "More.swift:1:1: note: it matches 'she books 2 {word}'")
  }

  @Test("check knows the steps that come with the library")
  func builtInSteps() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    // The list is that of the library.
    var library = SwiftSteps()
    let source = root.appending(path: "Sources/DioramaScenarios/Environment/EnvironmentSteps.swift")
    library.add(try String(contentsOf: source, encoding: .utf8), path: "EnvironmentSteps.swift")
    var listed = SwiftSteps()
    listed.add(BuiltInSteps.environment, path: BuiltInSteps.place)
    #expect(Set(listed.definitions.map(\.source)) == Set(library.definitions.map(\.source)))
    let outcome = try await Diorama.run(
      ["features", "check", root.appending(path: "Tests/ClinicFeaturesTests").path(percentEncoded: false)],
      folder: root.path(percentEncoded: false))
    #expect(outcome.status == 0, "\(outcome.text)")
  }

  @Test("check prints unused definitions unless they are allowed, or only some features are checked")
  func unused() async throws {
    try folder.write("Then(\"nothing\") { }; Then(\"called\") { }; Then(\"called\")", to: "More.swift")
    let outcome = try await run("check")
    #expect(outcome.status == 1)
    #expect(
      outcome.text
        == "More.swift:1:1: error: no step uses 'nothing'; remove it, or allow it with --allow-unused\n")
    #expect(try await run("check", "--allow-unused").status == 0)
    #expect(try await run("check", "booking.feature").status == 0)
  }

  @Test("check prints features without scenarios, and scenarios without steps")
  func emptyParts() async throws {
    try folder.write("Feature: F\n  Scenari: S\n", to: "a.feature")
    let outline = "  Scenario Outline: S\n    Given x\n    Examples:\n      | n |\n"
    try folder.write("Feature: G\n  Scenario: S\n    Whn she books 2 slots\n\(outline)", to: "b.feature")
    let outcome = try await run("check")
    #expect(outcome.status == 1)
    let lines = outcome.text.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines.first?.hasPrefix("a.feature:1:1: error: the feature has no scenarios; ") == true)
    #expect(lines.dropFirst().first?.hasPrefix("b.feature:2:3: error: the scenario has no steps; ") == true)
    #expect(lines.last == "b.feature:4:3: error: the scenario has no rows of examples, so it never runs; add a row")
  }

  @Test("check prints all syntax errors and exits with 65")
  func syntax() async throws {
    try folder.write("Feature: F\n  Scenario: S\n    Given a\n    nonsense\n  more\n", to: "broken.feature")
    // The broken file may use it.
    try folder.write("Given(\"a\") { }", to: "More.swift")
    let outcome = try await run("check")
    #expect(outcome.status == 65)
    #expect(outcome.text.split(separator: "\n").count == 2, "\(outcome.text)")
    #expect(outcome.text.hasPrefix("broken.feature:4:5: error: expected: "))
    try Data([0x46, 0xFF]).write(to: URL(fileURLWithPath: folder.file("broken.feature")))
    #expect(
      try await run("check").text == "broken.feature:1:1: error: the file is not UTF-8; save it as UTF-8\n")
  }

  @Test("check takes step definitions from other folders")
  func otherSteps() async throws {
    let steps = try Folder()
    try steps.write("Given(\"a {}\") { }; When(/she books \\d+ slots/) { }", to: "Steps.swift")
    try folder.write("", to: "Steps.swift")
    let missing = try await run("check")
    #expect(missing.status == 1)
    #expect(missing.words.contains("name their folder with --steps"))
    #expect(try await run("check", "--steps", steps.path).status == 0)
  }

  @Test("check prints JSON")
  func json() async throws {
    try folder.write("", to: "Steps.swift")
    let report = try object(try await run("check", "--json").text)
    #expect((report["problems"] as? [[String: Any]])?.count == 4)
    #expect((report["undefined"] as? [[String: Any]])?.count == 2)
    #expect(report["scenarios"] as? Int == 3)
  }

  @Test("list prints scenarios and rows with tags and filters")
  func list() async throws {
    let outcome = try await run("list")
    #expect(outcome.status == 0)
    #expect(
      outcome.text == """
        place               name             tags        filter
        booking.feature:2   Booking          @web        booking.feature.swift:
        booking.feature:4     books          @web        booking.feature.swift:4:
        booking.feature:7     often                      \("")
        booking.feature:13      3 slots (3)  @web @slow  booking.feature.swift:13:
        booking.feature:14      4 slots (4)  @web @slow  booking.feature.swift:14:

        """)
    let slow = try await run("list", "--tags", "@slow", "--json").text
    #expect(slow.components(separatedBy: "\"row\"").count == 3)
    #expect(!slow.contains("books"))
    #expect(try await run("list", "--tags", "not @web").text == "no scenarios\n")
  }

  @Test("list prints filters of XCTest in a target whose settings name it")
  func listXCTest() async throws {
    try folder.write("{\"tests\": \"xctest\"}", to: "feature-tests.json")
    // A class of the same name.
    try folder.write("Feature: F\n  Scenario: S\n    Given x\n", to: "booking.more.feature")
    let more = try await run("list", "booking.more.feature", "--json")
    #expect(
      more.text.contains(#"BookingFeatureTests_2"#) || more.text.contains("Booking_2FeatureTests"), "\(more.text)")
    let outcome = try await run("list", "booking.feature")
    let filters = outcome.text.split(separator: "\n").compactMap { $0.firstMatch(of: /\\\..*/).map { String($0.0) } }
    #expect(
      filters == [
        #"\.BookingFeatureTests/"#, #"\.BookingFeatureTests/test_books$"#,
        #"\.BookingFeatureTests/test_often_3_slots$"#, #"\.BookingFeatureTests/test_often_4_slots$"#,
      ])
  }

  @Test("format changes files once, keeps comments and modes, and prints what changed")
  func format() async throws {
    try folder.write(try folder.read("booking.feature"), to: "booking.feature", mode: 0o640)
    let check = try await run("format", "--check")
    #expect(check.status == 1)
    #expect(check.text == "booking.feature\n")
    #expect(try folder.read("booking.feature").contains("\tWhen"))
    let outcome = try await run("format")
    #expect(outcome.status == 0)
    #expect(outcome.text == "booking.feature\n")
    let text = try folder.read("booking.feature")
    #expect(text.contains("# how it goes"))
    #expect(text.contains("    When she books 2 slots"))
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("booking.feature"))
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    #expect(try await run("format").text.isEmpty)
    #expect(try await run("format", "--check").status == 0)
    #expect(folder.names == ["Steps.swift", "booking.feature"])
  }

  @Test("format leaves files with errors and exits with 65")
  func formatBroken() async throws {
    try folder.write("nonsense", to: "booking.feature")
    let outcome = try await run("format")
    #expect(outcome.status == 65)
    #expect(outcome.words.contains("booking.feature:1:1: error: "))
    #expect(try folder.read("booking.feature") == "nonsense")
  }

  @Test("steps prints definitions and writes an index")
  func steps() async throws {
    let outcome = try await run("steps", "--json", "--index", "index.json")
    #expect(outcome.status == 0)
    let definitions = try #require(
      try JSONSerialization.jsonObject(with: Data(outcome.text.utf8)) as? [[String: Any]])
    #expect(definitions.map { $0["uses"] as? Int } == [1, 3])
    #expect(definitions[1]["pattern"] as? String == #"^she books ((?:-?\d+)|(?:\d+)) slot(?:s)?$"#)
    let index = try folder.json("index.json")
    let feature = try #require((index["features"] as? [[String: Any]])?.first)
    let scenario = try #require((feature["scenarios"] as? [[String: Any]])?.first)
    let steps = try #require(scenario["steps"] as? [[String: Any]])
    #expect(steps.map { $0["definitions"] as? [Int] } == [[0], [1]])
    #expect(scenario["filter"] as? String == "booking.feature.swift:4:")
  }
}
