import Basics
import Foundation
import Gherkin
import Testing
public import XCTest

/// A test case whose test methods consist of steps.
///
/// ```swift
/// final class BookingTests: ScenarioTestCase {
///   override func makeSteps() -> [Step] { Booking().steps }
///
///   func testBooksSlots() {
///     Given("a patient named \"Zoë\"")
///     When("she books 2 slots")
///     Then("slot 2 is taken")
///   }
/// }
/// ```
///
/// Define the steps in a type outside the test case: inside it, `Given` is the function that runs a step.
///
/// Each step finishes before the next line of the method runs, even if its closure is asynchronous. In an `async` test
/// method, write `await Given("…")`.
///
/// A step that fails is reported at its line, and ends the scenario: later steps are skipped. Other code of the test method
/// still runs. A step that throws ``SkippedStep`` skips the test.
///
/// Hooks of the step definitions run, too: ``Before`` before the first step, ``After`` before `tearDown`. Hooks with tag
/// expressions see no tags. ``TestEnvironment/current`` is the environment that `setUp` has provisioned.
open class ScenarioTestCase: XCTestCase {
  private var scenario: InlineScenario?
  /// The rows of ``Examples(_:)-(String...)``.
  private var examples: [[String]] = []
  /// The values of an outline's pass, by the names in angle brackets.
  private var values: [(name: String, value: String)] = []
  private var isOutlinePass = false
  /// Why a step has skipped the test.
  private var skipReason: String?
  /// The steps of ``Background()``, while an asynchronous test collects them.
  private var collected: [InlineStep]?
  private let running = Guarded<RunningStep?>(nil)
  /// Receives the events of the scenarios.
  var process: ScenarioProcess { .shared }

  /// How long a test method that is not `async` waits for a step. A step that takes longer fails.
  public var stepTimeLimit: Duration = .seconds(60)

  #if !canImport(Darwin)
    /// Creates the test case of a test method; called by XCTest.
    public required init(name: String, testClosure: @escaping XCTestCaseClosure) {
      super.init(name: name) { testCase in
        try testClosure(testCase)
        // Here, XCTest ignores a teardown block that skips the test.
        if let reason = (testCase as? ScenarioTestCase)?.skipReason { throw XCTSkip(reason) }
      }
    }
  #endif

  /// Creates the steps that tests can use. Called for each test and each pass of an outline, so each has its own state.
  ///
  /// - Returns: the steps; usually ``StepDefinitions/steps`` of one or more new objects.
  open func makeSteps() -> [Step] { [] }

  /// Steps to run before the first step of each scenario, and of each pass of an outline, but after `setUp`.
  ///
  /// In an `async` test method, its steps run after it has returned.
  open func Background() {}

  // MARK: Outlines

  /// The rows for the next `Outline`, the names in the first.
  public func Examples(_ rows: [String]...) { examples = rows }

  /// The rows for the next `Outline`, the names in the first.
  public func Examples(_ rows: [[String]]) { examples = rows }

  /// Runs steps for each row of the examples, with its values in place of `<name>`.
  ///
  /// ```swift
  /// Examples(["name", "age"], ["Alice", "20"], ["Bob", "20"])
  /// Outline {
  ///   Given("I use the example name <name>")
  ///   Then("The age should be <age>")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - steps: the steps.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Outline(_ steps: () -> Void, file: StaticString = #filePath, line: UInt = #line) {
    Outline(steps, examples: examples, file: file, line: line)
  }

  /// Runs steps for each row of the examples that follow.
  ///
  /// - Parameters:
  ///   - steps: the steps.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  ///   - examples: returns the rows, the names in the first.
  public func Outline(
    _ steps: () -> Void, file: StaticString = #filePath, line: UInt = #line, _ examples: () -> [[String]]
  ) {
    Outline(steps, examples: examples(), file: file, line: line)
  }

  /// Runs steps for each row of the examples.
  ///
  /// - Parameters:
  ///   - steps: the steps.
  ///   - examples: the rows, the names in the first.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Outline(
    _ steps: () -> Void, examples: [[String]], file: StaticString = #filePath, line: UInt = #line
  ) {
    guard !isInTask(file, line, "Outline") else { return }
    for row in passes(of: examples, file, line) {
      begin(row)
      steps()
      if let scenario { wait(file, line, "the After hooks") { await self.end(scenario) } }
      finishPass()
    }
  }

  /// Runs steps for each row of the examples, in an `async` test method.
  ///
  /// - Parameters:
  ///   - steps: the steps.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Outline(_ steps: () async -> Void, file: StaticString = #filePath, line: UInt = #line) async {
    await Outline(steps, examples: examples, file: file, line: line)
  }

  /// Runs steps for each row of the examples that follow, in an `async` test method.
  ///
  /// - Parameters:
  ///   - steps: the steps.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  ///   - examples: returns the rows, the names in the first.
  public func Outline(
    _ steps: () async -> Void, file: StaticString = #filePath, line: UInt = #line, _ examples: () -> [[String]]
  ) async {
    await Outline(steps, examples: examples(), file: file, line: line)
  }

  /// Runs steps for each row of the examples, in an `async` test method.
  ///
  /// - Parameters:
  ///   - steps: the steps.
  ///   - examples: the rows, the names in the first.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Outline(
    _ steps: () async -> Void, examples: [[String]], file: StaticString = #filePath, line: UInt = #line
  ) async {
    for row in passes(of: examples, file, line) {
      begin(row)
      await steps()
      if let scenario { await end(scenario) }
      finishPass()
    }
  }

  private func passes(of rows: [[String]], _ file: StaticString, _ line: UInt) -> [[(name: String, value: String)]] {
    examples = []
    guard let names = rows.first, rows.count > 1 else {
      fail("the outline has no examples; call Examples with a row of names and rows of values before it", file, line)
      return []
    }
    if let row = rows.first(where: { $0.count != names.count }) {
      let (values, columns) = (row.count, names.count)
      fail("the examples' row \(row) has \(values) values for \(columns) names; write one for each name", file, line)
      return []
    }
    return rows.dropFirst().map { row in zip(names, row).map { (name: $0, value: $1) } }
  }

  private func begin(_ row: [(name: String, value: String)]) {
    (values, scenario, isOutlinePass) = (row, nil, true)
  }

  private func finishPass() {
    (values, scenario, isOutlinePass) = ([], nil, false)
  }

  // MARK: Running steps

  func perform(_ step: InlineStep) {
    if collected != nil {
      collected?.append(step)
      return
    }
    guard !isInTask(step.file, step.line, step.keyword) else { return }
    if scenario == nil {
      start(at: step)
      Background()
    }
    guard let scenario else { return }
    let step = filled(step)
    step.run { wait(step.file, step.line, "'\(step.name)'") { await self.run(step, in: scenario) } }
  }

  func perform(_ step: InlineStep) async {
    var steps = [step]
    if scenario == nil {
      start(at: step)
      collected = []
      Background()
      steps = (collected ?? []) + steps
      collected = nil
    }
    guard let scenario else { return }
    for step in steps { await run(filled(step), in: scenario) }
  }

  private func start(at step: InlineStep) {
    let scenario = InlineScenario(
      .init(feature: "\(Self.self)", method: methodName, values: values), at: filled(step), steps: makeSteps(),
      process: process)
    self.scenario = scenario
    guard !isOutlinePass else { return }
    // XCTest runs the block within the test case, and no other code of the test case at the same time.
    nonisolated(unsafe) let (testCase, ending) = (self, scenario)
    addTeardownBlock {
      await testCase.end(ending)
      if testCase.scenario === ending { testCase.scenario = nil }
      #if canImport(Darwin)
        if let reason = testCase.skipReason { throw XCTSkip(reason) }
      #endif
    }
  }

  private func filled(_ step: InlineStep) -> InlineStep {
    guard !values.isEmpty else { return step }
    return step.replacing { text in
      // In one go, so that values may contain names.
      var (result, rest) = ("", text[...])
      while let start = rest.firstIndex(of: "<") {
        result += rest[..<start]
        rest = rest[start...]
        let value = values.first { rest.hasPrefix("<\($0.name)>") }
        result += value?.value ?? "<"
        rest = rest.dropFirst(value.map { $0.name.count + 2 } ?? 1)
      }
      return result + rest
    }
  }

  private func run(_ step: InlineStep, in scenario: InlineScenario) async {
    running.withLock { $0 = RunningStep(step: step, progress: scenario.progress) }
    defer { running.withLock { $0 = nil } }
    await scenario.run(step) { fail($0, step.file, step.line) }
    // A skipped row of an outline leaves the others.
    if !isOutlinePass { skipReason = scenario.skipReason }
  }

  private func end(_ scenario: InlineScenario) async {
    let step = scenario.firstStep
    running.withLock { $0 = RunningStep(step: nil, progress: scenario.progress) }
    defer { running.withLock { $0 = nil } }
    await scenario.end { fail($0, step.file, step.line) }
  }

  /// Runs an asynchronous body to its end on the main thread, whose run loop keeps running.
  private func wait(_ file: StaticString, _ line: UInt, _ what: String, _ body: @escaping () async -> Void) {
    let done = XCTestExpectation(description: what)
    // This thread waits until the task has ended.
    nonisolated(unsafe) let body = body
    let task: Task<Void, Never>
    if #available(macOS 26, iOS 26, *) {
      // Begins in this call, not as work of the main queue: the run loops that a step runs can then do such work.
      task = Task.immediate { @MainActor in
        await body()
        done.fulfill()
      }
    } else {
      task = Task { @MainActor in
        await body()
        done.fulfill()
      }
    }
    guard XCTWaiter().wait(for: [done], timeout: stepTimeLimit / .seconds(1)) != .completed else { return }
    task.cancel()
    let message = "\(what) did not finish within \(stepTimeLimit); set stepTimeLimit to wait longer"
    scenario?.giveUp(message)
    fail(message, file, line)
  }

  /// Whether a function that waits is called from a task, where it would wait for itself.
  private func isInTask(_ file: StaticString, _ line: UInt, _ function: String) -> Bool {
    guard withUnsafeCurrentTask(body: { $0 != nil }) else { return false }
    let function = function.trimmingCharacters(in: .whitespaces)
    fail("\(function) cannot wait in an asynchronous test; call it with await, from an async function", file, line)
    return true
  }

  // MARK: Failures

  private struct RunningStep {
    /// nil in hooks after the scenario.
    var step: InlineStep?
    var progress: ScenarioProgress
  }

  private func fail(_ message: String, _ file: StaticString, _ line: UInt) {
    record(message + row, "\(file)", line)
  }

  /// The row of examples, for messages.
  private var row: String {
    values.isEmpty ? "" : " (with \(values.map { "\($0.name): \($0.value)" }.joined(separator: ", ")))"
  }

  #if canImport(Darwin)
    private func record(_ message: String, _ file: String, _ line: UInt) {
      super.record(
        XCTIssue(
          type: .assertionFailure, compactDescription: message,
          sourceCodeContext: XCTSourceCodeContext(
            location: XCTSourceCodeLocation(filePath: file, lineNumber: Int(line)))
        ))
    }

    /// Notes a failure of the running step, and reports it at the step's line; called by XCTest.
    open override func record(_ issue: XCTIssue) {
      guard let step = noted(issue.compactDescription) else { return super.record(issue) }
      let place = issue.sourceCodeContext.location.map {
        " at \($0.fileURL.lastPathComponent):\($0.lineNumber)"
      }
      var issue = issue
      issue.compactDescription += " (in '\(step.name)'\(place ?? ""))\(row)"
      issue.sourceCodeContext = XCTSourceCodeContext(
        location: XCTSourceCodeLocation(filePath: "\(step.file)", lineNumber: Int(step.line)))
      super.record(issue)
    }
  #else
    private func record(_ message: String, _ file: String, _ line: UInt) {
      // The failure is at the step's line already, and the scenario knows it.
      let step = running.withLock { running in
        defer { running = nil }
        return running
      }
      defer { running.withLock { $0 = step } }
      recordFailure(withDescription: message, inFile: file, atLine: Int(line), expected: true)
    }

    /// Notes a failure of the running step, and reports it at the step's line; called by XCTest.
    open override func recordFailure(
      withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
      guard let step = noted(description) else {
        return super.recordFailure(
          withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
      }
      let place = "\(URL(filePath: filePath).lastPathComponent):\(lineNumber)"
      super.recordFailure(
        withDescription: "\(description) (in '\(step.name)' at \(place))\(row)", inFile: "\(step.file)",
        atLine: Int(step.line), expected: expected)
    }
  #endif

  /// Notes a failure.
  ///
  /// - Returns: the step that is running.
  private func noted(_ failure: String) -> InlineStep? {
    let running = running.withLock { $0 }
    running?.progress.note(failure)
    return running?.step
  }
}

extension XCTestCase {
  /// The test method's name: XCTest's name is `Class.method`, or `-[Class method]`.
  var methodName: String {
    name.split { ". []".contains($0) }.last.map(String.init) ?? name
  }
}
