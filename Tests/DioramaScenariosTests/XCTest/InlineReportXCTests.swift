import Basics
import Foundation
import Gherkin
import ScenarioReports
import XCTest

@testable import DioramaScenarios

/// Reports of scenarios that are written in Swift.
final class InlineReportXCTests: XCTestCase {
  private struct Features: StepDefinitions {
    var steps: [DioramaScenarios.Step] {
      After("tidies up") {}
      Given("a screen") { ScenarioScreens.show(FakeScreen("Home")) }
      Given("a note {string}") { (text: String) in self.attach(text, name: "note.txt") }
      Given("a thrown error") { throw Difference(description: "it is wrong") }
    }
  }

  final class Example: ExampleTestCase {
    nonisolated(unsafe) static var observers: [any ScenarioObserver] = []
    private let told = ScenarioProcess(observers: Example.observers)
    override var process: ScenarioProcess { told }
    override func makeSteps() -> [DioramaScenarios.Step] { Features().steps }
  }

  private func messages(_ test: @escaping (Example) -> Void) -> [Message] {
    let messages = Guarded<[Message]>([])
    Example.observers = [ReportObserver { message in messages.withLock { $0.append(message) } }]
    defer { Example.observers = [] }
    _ = failures(in: Example.self) { test($0) }
    return messages.withLock { $0 }
  }

  private func statuses(_ messages: [Message]) -> [Message.TestStepResultStatus] {
    messages.compactMap { if case .testStepFinished(let step) = $0 { step.testStepResult.status } else { nil } }
  }

  func testStepsHaveTheirResults() throws {
    let messages = messages { test in
      test.Given(#"a note "one""#)
      test.When("a thrown error")
      test.And(#"a note "two""#)
      test.Then("an undefined step")
    }
    try check(statuses(messages), is: [.passed, .failed, .skipped, .undefined, .passed])
    let xml = JUnitReport.xml(messages)
    try check(xml.contains(#"<testsuite name="Example" tests="1" failures="1""#), is: true)
    try check(xml.contains(#"name="example""#), is: true)
    try check(xml.contains("failed     When a thrown error"), is: true)
  }

  func testEachPassOfAnOutlineIsAScenario() throws {
    let messages = messages { test in
      test.Outline({ test.Given(#"a note "<text>""#) }, examples: [["text"], ["one"], ["two"]])
    }
    let names = messages.compactMap { if case .pickle(let pickle) = $0 { pickle.name } else { nil } }
    try check(names, is: ["example (text: one)", "example (text: two)"])
    let bodies = messages.compactMap { if case .attachment(let attachment) = $0 { attachment.body } else { nil } }
    try check(bodies, is: ["one", "two"])
    try check(JUnitReport.xml(messages).contains(#"<testsuite name="Example" tests="2" failures="0""#), is: true)
  }

  func testFailedStepHasAScreenshot() throws {
    let messages = messages { test in
      test.Given("a screen")
      test.When("a thrown error")
    }
    let names = messages.compactMap { if case .attachment(let attachment) = $0 { attachment.fileName } else { nil } }
    try check(names, is: ["2 failed a thrown error.txt"])
  }
}
