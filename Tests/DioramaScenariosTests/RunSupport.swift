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
  /// What the test library is given.
  var attachments: [(ScenarioAttachment, place: SourceLocation)] = []
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
  ///   - path: where the feature says that it is.
  ///   - retries: the number of extra attempts.
  ///   - observers: what else receives the events.
  ///   - definitions: the step definitions, made for each attempt.
  /// - Throws: an error of the feature's syntax.
  init(
    _ text: String, path: String = "/features/booking.feature", retries: Int = 0,
    observers: [any ScenarioObserver] = [],
    _ definitions: @autoclosure @escaping () throws -> any StepDefinitions
  ) async throws {
    process = ScenarioProcess(observers: [log] + observers)
    let isWhole = text.hasPrefix("Feature") || text.hasPrefix("@") || text.hasPrefix("#")
    let document = try GherkinParser().parse(
      isWhole ? text : "Feature: Booking\nScenario: a visit\n" + text, uri: path)
    for scenario in PackedScenario.all(in: document) {
      let failures = Guarded<[Failure]>([])
      let attachments = Guarded<[(ScenarioAttachment, place: SourceLocation)]>([])
      let progress = ScenarioProgress()
      outcomes.append(
        try await ScenarioRunner(
          // As in generated code.
          scenario: try #require(PackedScenario(packed: scenario.packed)),
          source: FeatureSource(name: document.feature?.name ?? "", path: path, module: "Tests"),
          progress: progress, process: process, retries: retries,
          fail: { message, place in
            let (step, willBeRetried) = progress.note(message)
            failures.withLock {
              $0.append(Failure(message: message, place: place, step: step, isFinal: !willBeRetried))
            }
          }, attach: { attachment, place in attachments.withLock { $0.append((attachment, place)) } },
          makeDefinitions: definitions
        ).run())
      self.attachments += attachments.withLock { $0 }
      self.failures += failures.withLock { $0 }
    }
  }

  /// Runs the scenarios of a feature file in a folder.
  init(
    _ text: String, in folder: FeatureFolder, _ definitions: @escaping () throws -> any StepDefinitions
  ) async throws {
    try await self.init(text, path: "\(folder.path)/booking.feature", try definitions())
  }

  var messages: [String] { failures.map(\.message) }
  var statuses: [StepResult.Status] { log.statuses }

  /// What belongs to a scenario as a whole: the text of an attachment by its media type.
  func attachment(_ type: String) -> String? {
    log.events.lazy.compactMap { event -> String? in
      guard case .attached(_, _, nil, let attachment) = event, attachment.mediaType == type else { return nil }
      return String(decoding: attachment.bytes, as: UTF8.self)
    }.first
  }
}

/// A temporary folder for a feature file.
final class FeatureFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "scenarios-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The cassettes, by their paths.
  var cassettes: [String] {
    (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? [])
      .filter { $0.hasSuffix(".har") }.sorted()
  }
}
