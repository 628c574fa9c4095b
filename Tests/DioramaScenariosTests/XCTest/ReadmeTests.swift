import Basics
import Gherkin
import Testing

@testable import DioramaScenarios

/// The examples in the README of XCTest-Gherkin, as a feature file in Swift Testing.
@Suite("README of XCTest-Gherkin in Swift Testing") struct ReadmeTests {
  static let russian = """
    # language: ru
    Функция: Разбор простого функционального файла

    Сценарий: Это очень простой пример успешного сценария
    Допустим Я имею рабочее окружение Gherkin
    Тогда этот тест не должен завершиться ошибкой
    """

  struct Steps: StepDefinitions {
    var steps: [DioramaScenarios.Step] {
      SomeStepDefinitions()
      SanitySteps()
    }
  }

  @Test("runs steps, captures and outlines")
  func runsSteps() async throws {
    let failures = try await failures(
      of: """
        Feature: A thing that needs testing
          Scenario: Basic steps
            Given A situation that I want to start at
            When I do a thing
            And I do another thing
            Then This value should be 100
            And This condition should be met as well
            But This value should lie between 99 and 101

          Scenario: Logged in user
            Given User is logged in as {"name":"Nick"}
            And User is known as {"name":"Nick"}

          Scenario: Steps that call steps
            When This step should call another step
            Then It is called

          Scenario Outline: Outline
            Given I use the example name <name>
            Then The age should be <age>
            And The height should be <height>

            Examples:
              | name  | age | height |
              | Alice | 20  | 170    |
              | Bob   | 20  | 170    |
        """, Steps(), scenarios: 5)
    #expect(failures == [])
  }

  @Test("runs a feature in Russian")
  func runsRussian() async throws {
    #expect(try await failures(of: Self.russian, SanitySteps(), scenarios: 1) == [])
  }

  @Test("reports a missing step with the nearest one")
  func reportsMissingStep() async throws {
    let failures = try await failures(
      of: """
        Feature: Missing
          Scenario: One
            Given I have a working Pickle environment
        """, SanitySteps(), scenarios: 1)
    try #require(failures.count == 1)
    #expect(failures[0].hasPrefix("readme.feature:3: undefined step: Given I have a working Pickle environment\n"))
    #expect(failures[0].contains("similar: 'I have a working Gherkin environment' (ReadmeSteps.swift:"))
  }

  @Test(
    "reports ambiguous steps, unless one is exact or the other anchored",
    arguments: [(EmailSteps.Form.ambiguous, 1), (.exact, 0), (.anchored, 0)])
  func reportsAmbiguousSteps(form: EmailSteps.Form, count: Int) async throws {
    let failures = try await failures(
      of: """
        Feature: Ambiguous
          Scenario: One
            Given I tap the email button
        """, EmailSteps(form), scenarios: 1)
    #expect(failures.count == count)
    for failure in failures {
      #expect(failure.hasPrefix("readme.feature:3: ambiguous step: Given I tap the email button\n"))
      #expect(failure.contains("'email button' (ReadmeSteps.swift:"))
    }
  }

  @Test("fails with the captured text that has another type")
  func reportsWrongCapture() async throws {
    let failures = try await failures(
      of: """
        Feature: Captures
          Scenario: One
            Given User is logged in as Nick
        """, SomeStepDefinitions(), scenarios: 1)
    try #require(failures.count == 1)
    #expect(
      failures[0].hasPrefix("readme.feature:3: 'Nick', captured by group 1, is not a valid Person (in the step defined")
    )
  }

  /// The failures of a feature's scenarios, with their places.
  private func failures(
    of text: String, _ definitions: @autoclosure @escaping () -> any StepDefinitions, scenarios count: Int
  ) async throws -> [String] {
    let document = try GherkinParser().parse(text, uri: "readme.feature")
    let scenarios = PackedScenario.all(in: document)
    #expect(scenarios.count == count)
    let failures = Guarded<[String]>([])
    for scenario in scenarios {
      let progress = ScenarioProgress()
      let runner = ScenarioRunner(
        scenario: scenario, source: FeatureSource(name: "", path: "/readme.feature", module: "Tests"),
        progress: progress, process: ScenarioProcess(observers: []),
        fail: { message, place in
          progress.note(message)
          failures.withLock { $0.append("\(place.shortText): \(message)") }
        }, makeDefinitions: definitions)
      _ = try await runner.run()
    }
    return failures.withLock { $0 }
  }
}
