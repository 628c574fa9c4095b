import Basics
import Foundation
import Gherkin
import ScenarioReports
import Testing

@testable import DioramaScenarios

/// Cucumber's compatibility kit: the same features must produce the same messages.
///
/// Messages are compared without what is particular to a run or a language: times, places in code, names of error types,
/// stack traces and snippets. Ids are numbered by their order. Definitions are sent when the first scenario starts, not
/// before the run, so messages are first sorted by kind up to those about the run itself.
///
/// Two kits do not apply: `test-run-exception` (a runner of its own fails outside of scenarios; here the test library runs
/// them) and `multiple-features-reversed` (an option of the runner; here the test library orders tests).
@Suite struct CompatibilityKitTests {
  @Test("produces the kit's messages", arguments: kits.keys.sorted())
  func producesMessages(kit: String) async throws {
    let kit = try CompatibilityKit(name: kit)
    let messages = try await kit.run()
    // The kit's parser takes a part of a table for a description; that of Gherkin's test data does not.
    let ignored: Set<String> = kit.name == "markdown" ? ["description"] : []
    let actual = CompatibilityKit.normalized(
      try messages.map { try JSON.parse([UInt8]($0.encoded().utf8)) }, ignoring: ignored)
    let expected = CompatibilityKit.normalized(kit.expected, ignoring: ignored)
    for (index, (actual, expected)) in zip(actual, expected).enumerated() where actual != expected {
      let common = actual.commonPrefix(with: expected).dropLast(60).count
      Issue.record(
        """
        message \(index), after \(common) characters
        expected: \(expected.dropFirst(common))
        actual:   \(actual.dropFirst(common))
        """)
      break
    }
    #expect(actual.count == expected.count)
  }

  @Test("has definitions for all kits that apply")
  func isComplete() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: CompatibilityKit.folder.path)
      .filter { !["LICENSE", "NOTICE"].contains($0) }
    #expect(Set(names) == Set(kits.keys).union(["test-run-exception", "multiple-features-reversed"]))
  }
}

/// A folder of the kit (see `Fixtures/CompatibilityKit/NOTICE`).
struct CompatibilityKit {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Fixtures/CompatibilityKit")

  let name: String
  private var folder: URL { Self.folder.appending(path: name) }
  let expected: [JSON]

  init(name: String) throws {
    self.name = name
    expected = try String(
      contentsOf: Self.folder.appending(path: "\(name)/\(name).ndjson"), encoding: .utf8
    ).split(separator: "\n").map { try JSON.parse([UInt8]($0.utf8)) }
  }

  /// Runs the kit's features.
  func run() async throws -> [Message] {
    let messages = Guarded<[Message]>([])
    let process = ScenarioProcess(
      observers: [ReportObserver { message in messages.withLock { $0.append(message) } }])
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    for file in files where file.hasSuffix(".feature") || file.hasSuffix(".feature.md") {
      let path = folder.appending(path: file).path
      let document = try GherkinParser().parse(String(contentsOfFile: path, encoding: .utf8), uri: path)
      for scenario in PackedScenario.all(in: document) {
        let progress = ScenarioProgress()
        _ = try await ScenarioRunner(
          scenario: scenario,
          source: FeatureSource(name: document.feature?.name ?? "", path: path, module: "Kit"), progress: progress,
          process: process, retries: files.contains("\(name).arguments.txt") ? 2 : 0,
          fail: { message, _ in progress.note(message) }, makeDefinitions: { kits[name]?() ?? Steps {} }
        ).run()
      }
    }
    _ = await process.finish()
    return messages.withLock { $0 }
  }

  // MARK: Comparison

  private static let order = [
    "source", "gherkinDocument", "pickle", "parameterType", "undefinedParameterType", "stepDefinition", "hook",
    "testCase",
  ]
  private static let ignored: Set<String> = [
    "timestamp", "duration", "sourceReference", "uri", "snippets", "stackTrace", "exception",
  ]

  /// Messages as lines, to compare with others.
  static func normalized(_ messages: [JSON], ignoring others: Set<String>) -> [String] {
    let ignored = ignored.union(others)
    var numbers: [String: Int] = [:]
    func number(_ id: JSON) -> JSON {
      guard case .string(let id) = id else { return id }
      let number = numbers[id] ?? numbers.count
      numbers[id] = number
      return .string("id \(number)")
    }
    func normalized(_ value: JSON, _ name: String) -> JSON {
      if case .array(let elements) = value {
        return .array(elements.map { name.hasSuffix("Ids") ? number($0) : normalized($0, name) })
      }
      if name == "id" || name.hasSuffix("Id") { return number(value) }
      guard case .object(let members) = value else { return value }
      return .object(
        members.sorted { $0.key < $1.key }.filter { !ignored.contains($0.key) }
          .map { .init($0.key, normalized($0.value, $0.key)) })
    }
    func rank(_ message: JSON) -> Int {
      guard case .object(let members) = message, let kind = members.first?.key else { return -1 }
      return order.firstIndex(of: kind) ?? order.count
    }
    return messages.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
      .map { String(decoding: normalized($0.element, "").encoded(), as: UTF8.self) }
      .filter { !$0.hasPrefix("{\"meta\"") }
  }
}
