import Basics
import DioramaTesting
import Foundation
import XCTest

@testable import DioramaScenarios

/// What steps of ``ScenarioTestCase`` do when they fail, wait, or have hooks.
final class ScenarioXCTests: XCTestCase {
  /// What the steps of the running test have done.
  nonisolated(unsafe) private static var log: [String] = []

  private struct Steps: StepDefinitions {
    func waitsForMainQueue() -> Bool {
      let done = XCTestExpectation(description: "main queue")
      DispatchQueue.main.async { done.fulfill() }
      return XCTWaiter().wait(for: [done], timeout: 60) == .completed
    }

    func note(_ text: String) { ScenarioXCTests.log.append(text) }

    var steps: [Step] {
      Before { self.note("before") }
      After { self.note("after, failed: \(ScenarioContext.current?.hasFailed ?? false)") }
      BeforeStep { self.note("before step") }
      Given("a note {string}") { (text: String) in self.note(text) }
      Given("a rejected value") { XCTAssertEqual(1, 2, "they differ") }
      Given("a thrown error") { throw Difference(description: "it is wrong") }
      Given("a pending step") { throw PendingStep("needs a sandbox") }
      Given("a skipped step") { throw SkippedStep("needs a printer") }
      Given("a step that suspends") {
        await Task.detached { await Task.yield() }.value
        self.note("resumed")
      }
      Given("a step on the main actor") {
        await MainActor.run { self.note("main: \(Thread.isMainThread)") }
      }
      Given("a step that waits for the main queue") {
        self.note("fulfilled: \(self.waitsForMainQueue())")
      }
      Given("a step that waits for a task on the main actor") {
        await Task { @MainActor in await Task.yield() }.value
        self.note("resumed")
      }
      Given("a step that never ends") { try await Task.sleep(for: .seconds(3600)) }
      Given("the rows") { (rows: [[String]]) in self.note("\(rows)") }
      Given("the text") { (text: String) in self.note(text) }
    }
  }

  final class Example: ExampleTestCase {
    override func makeSteps() -> [Step] { Steps().steps.filter { !Self.withoutHooks || $0.isDefinition } }
    nonisolated(unsafe) static var withoutHooks = true
  }

  override func setUp() {
    Self.log = []
    Example.withoutHooks = true
  }

  func testAssertionIsReportedAtTheLineOfTheStep() throws {
    let line = #line + 1
    let found = failures(in: Example.self) { $0.Given("a rejected value") }
    try check(found.map(\.line), is: [line])
    try check(found[0].message.contains("they differ"), is: true)
    try check(found[0].message.contains("(in 'Given a rejected value' at ScenarioXCTests.swift:"), is: true)
  }

  func testErrorIsReportedAtTheLineOfTheStep() throws {
    let line = #line + 1
    let found = failures(in: Example.self) { $0.When("a thrown error") }
    try check(found, is: [.init(message: "it is wrong (in 'When a thrown error')", line: line)])
  }

  func testFailureEndsTheScenario() throws {
    let found = failures(in: Example.self) { test in
      test.Given("a rejected value")
      test.And(#"a note "later""#)
      test.And("an undefined step")
    }
    try check(found.count, is: 2)
    try check(found[1].message.hasPrefix("Step definition not found for 'an undefined step'"), is: true)
    try check(Self.log, is: [])
  }

  func testOtherRowsOfAnOutlineRunAfterAFailure() throws {
    let found = failures(in: Example.self) { test in
      test.Examples(["step", "next"], ["a thrown error", "1"], [#"a note "<next>""#, "2"])
      test.Outline {
        test.Given("<step>")
        test.Then(#"a note "<next>""#)
      }
    }
    try check(
      found.map(\.message), is: ["it is wrong (in 'Given a thrown error') (with step: a thrown error, next: 1)"])
    // Values may contain names, which stay as they are.
    try check(Self.log, is: ["<next>", "2"])
  }

  func testPendingStepFails() throws {
    let found = failures(in: Example.self) { $0.Given("a pending step") }
    try check(found.map(\.message), is: ["pending: needs a sandbox (in 'Given a pending step')"])
  }

  func testSkippedStepSkipsTheTest() throws {
    CapturingRun.isSilent = false
    defer { CapturingRun.isSilent = true }
    let test = Example(name: "Example.skipped") { test in
      (test as? Example)?.Given("a skipped step")
      (test as? Example)?.Then("a thrown error")
    }
    test.run()
    try check((test.testRun as? CapturingRun)?.failures, is: [])
    try check(test.testRun?.hasBeenSkipped, is: true)
  }

  func testAsynchronousStepsEndBeforeTheNextLine() throws {
    let found = failures(in: Example.self) { test in
      test.Given("a step that suspends")
      try check(Self.log, is: ["resumed"])
      test.And("a step on the main actor")
      try check(Self.log, is: ["resumed", "main: true"])
      test.And("a step that waits for the main queue")
      try check(Self.log.last, is: "fulfilled: true")
    }
    try check(found, is: [])
  }

  func testStepHasATimeLimit() throws {
    let line = #line + 3
    let found = failures(in: Example.self) { test in
      test.stepTimeLimit = .milliseconds(10)
      test.Given("a step that never ends")
      test.Then(#"a note "later""#)
    }
    let message =
      "'Given a step that never ends' did not finish within 0.01 seconds; set stepTimeLimit to wait longer"
    try check(found.first, is: .init(message: message, line: line))
    try check(Self.log, is: [])
  }

  func testStepsTakeTablesAndDocStrings() throws {
    let found = failures(in: Example.self) { test in
      test.Outline({
        test.Given("the rows", table: [["name"], ["<name>"]])
        test.And("the text", docString: "dear <name>")
      }) { [["name"], ["Zoë"]] }
    }
    try check(found, is: [])
    try check(Self.log, is: [#"[["name"], ["Zoë"]]"#, "dear Zoë"])
  }

  func testHooksRunAroundScenarios() throws {
    Example.withoutHooks = false
    let found = failures(in: Example.self) { test in
      test.Given(#"a note "1""#)
      test.Then("a thrown error")
      Self.log.append("end of test")
    }
    try check(found.count, is: 1)
    try check(
      Self.log, is: ["before", "before step", "1", "before step", "end of test", "after, failed: true"])
  }

  func testHooksRunAroundRowsOfOutlines() throws {
    Example.withoutHooks = false
    let found = failures(in: Example.self) { test in
      test.Outline({ test.Given(#"a note "<n>""#) }, examples: [["n"], ["1"], ["2"]])
    }
    try check(found, is: [])
    let row = { (number: String) in ["before", "before step", number, "after, failed: false"] }
    try check(Self.log, is: row("1") + row("2"))
  }

  func testOutlineWithoutExamplesFails() throws {
    let found = failures(in: Example.self) { test in test.Outline { test.Given("a thrown error") } }
    try check(
      found.map(\.message),
      is: ["the outline has no examples; call Examples with a row of names and rows of values before it"])
  }

  func testRowOfAnotherLengthFails() throws {
    let found = failures(in: Example.self) { test in
      test.Outline({ test.Given("a thrown error") }, examples: [["a", "b"], ["1"]])
    }
    try check(
      found.map(\.message),
      is: [#"the examples' row ["1"] has 1 values for 2 names; write one for each name"#])
  }

  func testSynchronousStepInATaskFails() throws {
    func call(_ test: Example) { test.Given("a thrown error") }
    let run = asynchronousRun(of: Example.self) { test in call(test) }
    try check(
      run.failures.map(\.message),
      is: ["Given cannot wait in an asynchronous test; call it with await, from an async function"])
  }

  func testAsynchronousTestReportsAndEnds() throws {
    Example.withoutHooks = false
    let run = asynchronousRun(of: Example.self) { test in
      await test.Given("a step that waits for a task on the main actor")
      await test.When("a thrown error")
      await test.Then(#"a note "later""#)
    }
    try check(run.failures.map(\.message), is: ["it is wrong (in 'When a thrown error')"])
    try check(Self.log, is: ["before", "before step", "resumed", "before step", "after, failed: true"])
  }
}

extension Step {
  fileprivate var isDefinition: Bool { if case .definition = kind { true } else { false } }
}

private struct EnvironmentSteps: StepDefinitions {
  let provisioned: TestEnvironment?
  var steps: [Step] {
    Then("the environment is that of setUp") {
      XCTAssertIdentical(try TestEnvironment.current, self.provisioned)
    }
  }
}

/// Steps in the environment that `setUp` has provisioned.
final class ScenarioEnvironmentXCTests: ScenarioTestCase {
  private var provisioned: TestEnvironment?

  override func setUp() async throws {
    provisioned = try await TestEnvironment.provision(for: self, mode: .mock, toggles: ["skip-onboarding": true])
  }

  override func makeSteps() -> [Step] { EnvironmentSteps(provisioned: provisioned).steps }

  func testStepUsesTheEnvironment() {
    Then("the environment is that of setUp")
  }

  func testAsynchronousStepUsesTheEnvironment() async {
    await Then("the environment is that of setUp")
  }
}
