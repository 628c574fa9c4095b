import Basics
import CucumberExpressions
import DioramaTesting
import Foundation
import Gherkin
import ScenarioReports
import Testing

/// The failures of a scenario that is running, as the test library reports them.
final class ScenarioProgress: Sendable {
  /// That of the running test.
  @TaskLocal static var current: ScenarioProgress?

  private struct State {
    var failures: [String] = []
    /// The step that is running, for messages: `in booking.feature:12: When she books 2 slots`.
    var place: String?
    var willBeRetried = false
  }

  private let state = Guarded(State())

  /// Notes a failure that the test library has recorded.
  ///
  /// - Returns: the running step, for the message, and whether the failure is not the last word, since the scenario will be
  ///   tried again.
  @discardableResult
  func note(_ failure: String) -> (place: String?, willBeRetried: Bool) {
    state.withLock { state in
      state.failures.append(failure)
      return (state.place, state.willBeRetried)
    }
  }

  /// The failures since the last call.
  func takeFailures() -> [String] {
    state.withLock { state in
      defer { state.failures = [] }
      return state.failures
    }
  }

  /// Whether there are failures that ``takeFailures()`` has not returned.
  var hasFailures: Bool { state.withLock { !$0.failures.isEmpty } }

  /// Whether the scenario will be tried again if it fails.
  var willBeRetried: Bool { state.withLock { $0.willBeRetried } }

  func begin(willBeRetried: Bool) {
    state.withLock { $0 = State(willBeRetried: willBeRetried) }
  }

  /// Makes failures final: nothing would be different the next time.
  func forbidRetry() { state.withLock { $0.willBeRetried = false } }

  func enter(_ place: String?) { state.withLock { $0.place = place } }
}

/// Runs a scenario, in a test of any test library.
struct ScenarioRunner {
  /// How an attempt ended.
  enum Outcome {
    case passed, failed
    case skipped(String)
  }

  let scenario: PackedScenario
  let source: FeatureSource
  let progress: ScenarioProgress
  /// What is shared by the scenarios of the process.
  let process: ScenarioProcess
  /// Extra attempts of a scenario that fails, unless its tag `@retry:N` says otherwise.
  var retries = 0
  /// Records a failure with the test library, which tells ``progress``.
  let fail: (_ message: String, _ place: SourceLocation) -> Void
  /// Hands an attachment to the test library. It may be called on any thread.
  var attach: @Sendable (_ attachment: ScenarioAttachment, _ place: SourceLocation) -> Void = { _, _ in }
  let makeDefinitions: () throws -> any StepDefinitions

  /// Runs the scenario, again if it fails and may be retried.
  ///
  /// - Returns: how its last attempt ended.
  /// - Throws: only what cancels the test.
  func run() async throws -> Outcome {
    let id = process.nextID()
    let retries: Int
    do { retries = try scenario.retries ?? self.retries } catch {
      fail("\(error)", in: "reads the tags", of: id, attempt: 0)
      process.noteFailure()
      return .failed
    }
    var outcome = Outcome.passed
    for attempt in 0...retries {
      progress.begin(willBeRetried: attempt < retries)
      outcome = try await run(id, attempt: attempt)
      guard case .failed = outcome, progress.willBeRetried else { break }
    }
    if case .failed = outcome { process.noteFailure() }
    return outcome
  }

  private func run(_ id: ScenarioPlan.ID, attempt: Int) async throws -> Outcome {
    let definitions: any StepDefinitions
    do { definitions = try makeDefinitions() } catch {
      // A plan without the definitions is not that of other attempts.
      progress.forbidRetry()
      fail("the step definitions cannot be created: \(error)", in: "creates the definitions", of: id, attempt: attempt)
      return .failed
    }
    let catalog = StepCatalog(definitions.steps)
    let attempt = ScenarioAttempt(self, id, catalog, definitions.configuration, attempt: attempt)
    if attempt.number == 0 { process.tell(.found(attempt.plan)) }
    // Definitions, and hooks of the run, are the same the next time.
    if let problem = await process.runBeforeHooks(of: catalog) {
      progress.forbidRetry()
      fail(problem, location(scenario.line, scenario.column))
      return .failed
    }
    if !catalog.problems.isEmpty || attempt.hasMismatch { progress.forbidRetry() }
    for problem in catalog.problems { fail(problem.message, problem.place) }
    return try await attempt.run()
  }

  /// Records a failure that occurs before any step can run. In reports it is that of a hook.
  private func fail(_ message: String, in hook: String, of id: ScenarioPlan.ID, attempt: Int) {
    let place = location(scenario.line, scenario.column)
    fail(message, place)
    let before = Before(
      hook, fileID: place.fileID, filePath: place.filePath, line: place.line, column: place.column, {})
    ScenarioAttempt(self, id, StepCatalog(before.steps), nil, attempt: attempt).report(message)
  }

  /// A place in the feature file.
  func location(_ line: Int, _ column: Int) -> SourceLocation {
    SourceLocation(
      fileID: "\(source.module)/\(source.file)", filePath: source.path, line: max(line, 1), column: max(column, 1))
  }
}

extension PackedScenario {
  /// The extra attempts that the last tag `@retry:N` asks for.
  fileprivate var retries: Int? {
    get throws {
      guard let tag = tags.last(where: { $0.hasPrefix("@retry:") }) else { return nil }
      guard let number = Int(tag.dropFirst(7)), (0...100).contains(number) else {
        throw ScenarioError(
          "'\(tag)' is not valid; write the number of extra attempts, from 0 to 100, such as @retry:2")
      }
      return number
    }
  }
}

/// One attempt to run a scenario.
private final class ScenarioAttempt {
  private let runner: ScenarioRunner
  private let catalog: StepCatalog
  private let context: ScenarioContext
  let plan: ScenarioPlan
  /// From 0.
  let number: Int
  /// The hooks and steps, in the order of the plan.
  private var items: [Item] = []
  private var skipReason: String?
  /// Whether the rest of the steps is skipped.
  private var isBlocked = false
  /// The scenario's environment, from its provisioning to its end.
  private var environment: ScenarioEnvironment?
  /// The error that the test library cancels the test with.
  private var cancellation: (any Error)?
  private let screens = ScenarioScreens()
  private var screenshots: ScreenshotRecorder

  fileprivate enum Item {
    case step(PackedScenario.Step, Result<StepCatalog.Match, any Error>)
    case hook(Hook)
    case provisioning(ScenarioEnvironment)
    case ending(ScenarioEnvironment)
  }

  /// Whether a step has no definition, or several.
  var hasMismatch: Bool {
    items.contains { item in
      guard case .step(_, let match) = item else { return false }
      if case .success(.one) = match { return false }
      return true
    }
  }

  init(
    _ runner: ScenarioRunner, _ id: ScenarioPlan.ID, _ catalog: StepCatalog,
    _ configuration: TestEnvironment.Configuration?, attempt: Int
  ) {
    self.runner = runner
    self.catalog = catalog
    number = attempt
    let scenario = runner.scenario
    let environment = ScenarioEnvironment(
      for: scenario, of: runner.source, configuration, at: runner.location(scenario.line, scenario.column))
    items += environment.map { [.provisioning($0)] } ?? []
    items += catalog.hooks(.beforeScenario, for: scenario.tags).map(Item.hook)
    items += scenario.steps.map { step in Item.step(step, Result { try catalog.match(step.text) }) }
    items += catalog.hooks(.afterScenario, for: scenario.tags).map(Item.hook)
    items += environment.map { [.ending($0)] } ?? []
    let process = runner.process
    let plan = ScenarioPlan(id, scenario, of: runner.source, items: items.map(\.planned), catalog)
    self.plan = plan
    let attach = runner.attach
    let places = items.map { $0.place(in: runner) }
    let scenarioPlace = runner.location(scenario.line, scenario.column)
    context = ScenarioContext(
      scenario, of: runner.source, attempt: attempt, progress: runner.progress, catalog: catalog
    ) { attachment, index in
      process.tell(.attached(plan.id, attempt: attempt, index: index, attachment))
      // Logs and links are part of a report's text.
      guard ![ScenarioAttachment.log, ScenarioAttachment.links].contains(attachment.mediaType) else { return }
      attach(attachment, index.map { places[$0] } ?? scenarioPlace)
    }
    screenshots = ScreenshotRecorder(screens: screens) { [context] bytes, mediaType, name in
      context.attach(bytes, mediaType: mediaType, name: name)
    }
  }

  func run() async throws -> ScenarioRunner.Outcome {
    let process = runner.process
    if number == 0 { process.tell(.planned(plan)) }
    process.tell(.attemptStarted(plan.id, attempt: number))
    // Errors in definitions and hooks of the run fail the scenario before its first step.
    let failures = runner.progress.takeFailures()
    context.state.withLock { $0.hasFailed = !failures.isEmpty }
    isBlocked = !failures.isEmpty
    for index in items.indices {
      await ScenarioContext.$current.withValue(context) {
        await ScenarioScreens.$current.withValue(screens) {
          guard let environment = environment?.environment else { return await run(index) }
          await environment.asCurrent { await run(index) }
        }
      }
      // Hooks after the scenario may close its screens.
      if index == lastStep { _ = await screenshots.scenarioEnded(failed: context.hasFailed) }
    }
    let hasFailed = context.hasFailed
    process.tell(
      .attemptFinished(plan.id, attempt: number, willBeRetried: hasFailed && runner.progress.willBeRetried))
    if let cancellation { throw cancellation }
    if hasFailed { return .failed }
    return skipReason.map { .skipped($0) } ?? .passed
  }

  /// Reports an attempt in which nothing can run: its hook as failed, the steps as skipped.
  func report(_ message: String) {
    let process = runner.process
    if number == 0 {
      process.tell(.found(plan))
      process.tell(.planned(plan))
    }
    process.tell(.attemptStarted(plan.id, attempt: number))
    for index in items.indices {
      process.tell(.stepStarted(plan.id, attempt: number, index: index))
      var result = StepResult(status: .skipped)
      if case .hook = items[index] { result = StepResult(status: .failed, message: message) }
      process.tell(.stepFinished(plan.id, attempt: number, index: index, result))
    }
    process.tell(.attemptFinished(plan.id, attempt: number, willBeRetried: runner.progress.willBeRetried))
  }

  /// The index of what precedes the hooks after the scenario.
  private var lastStep: Int? {
    items.lastIndex { item in
      switch item {
      case .step, .provisioning: true
      case .hook(let hook): hook.moment == .beforeScenario
      case .ending: false
      }
    }
  }

  private func run(_ index: Int) async {
    let process = runner.process
    context.state.withLock { $0.index = index }
    process.tell(.stepStarted(plan.id, attempt: number, index: index))
    let start = ContinuousClock.now
    var result: StepResult
    do {
      switch items[index] {
      case .hook(let hook): result = try await run(hook)
      case .step(let step, let match): result = try await run(step, match)
      case .provisioning(let environment): result = try await provision(environment)
      case .ending(let environment): result = await end(environment)
      }
    } catch {
      // Hooks after the scenario run nevertheless.
      cancellation = cancellation ?? error
      result = StepResult(status: .skipped, message: "the test was cancelled")
    }
    result.duration = ContinuousClock.now - start
    switch result.status {
    case .passed: break
    case .skipped:
      if !isBlocked { skipReason = result.message ?? "" }
      isBlocked = true
    case .failed, .pending, .undefined, .ambiguous:
      isBlocked = true
      context.state.withLock { $0.hasFailed = true }
    }
    context.state.withLock { $0.index = nil }
    process.tell(.stepFinished(plan.id, attempt: number, index: index, result))
  }

  private func provision(_ environment: ScenarioEnvironment) async throws -> StepResult {
    guard !isBlocked else { return StepResult(status: .skipped) }
    return try await result(at: environment.place) {
      try await environment.provision()
      self.environment = environment
    }
  }

  private func end(_ environment: ScenarioEnvironment) async -> StepResult {
    guard self.environment != nil else { return StepResult(status: .skipped) }
    self.environment = nil
    // A recording up to a step that skips the rest is incomplete, too.
    let failure = await environment.end(hasFailed: context.hasFailed || skipReason != nil, context)
    if let failure { runner.fail(failure, environment.place) }
    report(environment.takeFailures(), at: environment.place)
    return taken().map { StepResult(status: .failed, message: $0) } ?? StepResult(status: .passed)
  }

  /// Reports failures that the environment has noted, such as those of verifications.
  private func report(_ failures: [(message: String, place: SourceLocation?)], at place: SourceLocation) {
    for failure in failures { runner.fail(failure.message, failure.place ?? place) }
  }

  private func run(_ hook: Hook) async throws -> StepResult {
    if hook.moment == .beforeScenario, isBlocked { return StepResult(status: .skipped) }
    runner.progress.enter("in the \(hook.description) of '\(runner.scenario.name)'")
    defer { runner.progress.enter(nil) }
    return try await result(at: hook.place) { try await hook.body() }
  }

  private func run(
    _ step: PackedScenario.Step, _ match: Result<StepCatalog.Match, any Error>
  ) async throws -> StepResult {
    // Steps after one that skips the scenario need not be defined.
    guard skipReason == nil else { return StepResult(status: .skipped) }
    let place = runner.location(step.line, step.column)
    runner.progress.enter("in \(runner.source.file):\(step.line): \(step.keyword)\(step.text)")
    context.state.withLock { $0.step = step }
    defer {
      runner.progress.enter(nil)
      context.state.withLock { $0.step = nil }
    }
    switch match {
    case .failure(let error):
      runner.fail("\(error)", place)
      return StepResult(status: .failed, message: taken())
    case .success(.none):
      let message = catalog.undefinedMessage(for: step)
      let snippet = catalog.snippet(for: step)
      runner.process.noteUndefined(step, at: place, snippet)
      runner.fail(message, place)
      _ = taken()
      return StepResult(status: .undefined, message: message, snippet: snippet)
    case .success(.several(let matches)):
      let message = StepCatalog.ambiguousMessage(for: step, matches)
      runner.fail(message, place)
      _ = taken()
      return StepResult(status: .ambiguous, message: message)
    case .success(.one(let match)):
      guard !isBlocked else { return StepResult(status: .skipped) }
      let tags = runner.scenario.tags
      await screenshots.beforeStep(step.text)
      let result = try await result(at: place, of: match.definition) { [catalog] in
        let body = try match.bound(to: step)
        var failure: (any Error)?
        do {
          for hook in catalog.hooks(.beforeStep, for: tags) { try await hook.body() }
          try await body()
        } catch { failure = error }
        if let failure, !(failure is SkippedStep), !(failure is PendingStep) {
          self.context.state.withLock { $0.hasFailed = true }
        }
        for hook in catalog.hooks(.afterStep, for: tags) {
          do { try await hook.body() } catch {
            // The first error is the step's.
            if failure == nil { failure = error } else { self.runner.fail("the \(hook.description): \(error)", place) }
          }
        }
        if let failure { throw failure }
      }
      await screenshots.afterStep(step.text, failed: result.status == .failed)
      return result
    }
  }

  /// Runs code, and records the error that it throws.
  private func result(
    at place: SourceLocation, of definition: Definition? = nil, _ body: () async throws -> Void
  ) async throws -> StepResult {
    var thrown: (any Error)?
    do {
      defer { report(environment?.takeFailures() ?? [], at: place) }
      try await body()
    } catch { thrown = error }
    guard let thrown else {
      return taken().map { StepResult(status: .failed, message: $0) } ?? StepResult(status: .passed)
    }
    // Cancellation of the test, for which the test library throws an error of its own.
    if Task.isCancelled { throw thrown }
    // Failures that it recorded before count more than pending or skipped.
    let recorded = taken()
    let places = [definition?.file ?? place.shortText, definition.map { _ in place.shortText }].compactMap { $0 }
    var result = StepResult(status: .failed, message: recorded, errorType: "\(type(of: thrown))", places: places)
    switch thrown {
    case let pending as PendingStep:
      runner.progress.forbidRetry()
      runner.fail("\(pending)", place)
      if recorded == nil { result.status = .pending }
      result.message = recorded ?? pending.reason
    case let skipped as SkippedStep:
      if recorded == nil { result.status = .skipped }
      result.message = recorded ?? skipped.reason
    case is ExpectationFailedError where recorded != nil:
      // `#require` has recorded its failure before it throws.
      break
    default:
      let separator = "\(thrown)".contains("\n") ? "\n" : " "
      runner.fail("\(thrown)" + (definition.map { "\(separator)(in the step defined at \($0.file))" } ?? ""), place)
      result.message = [recorded, "\(thrown)"].compactMap { $0 }.joined(separator: "\n")
    }
    _ = taken()
    return result
  }

  private func taken() -> String? {
    let failures = runner.progress.takeFailures()
    return failures.isEmpty ? nil : failures.joined(separator: "\n")
  }
}

extension ScenarioAttempt.Item {
  /// The place of a step in the feature file, or of a hook in its Swift file.
  fileprivate func place(in runner: ScenarioRunner) -> SourceLocation {
    switch self {
    case .provisioning(let environment), .ending(let environment): environment.place
    case .hook(let hook): hook.place
    case .step(let step, _): runner.location(step.line, step.column)
    }
  }

  fileprivate var planned: ScenarioPlan.Item {
    switch self {
    case .provisioning(let environment):
      .hook(moment: .beforeScenario, name: "provisions the environment", tags: nil, place: environment.place)
    case .ending(let environment):
      .hook(moment: .afterScenario, name: "ends the environment", tags: nil, place: environment.place)
    case .hook(let hook): .init(hook)
    case .step(let step, let match): .init(step, try? match.get())
    }
  }
}

extension ScenarioPlan {
  init(
    _ id: ID, _ scenario: PackedScenario, of source: FeatureSource, items: [Item], _ catalog: StepCatalog
  ) {
    self.init(
      id: id, scenario: scenario, source: source, items: items,
      parameterTypes: catalog.parameterTypes.parameterTypes.compactMap { type in
        catalog.parameterTypePlaces[type.name].map { (type, $0) }
      },
      undefinedParameterTypes: catalog.undefinedParameterTypes.map { .init(expression: $0.expression, name: $0.name) },
      definitions: catalog.validDefinitions.map { $0.matched([]) }, hooks: catalog.hooks.map(Item.init))
  }
}

extension ScenarioPlan.Item {
  /// A step with what it matches; nil if it cannot be matched.
  init(_ step: PackedScenario.Step, _ match: StepCatalog.Match?) {
    let matches: [StepMatch] =
      switch match {
      case .one(let match): [match]
      case .several(let matches): matches
      case .none?, nil: []
      }
    self = .step(step, definitions: matches.map { $0.planned(in: step.text) })
  }
}

extension StepMatch {
  fileprivate func planned(in text: String) -> ScenarioPlan.MatchedDefinition {
    func group(_ range: Range<String.Index>?, _ children: [Argument.Group] = []) -> Message.Group {
      Message.Group(
        children: children.isEmpty ? nil : children.map { group($0.range, $0.children) },
        start: range.map { text.utf16.distance(from: text.startIndex, to: $0.lowerBound) },
        value: range.map { String(text[$0]) })
    }
    return definition.matched(
      definition.isRegularExpression
        ? groups.map { .init(group: group($0)) }
        : arguments.map {
          .init(group: group($0.group.range, $0.group.children), parameterTypeName: $0.parameterType.name)
        })
  }
}

extension Definition {
  fileprivate func matched(_ arguments: [Message.StepMatchArgument]) -> ScenarioPlan.MatchedDefinition {
    .init(source: pattern.source, isRegularExpression: isRegularExpression, place: place, arguments: arguments)
  }
}
