import Basics
@testable import DioramaScenarios
import Foundation
import Gherkin
import Testing

/// Runs scenarios of a feature file, and collects what they report.
struct ScenarioTrial {
  /// A temporary folder with the feature file.
  final class Folder {
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

  struct Failure: Sendable {
    let message: String
    let place: SourceLocation
  }

  private struct Observer: ScenarioObserver {
    let events = Guarded<[ScenarioEvent]>([])
    func receive(_ event: ScenarioEvent, at time: Date) { events.withLock { $0.append(event) } }
  }

  private(set) var failures: [Failure] = []
  private(set) var events: [ScenarioEvent] = []

  /// Runs the scenarios one after the other.
  ///
  /// - Parameters:
  ///   - feature: the text of the feature file.
  ///   - folder: where the file would be.
  ///   - definitions: makes the step definitions.
  /// - Throws: an error of the parser, or a cancellation.
  init(
    _ feature: String, in folder: Folder, _ definitions: @escaping () throws -> any StepDefinitions
  ) async throws {
    let path = "\(folder.path)/booking.feature"
    let document = try GherkinParser().parse(feature, uri: path)
    let observer = Observer()
    let process = ScenarioProcess(observers: [observer])
    let collected = Guarded<[Failure]>([])
    for scenario in PackedScenario.all(in: document) {
      let progress = ScenarioProgress()
      _ = try await ScenarioRunner(
        scenario: try #require(PackedScenario(packed: scenario.packed)),
        source: FeatureSource(name: document.feature?.name ?? "", path: path, module: "Tests"),
        progress: progress, process: process,
        fail: { message, place in
          progress.note(message)
          collected.withLock { $0.append(Failure(message: message, place: place)) }
        }, makeDefinitions: definitions
      ).run()
    }
    failures = collected.withLock { $0 }
    events = observer.events.withLock { $0 }
  }

  /// The statuses of hooks and steps, in order.
  var statuses: [StepResult.Status] {
    events.compactMap { if case .stepFinished(_, _, _, let result) = $0 { result.status } else { nil } }
  }

  /// What belongs to a scenario as a whole: the text of an attachment by its media type.
  func attachment(_ type: String) -> String? {
    events.lazy.compactMap { event -> String? in
      guard case .attached(_, _, nil, let attachment) = event, attachment.mediaType == type else { return nil }
      return String(decoding: attachment.bytes, as: UTF8.self)
    }.first
  }
}
