import Basics
import Foundation
import Gherkin
import Testing

@testable import DioramaScenarios

/// Step definitions that are made of a list.
struct Steps: StepDefinitions {
  let steps: [DioramaScenarios.Step]
  init(@StepsBuilder _ steps: () -> [DioramaScenarios.Step]) { self.steps = steps() }
}

/// Receives events.
final class EventLog: ScenarioObserver {
  private let log = Guarded<[ScenarioEvent]>([])
  var events: [ScenarioEvent] { log.withLock { $0 } }
  func receive(_ event: ScenarioEvent, at time: Date) { log.withLock { $0.append(event) } }

  /// The results of steps and hooks in their order, those of all attempts.
  var results: [StepResult] {
    events.compactMap { if case .stepFinished(_, _, _, let result) = $0 { result } else { nil } }
  }
  var statuses: [StepResult.Status] { results.map(\.status) }
}

/// What a run of a feature did.
struct FeatureRun {
  var outcomes: [ScenarioRunner.Outcome] = []
  var failures: [Failure] = []
  let log = EventLog()
  let process: ScenarioProcess

  struct Failure: Sendable {
    let message: String
    let place: SourceLocation
    /// The step that ran, as the test library's failures name it.
    let step: String?
    let isFinal: Bool
  }

  /// Runs all scenarios of a feature, one after the other.
  ///
  /// - Parameters:
  ///   - text: the feature's text, or its steps if it does not begin with a keyword or tag.
  ///   - retries: the number of extra attempts.
  ///   - definitions: the step definitions, made for each attempt.
  /// - Throws: an error of the feature's syntax.
  init(_ text: String, retries: Int = 0, _ definitions: @autoclosure @escaping () throws -> any StepDefinitions)
    async throws
  {
    process = ScenarioProcess(observers: [log])
    let isWhole = text.hasPrefix("Feature") || text.hasPrefix("@") || text.hasPrefix("#")
    let document = try GherkinParser().parse(
      isWhole ? text : "Feature: Booking\nScenario: a visit\n" + text, uri: "booking.feature")
    for scenario in PackedScenario.all(in: document) {
      let failures = Guarded<[Failure]>([])
      let progress = ScenarioProgress()
      outcomes.append(
        try await ScenarioRunner(
          scenario: scenario,
          source: FeatureSource(name: "Booking", path: "/features/booking.feature", module: "Tests"),
          progress: progress, process: process, retries: retries,
          fail: { message, place in
            let (step, willBeRetried) = progress.note(message)
            failures.withLock {
              $0.append(Failure(message: message, place: place, step: step, isFinal: !willBeRetried))
            }
          }, makeDefinitions: definitions
        ).run())
      self.failures += failures.withLock { $0 }
    }
  }

  var messages: [String] { failures.map(\.message) }
  var statuses: [StepResult.Status] { log.statuses }
}
