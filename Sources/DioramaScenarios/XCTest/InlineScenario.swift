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
  var place: SourceLocation {
    SourceLocation(
      fileID: "Tests/\(URL(filePath: path).lastPathComponent)", filePath: path, line: Int(line), column: 1)
  }

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
///
/// Its steps are known one by one, so observers receive its events when it has ended.
final class InlineScenario {
  /// Where the scenario comes from.
  struct Origin {
    /// The class of the test method.
    let feature: String
    let method: String
    /// The values of an outline's pass.
    let values: [(name: String, value: String)]

    /// `testBooks (name: Zoë)`.
    var name: String {
      values.isEmpty ? method : "\(method) (\(values.map { "\($0.name): \($0.value)" }.joined(separator: ", ")))"
    }
  }

  let firstStep: InlineStep
  /// Receives the failures of assertions.
  let progress = ScenarioProgress()
  private(set) var skipReason: String?
  private let id: ScenarioPlan.ID
  private let process: ScenarioProcess
  private let context: ScenarioContext
  private let catalog: StepCatalog
  private let screens = ScenarioScreens()
  private var screenshots: ScreenshotRecorder
  private var steps: [PackedScenario.Step] = []
  /// The steps and hooks so far.
  private var items: [ScenarioPlan.Item] = []
  /// The step or hook that is running.
  private var running: (index: Int, start: ContinuousClock.Instant)?
  private let events: Guarded<[(event: ScenarioEvent, time: Date)]>
  /// Whether later steps are skipped.
  private var isBlocked = false
  private var hasStarted = false
  private var hasEnded = false
  /// Whether a hook of the run has failed, which reports show in place of the scenario.
  private var isImpossible = false
  private var isTold = false

  init(_ origin: Origin, at step: InlineStep, steps: [Step], process: ScenarioProcess) {
    firstStep = step
    self.process = process
    let (id, catalog) = (process.nextID(), StepCatalog(steps))
    (self.id, self.catalog) = (id, catalog)
    let events = Guarded<[(event: ScenarioEvent, time: Date)]>([(.attemptStarted(id, attempt: 0), Date())])
    self.events = events
    let context = ScenarioContext(
      PackedScenario(name: origin.name, line: Int(step.line), column: 1, row: origin.values.map(\.value), steps: []),
      of: FeatureSource(name: origin.feature, path: step.path, module: ""), attempt: 0, progress: progress,
      catalog: catalog
    ) { attachment, index in
      events.withLock { $0.append((.attached(id, attempt: 0, index: index, attachment), Date())) }
    }
    self.context = context
    screenshots = ScreenshotRecorder(screens: screens) { bytes, mediaType, name in
      context.attach(bytes, mediaType: mediaType, name: name)
    }
  }

  // MARK: Steps

  /// Runs a step, with the hooks around it.
  ///
  /// - Parameters:
  ///   - step: the step.
  ///   - fail: records a failure at the step's line.
  func run(_ step: InlineStep, fail: (String) -> Void) async {
    await start(fail)
    let match = Result { try catalog.match(step.step.text) }
    let item = ScenarioPlan.Item(step.step, try? match.get())
    steps.append(step.step)
    let text = readableText(of: step, match)
    print("step \(text)\(isBlocked ? " (skipped)" : "")")
    // What the scenario skips itself need not be defined.
    guard skipReason == nil else { return skip(item) }
    switch match {
    case .failure(let error):
      await run(item, "in '\(step.name)'", fail) { throw error }
    case .success(.none):
      let message = catalog.undefinedMessage(for: step.step)
      let snippet = catalog.snippet(for: step.step)
      process.noteUndefined(step.step, at: step.place, snippet)
      begin(item)
      print(catalog.listing)
      fail("Step definition not found for '\(step.step.text)'\n\(message)")
      finish(StepResult(status: .undefined, message: message, snippet: snippet))
    case .success(.several(let matches)):
      let message = StepCatalog.ambiguousMessage(for: step.step, matches)
      begin(item)
      fail(message)
      finish(StepResult(status: .ambiguous, message: message))
    case .success(.one(let match)):
      guard !isBlocked else { return skip(item) }
      let places = [match.definition.file, step.place.shortText]
      await run(item, "in '\(step.name)'", step: step.step, places: places, fail) {
        try await run(match, of: step.step)
      }
    }
  }

  private func readableText(of step: InlineStep, _ match: Result<StepCatalog.Match, any Error>) -> String {
    let text = step.step.text
    guard case .success(.one(let match)) = match else { return text }
    return match.definition.searchedExpression?.readable(text) ?? text
  }

  private func run(_ match: StepMatch, of step: PackedScenario.Step) async throws {
    let body = try match.bound(to: step)
    var failure: (any Error)?
    do {
      for hook in catalog.hooks(.beforeStep, for: []) { try await hook.body() }
      try await body()
    } catch { failure = error }
    if let failure, !(failure is SkippedStep) { context.state.withLock { $0.hasFailed = true } }
    for hook in catalog.hooks(.afterStep, for: []) {
      // The first error is the step's.
      do { try await hook.body() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  // MARK: The beginning and the end

  /// Runs the hooks ahead of the first step.
  private func start(_ fail: (String) -> Void) async {
    guard !hasStarted else { return }
    hasStarted = true
    for problem in catalog.problems {
      block()
      fail("\(problem.place.shortText): \(problem.message)")
    }
    if let problem = await process.runBeforeHooks(of: catalog) {
      isImpossible = true
      block()
      fail(problem)
    }
    for hook in catalog.hooks(.beforeScenario, for: []) {
      if isBlocked { skip(.init(hook)) } else { await run(hook, fail) }
    }
  }

  /// Runs the hooks after the last step, and tells the observers of the scenario, once.
  func end(fail: (String) -> Void) async {
    guard !hasEnded else { return }
    hasEnded = true
    var screenshots = screenshots
    _ = await screenshots.scenarioEnded(failed: context.hasFailed)
    for hook in catalog.hooks(.afterScenario, for: []) { await run(hook, fail) }
    tell()
  }

  /// Ends the step or hook that takes too long; later steps are skipped.
  func giveUp(_ message: String) {
    block()
    finish(StepResult(status: .failed, message: message))
    if hasEnded { tell() }
  }

  private func tell() {
    guard !isTold else { return }
    isTold = true
    if context.hasFailed { process.noteFailure() }
    var scenario = context.scenario
    scenario.steps = steps
    let plan = ScenarioPlan(id, scenario, of: context.source, items: items, catalog)
    var told = events.withLock { $0 }
    told.append((.attemptFinished(id, attempt: 0, willBeRetried: false), Date()))
    let start = told[0].time
    process.tell(.found(plan), at: start)
    guard !isImpossible else { return }
    process.tell(.planned(plan), at: start)
    for (event, time) in told { process.tell(event, at: time) }
  }

  // MARK: Steps and hooks of the plan

  private func run(_ hook: Hook, _ fail: (String) -> Void) async {
    await run(.init(hook), "in the \(hook.description)", places: [hook.place.shortText], fail, hook.body)
  }

  /// Runs the code of a step or hook.
  ///
  /// - Parameters:
  ///   - item: the step or hook.
  ///   - place: what messages say about it.
  ///   - step: the step, unless it is a hook.
  ///   - places: where it is defined and used.
  ///   - fail: records the error that the code throws.
  ///   - body: the code.
  private func run(
    _ item: ScenarioPlan.Item, _ place: String, step: PackedScenario.Step? = nil, places: [String] = [],
    _ fail: (String) -> Void, _ body: () async throws -> Void
  ) async {
    let index = begin(item)
    context.state.withLock { $0.step = step }
    // A copy, since a step that takes too long may come back when another uses it.
    var screenshots = screenshots
    if let step { await screenshots.beforeStep(step.text) }
    var thrown: (any Error)?
    do {
      try await ScenarioContext.$current.withValue(context) {
        try await ScenarioScreens.$current.withValue(screens) { try await body() }
      }
    } catch { thrown = error }
    guard running?.index == index else { return }
    let recorded = progress.takeFailures()
    var result = StepResult(status: recorded.isEmpty ? .passed : .failed)
    result.message = recorded.isEmpty ? nil : recorded.joined(separator: "\n")
    if let thrown {
      result.errorType = "\(type(of: thrown))"
      result.places = places
    }
    switch thrown {
    case nil: break
    case let skipped as SkippedStep:
      skipReason = skipped.reason
      if recorded.isEmpty { (result.status, result.message) = (.skipped, skipped.reason) }
    case let pending as PendingStep:
      if recorded.isEmpty { (result.status, result.message) = (.pending, pending.reason) }
      fail("\(pending) (\(place))")
    case let error?:
      result.status = .failed
      result.message = (recorded + ["\(error)"]).joined(separator: "\n")
      fail("\(error) (\(place))")
    }
    if let step { await screenshots.afterStep(step.text, failed: result.status == .failed) }
    self.screenshots = screenshots
    guard running?.index == index else { return }
    finish(result)
  }

  private func skip(_ item: ScenarioPlan.Item) {
    begin(item)
    finish(StepResult(status: .skipped))
  }

  @discardableResult
  private func begin(_ item: ScenarioPlan.Item) -> Int {
    let index = items.count
    items.append(item)
    running = (index, .now)
    context.state.withLock { $0.index = index }
    note(.stepStarted(id, attempt: 0, index: index))
    return index
  }

  private func finish(_ result: StepResult) {
    guard let (index, start) = running else { return }
    running = nil
    var result = result
    if result.status != .skipped || result.message != nil { result.duration = ContinuousClock.now - start }
    switch result.status {
    case .passed: break
    case .skipped: isBlocked = true
    case .failed, .pending, .undefined, .ambiguous: block()
    }
    context.state.withLock { ($0.index, $0.step) = (nil, nil) }
    note(.stepFinished(id, attempt: 0, index: index, result))
  }

  private func note(_ event: ScenarioEvent) { events.withLock { $0.append((event, Date())) } }

  private func block() {
    isBlocked = true
    context.state.withLock { $0.hasFailed = true }
  }
}

extension StepCatalog {
  /// All definitions, sorted, with their places.
  fileprivate var listing: String {
    let lines = definitions.map { "/\($0.pattern.source)/ (\($0.file))" }.sorted()
    return (["steps", "-------------"] + lines + ["-------------"]).joined(separator: "\n")
  }
}
