import Basics
import Gherkin
import Synchronization

/// The scenario that is running, for step definitions and hooks.
///
/// ```swift
/// After { if ScenarioContext.current?.hasFailed == true { print("failed:", ScenarioContext.current?.name ?? "") } }
/// ```
public final class ScenarioContext: Sendable {
  /// The context of the code that is running: of a step, or of a hook of a scenario.
  @TaskLocal public static var current: ScenarioContext?

  /// The scenario's name.
  public var name: String { scenario.name }
  /// The feature's name.
  public var feature: String { source.name }
  /// The name of the rule around the scenario.
  public var rule: String? { scenario.rule }
  /// The path of the feature file, or of the Swift file of a scenario written in Swift.
  public var path: String { source.path }
  /// The line of the scenario, or of its row of examples, from 1.
  public var line: Int { scenario.line }
  /// The tags of the feature, the rule, the scenario and the examples, each with its `@`.
  public var tags: [String] { scenario.tags }
  /// The number of earlier attempts; see the tag `@retry`.
  public let attempt: Int
  /// Whether a step or a hook has failed, including the running one.
  public var hasFailed: Bool { state.withLock { $0.hasFailed } || progress.hasFailures }
  /// The text of the step that is running, without its keyword; nil in hooks of the scenario.
  public var step: String? { state.withLock { $0.step?.text } }

  struct State {
    var hasFailed = false
    /// The step or hook that is running, by its index in the plan.
    var index: Int?
    var step: PackedScenario.Step?
  }

  let scenario: PackedScenario
  let source: FeatureSource
  let progress: ScenarioProgress
  let state = Guarded(State())
  /// What steps that call other steps look in. Only the scenario's own task uses it.
  nonisolated(unsafe) let catalog: StepCatalog
  let record: @Sendable (ScenarioAttachment, _ index: Int?) -> Void

  init(
    _ scenario: PackedScenario, of source: FeatureSource, attempt: Int, progress: ScenarioProgress,
    catalog: StepCatalog, record: @escaping @Sendable (ScenarioAttachment, _ index: Int?) -> Void
  ) {
    self.scenario = scenario
    self.source = source
    self.attempt = attempt
    self.progress = progress
    self.catalog = catalog
    self.record = record
  }

  /// Attaches data to the step or hook that is running, for reports and (except in XCTest on Linux) for the test.
  ///
  /// - Parameters:
  ///   - bytes: the data.
  ///   - mediaType: its type, such as `image/png`.
  ///   - name: a file name.
  public func attach(_ bytes: [UInt8], mediaType: String, name: String? = nil) {
    attach(ScenarioAttachment(bytes: bytes, mediaType: mediaType, name: name))
  }

  func attach(_ attachment: ScenarioAttachment) {
    record(attachment, state.withLock { $0.index })
  }
}

/// The file that a scenario comes from.
struct FeatureSource: Sendable, Hashable {
  /// The feature's name.
  let name: String
  /// The absolute path.
  let path: String
  /// The test's module.
  let module: String
  /// The argument for `swift test --filter` that runs the scenario alone; nil for the place in the generated file.
  var filter: String?

  /// The file's name.
  var file: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// Data that a scenario has attached.
struct ScenarioAttachment: Sendable {
  let bytes: [UInt8]
  let mediaType: String
  let name: String?
  /// Whether it was given as a text.
  var isText = false

  /// The name, or `attachment` with the extension for the media type.
  var fileName: String {
    if let name { return name }
    let ending = ["text/plain": "txt", "image/jpeg": "jpg", "image/svg+xml": "svg"][mediaType]
    return "attachment." + (ending ?? mediaType.split { "/+".contains($0) }.last.map(String.init) ?? "bin")
  }

  /// Where attachments of a hook of the run go.
  @TaskLocal static var recordOfRunHook: (@Sendable (ScenarioAttachment) -> Void)?

  /// Attaches it to the step or hook that is running, if there is one.
  func attach() {
    if let context = ScenarioContext.current { context.attach(self) } else { Self.recordOfRunHook?(self) }
  }
}

/// Throw this error to mark a step as not yet written. The scenario fails, and reports say `pending`.
///
/// ```swift
/// When("she pays by card") { throw PendingStep("needs the payment sandbox") }
/// ```
public struct PendingStep: Error, CustomStringConvertible {
  /// The reason.
  public let reason: String
  /// Creates the error.
  public init(_ reason: String = "") { self.reason = reason }
  /// `pending: <reason>`.
  public var description: String { reason.isEmpty ? "pending" : "pending: \(reason)" }
}

/// Throw this error from a step or a ``Before`` hook to skip the rest of the scenario. The test counts as skipped.
public struct SkippedStep: Error, CustomStringConvertible {
  /// The reason.
  public let reason: String
  /// Creates the error.
  public init(_ reason: String = "") { self.reason = reason }
  /// `skipped: <reason>`.
  public var description: String { reason.isEmpty ? "skipped" : "skipped: \(reason)" }
}

extension StepDefinitions {
  /// Attaches a text to the running step, for reports and (except in XCTest on Linux) for the test.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - mediaType: its type.
  ///   - name: a file name.
  public func attach(_ text: String, mediaType: String = "text/plain", name: String? = nil) {
    ScenarioAttachment(bytes: Array(text.utf8), mediaType: mediaType, name: name, isText: true).attach()
  }

  /// Attaches data to the running step, for reports and (except in XCTest on Linux) for the test.
  ///
  /// - Parameters:
  ///   - bytes: the data.
  ///   - mediaType: its type, such as `image/png`.
  ///   - name: a file name.
  public func attach(_ bytes: [UInt8], mediaType: String, name: String? = nil) {
    ScenarioAttachment(bytes: bytes, mediaType: mediaType, name: name).attach()
  }

  /// Adds a line to the running step's log, for reports.
  public func log(_ text: String) {
    attach(text, mediaType: ScenarioAttachment.log)
  }

  /// Adds a link to the running step, for reports.
  public func link(_ url: String) {
    attach(url, mediaType: ScenarioAttachment.links)
  }

  /// Runs another step, from a step definition.
  ///
  /// ```swift
  /// Given("a patient with an appointment") {
  ///   try await self.perform("a patient named \"Zoë\"")
  ///   try await self.perform("she books 1 slot")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - text: the step's text, without a keyword.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  /// - Throws: the step's error, or one that says that no step, or several, match the text.
  public func perform(_ text: String, table: [[String]]? = nil, docString: String? = nil) async throws {
    guard let context = ScenarioContext.current else {
      throw ScenarioError(
        "cannot perform '\(text)': call perform only in step definitions and hooks of a running scenario")
    }
    let step = PackedScenario.Step(
      keyword: "", text: text, line: context.line, column: 1, table: table, docString: docString)
    switch try context.catalog.match(text) {
    case .one(let match): try await match.bound(to: step)()
    case .none: throw ScenarioError(context.catalog.undefinedMessage(for: step))
    case .several(let matches): throw ScenarioError(StepCatalog.ambiguousMessage(for: step, matches))
    }
  }
}

extension ScenarioAttachment {
  /// The media types of Cucumber for logs and links.
  static let log = "text/x.cucumber.log+plain"
  static let links = "text/uri-list"
}

extension StepCatalog {
  /// What to do about a step that nothing matches.
  func undefinedMessage(for step: PackedScenario.Step) -> String {
    var lines = ["undefined step: \(step.keyword)\(step.text)"]
    let near = nearest(to: step.text)
    if !near.isEmpty {
      lines.append("similar: " + near.map { "'\($0.pattern.source)' (\($0.file))" }.joined(separator: ", "))
    }
    lines.append("define it:\n" + snippet(for: step).code)
    return lines.joined(separator: "\n")
  }

  /// What to do about a step that several definitions match.
  static func ambiguousMessage(for step: PackedScenario.Step, _ matches: [StepMatch]) -> String {
    let list = matches.map { "\n  '\($0.definition.pattern.source)' (\($0.definition.file))" }.joined()
    return "ambiguous step: \(step.keyword)\(step.text)\nThese definitions match it; change one of them:\(list)"
  }
}
