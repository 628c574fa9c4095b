import Basics
import Foundation
import Gherkin
import Testing
import XCTest

/// A step of a test method.
struct InlineStep: Sendable {
  let step: PackedScenario.Step
  let file: StaticString
  let line: UInt

  init(
    _ keyword: String, _ text: String, _ table: [[String]]?, _ docString: String?, _ file: StaticString, _ line: UInt
  ) {
    let type: PickleStepType =
      switch keyword {
      case "Given": .context
      case "When": .action
      case "Then": .outcome
      default: .unknown
      }
    self.init(
      PackedScenario.Step(
        keyword: keyword + " ", type: type, text: text, line: Int(line), column: 1, table: table,
        docString: docString), file, line)
  }

  private init(_ step: PackedScenario.Step, _ file: StaticString, _ line: UInt) {
    (self.step, self.file, self.line) = (step, file, line)
  }

  var keyword: String { step.keyword }
  /// With the keyword, for messages.
  var name: String { step.keyword + step.text }
  var path: String { "\(file)" }

  /// The step with other texts.
  func replacing(_ replace: (String) -> String) -> InlineStep {
    var step = step
    step.text = replace(step.text)
    step.table = step.table?.map { $0.map(replace) }
    step.docString = step.docString.map(replace)
    return InlineStep(step, file, line)
  }

  /// Runs a body as an activity, where XCTest has them.
  func run(_ body: () -> Void) {
    #if canImport(Darwin)
      // XCTest runs test methods that are not asynchronous on the main thread.
      nonisolated(unsafe) let body = body
      MainActor.assumeIsolated { XCTContext.runActivity(named: name) { _ in body() } }
    #else
      body()
    #endif
  }
}

/// A scenario that a test method runs step by step, or a pass of an outline.
final class InlineScenario {
  let firstStep: InlineStep
  /// Whether later steps are skipped.
  var isBlocked = false
  private(set) var skipReason: String?
  private let context: ScenarioContext
  private let catalog: StepCatalog
  private var hasStarted = false
  private var hasEnded = false

  init(name: String, at step: InlineStep, steps: [Step]) {
    firstStep = step
    catalog = StepCatalog(steps)
    // XCTest's name is `Class.method`.
    let names = name.split(separator: ".", maxSplits: 1).map(String.init)
    // So that hooks of the end of the run know that a scenario has run.
    _ = ScenarioProcess.shared.nextID()
    context = ScenarioContext(
      PackedScenario(name: names.last ?? name, line: Int(step.line), column: 1, steps: []),
      of: FeatureSource(name: names.first ?? name, path: step.path, module: ""), attempt: 0,
      progress: ScenarioProgress(), catalog: catalog
    ) { _, _ in }
  }

  /// Runs a step, with the hooks around it.
  ///
  /// - Parameters:
  ///   - hasFailed: whether an assertion in the step has failed.
  ///   - fail: records a failure at the step's line.
  func run(_ step: InlineStep, hasFailed: () -> Bool, fail: (String) -> Void) async {
    await start(fail)
    let text = step.step.text
    do {
      switch try catalog.match(text) {
      case .none:
        Self.log(step, text, isSkipped: isBlocked)
        block()
        print(catalog.listing)
        fail("Step definition not found for '\(text)'\n\(catalog.undefinedMessage(for: step.step))")
      case .several(let matches):
        Self.log(step, text, isSkipped: isBlocked)
        block()
        fail(StepCatalog.ambiguousMessage(for: step.step, matches))
      case .one(let match):
        let readable = match.definition.searchedExpression?.readable(text) ?? text
        Self.log(step, readable, isSkipped: isBlocked)
        guard !isBlocked else { return }
        context.state.withLock { $0.step = step.step }
        defer { context.state.withLock { $0.step = nil } }
        try await ScenarioContext.$current.withValue(context) { try await run(match, of: step.step) }
        if hasFailed() { block() }
      }
    } catch let error as SkippedStep {
      isBlocked = true
      skipReason = error.reason
    } catch {
      block()
      fail("\(error) (in '\(step.name)')")
    }
  }

  private func run(_ match: StepMatch, of step: PackedScenario.Step) async throws {
    let body = try match.bound(to: step)
    for hook in catalog.hooks(.beforeStep, for: []) { try await hook.body() }
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    if case .failure(let error) = outcome, !(error is SkippedStep) { context.state.withLock { $0.hasFailed = true } }
    for hook in catalog.hooks(.afterStep, for: []) { try await hook.body() }
    try outcome.get()
  }

  /// Runs the hooks ahead of the first step.
  private func start(_ fail: (String) -> Void) async {
    guard !hasStarted else { return }
    hasStarted = true
    for problem in catalog.problems {
      block()
      fail("\(problem.place.shortText): \(problem.message)")
    }
    if let problem = await ScenarioProcess.shared.runBeforeHooks(of: catalog) {
      block()
      fail(problem)
    }
    for hook in catalog.hooks(.beforeScenario, for: []) where !isBlocked { await run(hook, fail) }
  }

  /// Runs the hooks after the last step, once.
  func end(fail: (String) -> Void) async {
    guard !hasEnded else { return }
    hasEnded = true
    for hook in catalog.hooks(.afterScenario, for: []) { await run(hook, fail) }
  }

  private func run(_ hook: Hook, _ fail: (String) -> Void) async {
    do {
      try await ScenarioContext.$current.withValue(context) { try await hook.body() }
    } catch let error as SkippedStep {
      isBlocked = true
      skipReason = error.reason
    } catch {
      block()
      fail("\(error) (in the \(hook.description))")
    }
  }

  private func block() {
    isBlocked = true
    context.state.withLock { $0.hasFailed = true }
  }

  private static func log(_ step: InlineStep, _ text: String, isSkipped: Bool) {
    print("step \(text)\(isSkipped ? " (skipped)" : "")")
  }
}

extension StepCatalog {
  /// All definitions, sorted, with their places.
  fileprivate var listing: String {
    let lines = definitions.map { "/\($0.pattern.source)/ (\($0.file))" }.sorted()
    return (["steps", "-------------"] + lines + ["-------------"]).joined(separator: "\n")
  }
}
