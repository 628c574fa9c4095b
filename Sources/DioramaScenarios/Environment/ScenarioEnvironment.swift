import Basics
import ControlAPI
import DioramaTesting
import EnvironmentConfiguration
import Gherkin
import Testing

/// The environment of one attempt of a scenario.
final class ScenarioEnvironment {
  private let scenario: PackedScenario
  private let source: FeatureSource
  private let configuration: Result<TestEnvironment.Configuration, any Error>
  /// The place of the scenario, for failures of the environment.
  let place: SourceLocation
  /// Between provisioning and end.
  private(set) var environment: TestEnvironment?
  /// What the environment has reported itself, possibly on other threads.
  private let failures = Guarded<[(message: String, place: SourceLocation?)]>([])

  /// nil if neither the tags nor the configuration ask for an environment.
  ///
  /// - Parameters:
  ///   - scenario: the scenario; its tags override the configuration.
  ///   - source: its file, at whose folder relative paths start.
  ///   - configuration: the configuration of the step definitions.
  ///   - place: the place of the scenario.
  init?(
    for scenario: PackedScenario, of source: FeatureSource, _ configuration: TestEnvironment.Configuration?,
    at place: SourceLocation
  ) {
    let tags: EnvironmentConfiguration?
    do {
      tags = try ScenarioTags.configuration(from: scenario.tags)
      guard let settings = tags.map({ TestEnvironment.Configuration($0) }) ?? configuration else { return nil }
      self.configuration = .success(
        tags == nil ? settings : configuration.map { settings.inside($0) } ?? settings)
    } catch {
      self.configuration = .failure(error)
    }
    self.scenario = scenario
    self.source = source
    self.place = place
  }

  func provision() async throws {
    let failures = failures
    environment = try await TestEnvironment.make(
      try configuration.get(), scenario: scenario.name, row: scenario.row,
      in: [source.name] + (scenario.rule.map { [$0] } ?? []), file: source.path, line: scenario.line,
      module: source.module, filter: source.filter ?? "\(source.file).swift:\(scenario.line):"
    ) { message, place in failures.withLock { $0.append((message, place)) } }
  }

  func takeFailures() -> [(message: String, place: SourceLocation?)] {
    failures.withLock { failures in
      defer { failures = [] }
      return failures
    }
  }

  /// Ends the environment, and attaches its journal, its report, and what its applications have written.
  ///
  /// - Returns: the reason why the scenario fails, if any.
  func end(hasFailed: Bool, _ context: ScenarioContext) async -> String? {
    guard let environment, let outcome = await environment.finish(hasFailed: hasFailed, keepsJournal: true) else {
      return nil
    }
    self.environment = nil
    environment.say(outcome)
    if !outcome.journal.isEmpty {
      let lines = outcome.journal.compactMap { try? JSON.encode($0) }.flatMap { Array($0) + [UInt8(ascii: "\n")] }
      context.record(ScenarioAttachment(bytes: lines, mediaType: Self.journal, name: "journal.ndjson"), nil)
    }
    for attachment in outcome.attachments {
      let type = attachment.name.hasSuffix(".json") ? Self.report : "text/plain"
      context.record(ScenarioAttachment(bytes: attachment.bytes, mediaType: type, name: attachment.name), nil)
    }
    return outcome.failure
  }

  private static let journal = "application/vnd.diorama.journal+ndjson"
  private static let report = "application/vnd.diorama.report+json"
}
