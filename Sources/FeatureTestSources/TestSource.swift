package import Gherkin

/// The names of suites and classes in a target. Each must be unique.
package struct TestNames {
  /// The target's folder.
  let folder: String
  private var used: Set<String> = []

  package init(folder: String) { self.folder = folder }

  /// A suite's name: with the path of its file if another feature has the same name.
  mutating func suite(of feature: Feature, at path: String) -> String {
    var name = Identifier.text("Feature: \(feature.name)")
    if used.contains(name) {
      let relative = path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
      name = Identifier.text("Feature: \(feature.name) (\(relative))")
    }
    return Identifier.unique(name, &used)
  }

  /// The name of a class of XCTest.
  mutating func testCase(at path: String) -> String {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return Identifier.unique(
      Identifier.ascii(String(file.prefix { $0 != "." }), capitalized: true), &used, separator: "_")
      + "FeatureTests"
  }
}

/// The Swift sources of a feature file's tests.
///
/// Line N of a source is line N of the feature, so that a scenario can be run by its line.
package enum TestSource {
  /// - Parameters:
  ///   - document: the feature file.
  ///   - path: its absolute path.
  ///   - library: the test library.
  ///   - count: the number of sources. The scenarios are divided among them in their order.
  ///   - names: the names of the target.
  /// - Returns: the sources; a comment for a source without scenarios.
  package static func make(
    of document: GherkinDocument, at path: String, for library: TestLibrary, files count: Int, _ names: inout TestNames
  ) -> [String] {
    let empty = "// There are no scenarios.\n"
    let scenarios = PackedScenario.all(in: document)
    guard let feature = document.feature, !scenarios.isEmpty else { return Array(repeating: empty, count: count) }
    var suite = FeatureSuite(feature, scenarios, at: path, library, &names)
    let size = (scenarios.count + count - 1) / count
    return (0..<count).map { index in
      let part = scenarios.dropFirst(index * size).prefix(size)
      return part.isEmpty ? empty : suite.source(of: Array(part), isFirst: index == 0)
    }
  }
}

/// Writes the suite, or the class, of a feature.
private struct FeatureSuite {
  private let feature: Feature
  private let path: String
  private let library: TestLibrary
  private let name: String
  private let counts: [String: Int]
  private let rules: [(line: Int, name: String)]
  /// The names of tests by the line of their rule, or 0.
  private var tests: [Int: Set<String>]
  /// The rules' names as identifiers, by their lines.
  private let ruleNames: [Int: String]
  /// Rules whose suites are open or written.
  private var declaredRules: Set<Int> = []

  init(
    _ feature: Feature, _ scenarios: [PackedScenario], at path: String, _ library: TestLibrary, _ names: inout TestNames
  ) {
    self.feature = feature
    self.path = path
    self.library = library
    switch library {
    case .swiftTesting: name = "`\(names.suite(of: feature, at: path))`"
    case .xctest: name = names.testCase(at: path)
    }
    rules = feature.children.compactMap { child in
      if case .rule(let rule) = child { (rule.location.line, rule.name) } else { nil }
    }
    // A suite and a test of one name in a suite would be redeclarations.
    var used: Set<String> = []
    var ruleNames: [Int: String] = [:]
    for rule in rules { ruleNames[rule.line] = "`\(Identifier.unique(Identifier.text("Rule: \(rule.name)"), &used))`" }
    self.ruleNames = ruleNames
    tests = [0: used]
    var counts: [String: Int] = [:]
    for scenario in scenarios { counts[Self.key(scenario), default: 0] += 1 }
    self.counts = counts
  }

  mutating func source(of scenarios: [PackedScenario], isFirst: Bool) -> String {
    var lines: [Int: String] = [:]
    let start = feature.location.line
    lines[1] = "import DioramaScenarios; import \(library == .xctest ? "XCTest" : "Testing"); "
    // The scenarios of the feature itself come first, then those of each rule.
    var open: (rule: Int, closing: String)?
    if isFirst {
      let declaration =
        library == .xctest
        ? "nonisolated final class \(name): FeatureTestCase {"
        : "@Suite(.feature(\(feature.name.literal), in: \(path.literal))) struct \(name) {"
      lines[start, default: ""] += declaration
      open = (0, " }")
    }
    var last = start
    for scenario in scenarios {
      let rule = library == .xctest ? 0 : rules.last { $0.line < scenario.line }?.line ?? 0
      if open?.rule != rule {
        if let open { lines[last, default: ""] += open.closing }
        if let ruleName = ruleNames[rule], rule > 0 {
          if declaredRules.insert(rule).inserted {
            lines[rule, default: ""] += "extension \(name) { @Suite struct \(ruleName) {"
            open = (rule, " } }")
          } else {
            lines[1, default: ""] += "extension \(name).\(ruleName) {"
            open = (rule, " }")
          }
        } else {
          lines[1, default: ""] += "extension \(name) {"
          open = (0, " }")
        }
      }
      last = scenario.line
      lines[last, default: ""] += test(of: scenario, in: rule)
    }
    lines[last, default: ""] += open?.closing ?? ""
    return (1...(lines.keys.max() ?? 1)).map { lines[$0] ?? "" }.joined(separator: "\n") + "\n"
  }

  private mutating func test(of scenario: PackedScenario, in rule: Int) -> String {
    // If an outline's name has no placeholder, the values of the rows make their names unique.
    let isAmbiguous = counts[Self.key(scenario), default: 0] > 1 && !scenario.row.isEmpty
    let name = isAmbiguous ? "\(scenario.name) (\(scenario.row.joined(separator: ", ")))" : scenario.name
    switch library {
    case .swiftTesting:
      var identifier = Identifier.text(name)
      if isReserved(identifier, in: rule) { identifier = "Scenario: \(identifier)" }
      identifier = Identifier.unique(identifier, &tests[rule, default: []])
      // A static function costs the compiler a tenth less.
      return "@Test(.scenario(\(scenario.packed.literal))) static func `\(identifier)`() async throws "
        + "{ try await DioramaScenarios.run(Features()) }"
    case .xctest:
      let words = Identifier.ascii(scenario.rule.map { "\($0) \(name)" } ?? name, capitalized: false)
      let identifier = Identifier.unique(
        "test_\(words)", &tests[rule, default: []], separator: "_line\(scenario.line)_")
      return "@MainActor func \(identifier)() async throws { try await run(scenario: \(scenario.packed.literal), "
        + "of: \(feature.name.literal), in: \(path.literal), Features()) }"
    }
  }

  /// Whether a test of this name would hide what the generated code and macros refer to.
  private func isReserved(_ identifier: String, in rule: Int) -> Bool {
    ["DioramaScenarios", "Features", "Protocol", "Testing", "Type"].contains(identifier)
      || "`\(identifier)`" == name || "`\(identifier)`" == ruleNames[rule]
  }

  private static func key(_ scenario: PackedScenario) -> String { "\(scenario.rule ?? "")\u{0}\(scenario.name)" }
}
