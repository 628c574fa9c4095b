@testable import DioramaScenarios
import XCTest

/// The examples in the README of XCTest-Gherkin, as XCTests.
final class ReadmeXCTests: ScenarioTestCase {
  override func makeSteps() -> [Step] { SomeStepDefinitions().steps + SanitySteps().steps }

  func testBasicSteps() {
    Given("A situation that I want to start at")
    When("I do a thing")
    And("I do another thing")
    Then("This value should be 100")
    And("This condition should be met as well")
    But("This value, as a text, should be 100")
    And("This value should lie between 99 and 101")
  }

  func testIgnoresCase() {
    Given("a SITUATION that I want to start at")
    Then("this value should be 0")
  }

  func testBasicStepsAsynchronously() async {
    await Given("A situation that I want to start at")
    await When("I do a thing")
    await And("I do another thing")
    await Then("This value should be 100")
  }

  func testLoggedInUser() {
    let nick = Person(name: "Nick")
    Given("User is logged in as \(nick)")
  }

  func testNamedGroups() {
    Given("User is known as \(Person(name: "Nick"))")
  }

  func testOutlineTests() {
    Examples(
      ["name", "age"],
      ["Alice", "20"],
      ["Bob", "20"]
    )
    Outline {
      Given("I use the example name <name>")
      Then("The age should be <age>")
    }
  }

  func testOutlineTestsWithExamplesAfter() {
    Outline({
      Given("I use the example name <name>")
      Then("The age should be <age>")
    }) {
      [
        ["name", "age", "height"],
        ["Alice", "20", "170"],
        ["Bob", "20", "170"],
      ]
    }
    // or
    Outline(
      {
        Given("I use the example name <name>")
        Then("The age should be <age>")
        And("The height should be <height>")
      },
      examples: [
        ["name", "age", "height"],
        ["Alice", "20", "170"],
        ["Bob", "20", "170"],
      ]
    )
  }

  func testOutlineTestsAsynchronously() async {
    Examples([["name", "age"], ["Alice", "20"], ["Bob", "20"]])
    await Outline {
      await Given("I use the example name <name>")
      await Then("The age should be <age>")
    }
  }

  func testStepsThatCallSteps() {
    When("This step should call another step")
    Then("It is called")
  }
}

/// The README's example of a background.
final class OnboardingXCTests: ScenarioTestCase {
  private final class App: StepDefiner {
    let log: Log
    init(_ log: Log) { self.log = log }
    override func defineSteps() {
      step("I launch the app") { self.log.lines.append("launch") }
      step("I see onboarding screen") { self.log.lines.append("see") }
      step("I kill the app") { self.log.lines.append("kill") }
    }
  }

  private final class Log { var lines: [String] = [] }
  private let log = Log()

  override func setUp() { log.lines = ["setUp"] }

  override func makeSteps() -> [Step] { App(log).steps }

  override func Background() {
    Given("I launch the app")
  }

  func testOnboardingIsDisplayed() throws {
    Then("I see onboarding screen")
    try check(log.lines, is: ["setUp", "launch", "see"])
  }

  func testOnboardingIsDisplayedEachTime() throws {
    Examples([""], ["1"], ["2"])
    Outline {
      Then("I see onboarding screen")
      And("I kill the app")
    }
    try check(log.lines, is: ["setUp", "launch", "see", "kill", "launch", "see", "kill"])
  }

  func testOnboardingIsDisplayedAsynchronously() async throws {
    await Then("I see onboarding screen")
    try check(log.lines, is: ["setUp", "launch", "see"])
  }
}

/// The README's examples that fail.
final class ReadmeFailureXCTests: XCTestCase {
  final class Sanity: ExampleTestCase {
    override func makeSteps() -> [Step] { SanitySteps().steps }
  }

  class Email: ExampleTestCase {
    var form: EmailSteps.Form { .ambiguous }
    override func makeSteps() -> [Step] { EmailSteps(form).steps }
  }

  final class ExactEmail: Email { override var form: EmailSteps.Form { .exact } }
  final class AnchoredEmail: Email { override var form: EmailSteps.Form { .anchored } }

  func testMissingStep() throws {
    let line = #line + 2
    let found = failures(in: Sanity.self) {
      $0.Given("I have a working Pickle environment")
      $0.Then("This test should not fail")
    }
    try check(found.map(\.line), is: [line])
    let lines = found[0].message.split(separator: "\n").map(String.init)
    try check(lines[0], is: "Step definition not found for 'I have a working Pickle environment'")
    try check(lines[1], is: "undefined step: Given I have a working Pickle environment")
    try check(lines[2].hasPrefix("similar: 'I have a working Gherkin environment' (ReadmeSteps.swift:"), is: true)
    try check(lines[3...].first, is: "define it:")
    try check(lines[4], is: #"Given("I have a working Pickle environment") {"#)
  }

  func testAmbiguousSteps() throws {
    let line = #line + 1
    let found = failures(in: Email.self) { $0.Given("I tap the email button") }
    try check(found.map(\.line), is: [line])
    try check(found[0].message.hasPrefix("ambiguous step: Given I tap the email button\n"), is: true)
    try check(found[0].message.contains("'email button' (ReadmeSteps.swift:"), is: true)
    try check(found[0].message.contains("'I tap the email button' (ReadmeSteps.swift:"), is: true)
  }

  func testExactTextsAreNotAmbiguous() throws {
    try check(failures(in: ExactEmail.self) { $0.Given("I tap the email button") }, is: [])
  }

  func testAnchoredRegularExpressionsAreNotAmbiguous() throws {
    try check(failures(in: AnchoredEmail.self) { $0.Given("I tap the email button") }, is: [])
  }
}

/// Feature files that are read when the test runs.
final class NativeXCTests: NativeTestCase {
  func testFeatureInRussian() async throws {
    try await runFeature(ReadmeTests.russian, path: "/features/пример.feature") { SanitySteps() }
  }

  func testAvailableLanguages() {
    XCTAssertEqual(Set(Self.availableLanguages).isSuperset(of: ["en", "ru", "ar", "en-pirate"]), true)
  }
}
