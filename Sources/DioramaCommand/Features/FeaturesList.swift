import Basics
import CucumberExpressions
import FeatureTestSources
import Foundation
import Gherkin

/// `diorama features list`: lists features, rules, scenarios and rows of examples.
enum FeaturesList {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    var expression: TagExpression?
    if let text = options.value("--tags") {
      do { expression = try TagExpression(text) } catch {
        let problem = error.message.replacing(/\.$/, with: "")
        throw CodedError(usage: "--tags: \(problem)", command: "features list")
      }
    }
    let features = try FeatureFiles(FeatureFiles.paths(options))
    for problem in features.problems { terminal.error("\(problem.place): error: \(problem.message)") }
    var filters = FeatureTestFilters()
    let listings = features.files.map { FeatureListing($0, tags: expression, &filters) }
      .filter { expression == nil || !$0.scenarios.isEmpty }
    if options.has("--json") {
      try Output.write(json: listings)
    } else {
      let table = Table(
        header: ["place", "name", "tags", "filter"], rows: listings.flatMap(\.rows), rightAligned: [])
      try Output.write(table, orIfEmpty: "no scenarios")
      let count = listings.reduce(0) { $0 + $1.scenarios.count }
      terminal.line(
        "\(counted(listings.count, "feature")), \(counted(count, "scenario")); run one: swift test --filter 'FILTER'")
    }
    return features.problems.isEmpty ? 0 : CodedError.Kind.broken.rawValue
  }

  static let command = Command(
    "features list", "list features, rules, scenarios and rows of examples",
    usage: ["features list [--tags EXPRESSION] [--json] [PATH …]"],
    about: """
      Prints each scenario and row of examples with its location, its tags (including
      those of its feature and rule), and the filter for swift test that runs it.
      """,
    options: [
      .init("--tags", "EXPRESSION", "only scenarios with these tags, such as '@smoke and not @slow'"),
      .init("--json", nil, "print JSON"),
    ], operands: .files, run: run)
}

/// A feature and its scenarios, one for each row of examples.
struct FeatureListing: Encodable {
  struct Scenario: Encodable {
    var name: String
    var rule: String?
    var line: Int
    var column: Int
    var tags: [String]
    /// The values of the row of examples.
    var row: [String]?
    var filter: String
  }

  struct Rule: Encodable {
    var name: String
    var line: Int
    var column: Int
    var tags: [String]
  }

  var path: String
  var name: String?
  var language: String?
  var line: Int
  var column: Int
  var tags: [String]
  var filter: String
  var rules: [Rule] = []
  var scenarios: [Scenario] = []

  init(_ file: FeatureFiles.File, tags expression: TagExpression? = nil, _ filters: inout FeatureTestFilters) {
    let feature = file.document.feature
    path = file.path
    name = feature?.name
    language = feature?.language
    line = feature?.location.line ?? 1
    column = feature?.location.column ?? 1
    tags = feature?.tags.map(\.name) ?? []
    filter = filters.filter(file.path, line: nil)
    var rows: [Int: [String]] = [:]
    func add(_ scenario: Gherkin.Scenario) {
      for row in scenario.examples.flatMap(\.tableBody) { rows[row.location.line] = row.cells.map(\.value) }
    }
    for child in feature?.children ?? [] {
      switch child {
      case .scenario(let scenario): add(scenario)
      case .rule(let rule):
        rules.append(
          Rule(
            name: rule.name, line: rule.location.line, column: rule.location.column ?? 1, tags: rule.tags.map(\.name)))
        for case .scenario(let scenario) in rule.children { add(scenario) }
      case .background: break
      }
    }
    for scenario in file.scenarios where expression?.evaluate(tags: scenario.tags) ?? true {
      scenarios.append(
        Scenario(
          name: scenario.name, rule: scenario.rule, line: scenario.line, column: scenario.column, tags: scenario.tags,
          row: rows[scenario.line], filter: filters.filter(file.path, line: scenario.line)))
    }
    if expression != nil { rules.removeAll { rule in !scenarios.contains { $0.rule == rule.name } } }
  }

  var rows: [[String]] {
    var rows = [["\(path):\(line)", name ?? "(no feature)", tags.joined(separator: " "), filter]]
    var rest = rules[...]
    for scenario in scenarios {
      while let rule = rest.first, rule.line < scenario.line {
        rows.append(["\(path):\(rule.line)", "  \(rule.name)", rule.tags.joined(separator: " "), ""])
        rest.removeFirst()
      }
      let indentation = scenario.rule == nil ? "  " : "    "
      let values = scenario.row.map { " (\($0.joined(separator: ", ")))" } ?? ""
      rows.append([
        "\(path):\(scenario.line)", indentation + scenario.name + values, scenario.tags.joined(separator: " "),
        scenario.filter,
      ])
    }
    return rows
  }
}

/// The regular expressions for `swift test --filter` that run a feature or a scenario.
struct FeatureTestFilters {
  private struct TestCase {
    var name: String
    /// The methods by the lines of their scenarios.
    var methods: [Int: String]
  }

  /// XCTest classes by target folder and feature file; empty for folders that do not use XCTest.
  private var targets: [String: [String: TestCase]] = [:]

  /// - Parameters:
  ///   - path: the path of the feature file.
  ///   - line: the line of the scenario or row; nil for the whole feature.
  /// - Returns: the regular expression.
  mutating func filter(_ path: String, line: Int?) -> String {
    let file = URL(fileURLWithPath: path).standardizedFileURL
    if let testCase = testCase(for: file) {
      return #"\."# + testCase.name + "/" + (line.flatMap { testCase.methods[$0] }.map { "\($0)$" } ?? "")
    }
    // Line N of the generated file is line N of the feature.
    let name = file.lastPathComponent.replacing(/[\[\](){}*+?^$|\\]/) { "\\\($0.output)" }
    return "\(name).swift:" + (line.map { "\($0):" } ?? "")
  }

  /// The class of a feature file, if the settings in a folder above say that the target's tests are XCTest's.
  private mutating func testCase(for file: URL) -> TestCase? {
    var folder = file.deletingLastPathComponent()
    while folder.path.count > 1 {
      let settings = folder.appending(path: "feature-tests.json").path
      if FileManager.default.fileExists(atPath: settings) {
        if targets[folder.path] == nil { targets[folder.path] = Self.testCases(in: folder.path, settings) }
        return targets[folder.path]?[file.path]
      }
      if FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path) { return nil }
      folder.deleteLastPathComponent()
    }
    return nil
  }

  /// The names that the plugin generates, which are unique in a target. Files that the target excludes are not known.
  private static func testCases(in folder: String, _ settings: String) -> [String: TestCase] {
    guard let text = try? FeatureFiles.text(settings), case .xctest = try? TestLibrary(settings: text),
      let paths = try? FeatureFiles.found([folder], named: FeatureFiles.isFeature).sorted(),
      let files = try? FeatureFiles(paths)
    else { return [:] }
    var names = TestNames(folder: folder + "/")
    var found: [String: TestCase] = [:]
    for file in files.files {
      let source = TestSource.make(of: file.document, at: file.path, for: .xctest, files: 1, &names)[0]
      guard let name = source.firstMatch(of: /final class (\w+):/)?.1 else { continue }
      var testCase = TestCase(name: String(name), methods: [:])
      for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        testCase.methods[index + 1] = line.firstMatch(of: /@MainActor func (\w+)\(/).map { String($0.1) }
      }
      found[file.path] = testCase
    }
    return found
  }
}
