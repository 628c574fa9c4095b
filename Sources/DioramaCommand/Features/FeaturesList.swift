import Basics
import CucumberExpressions
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
    let listings = features.files.map { FeatureListing($0, tags: expression) }
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

  init(_ file: FeatureFiles.File, tags expression: TagExpression? = nil) {
    let feature = file.document.feature
    path = file.path
    name = feature?.name
    language = feature?.language
    line = feature?.location.line ?? 1
    column = feature?.location.column ?? 1
    tags = feature?.tags.map(\.name) ?? []
    filter = Self.filter(file.path, line: nil)
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
          row: rows[scenario.line], filter: Self.filter(file.path, line: scenario.line)))
    }
    if expression != nil { rules.removeAll { rule in !scenarios.contains { $0.rule == rule.name } } }
  }

  /// A regular expression for `swift test --filter`: line N of the generated file is line N of the feature.
  private static func filter(_ path: String, line: Int?) -> String {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return "\(name.replacing(/[\[\](){}*+?^$|\\]/) { "\\\($0.output)" }).swift:" + (line.map { "\($0):" } ?? "")
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
