import Basics
import Gherkin
public import Testing

/// Marks a suite as generated from a feature file.
public struct FeatureTrait: SuiteTrait, TestTrait {
  let name: String
  let path: String

  /// The tests of the suite have the trait, too.
  public var isRecursive: Bool { true }
}

/// Marks a test as generated from a scenario.
public struct ScenarioTrait: TestTrait, TestScoping {
  let packed: String

  /// Notes the test's failures, with the steps in which they occur; called by Swift Testing.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let progress = ScenarioProgress()
    let watching = IssueHandlingTrait.compactMapIssues { issue in
      guard issue.isFailure else { return issue }
      var issue = issue
      let (place, willBeRetried) = progress.note("\(issue)")
      if let place { issue.comments.append(Comment(rawValue: place)) }
      if willBeRetried { issue.severity = .warning }
      return issue
    }
    try await ScenarioProgress.$current.withValue(progress) {
      try await watching.provideScope(for: test, testCase: testCase) { try await function() }
    }
  }
}

extension Trait where Self == FeatureTrait {
  /// Marks a suite as generated from a feature file; for generated code.
  public static func feature(_ name: String, in path: String) -> Self { FeatureTrait(name: name, path: path) }
}

extension Trait where Self == ScenarioTrait {
  /// Marks a test as generated from a scenario; for generated code.
  public static func scenario(_ packed: String) -> Self { ScenarioTrait(packed: packed) }
}

/// Runs the scenario of the running test; for generated code.
///
/// - Parameter definitions: the step definitions, created again for each attempt.
/// - Throws: only what cancels the test. Failures are recorded.
public func run<Definitions: StepDefinitions>(_ definitions: @autoclosure @escaping () throws -> Definitions)
  async throws
{
  guard let test = Test.current, let trait = test.traits.compactMap({ $0 as? ScenarioTrait }).first,
    let feature = test.traits.compactMap({ $0 as? FeatureTrait }).first, let progress = ScenarioProgress.current,
    let scenario = PackedScenario(packed: trait.packed)
  else { throw ScenarioError("run(_:) is for tests that the plugin FeatureTests generates") }
  let outcome = try await ScenarioRunner(
    scenario: scenario, source: FeatureSource(name: feature.name, path: feature.path, module: test.id.moduleName),
    progress: progress, process: .shared,
    fail: { message, place in Issue.record(Comment(rawValue: message), sourceLocation: place) },
    attach: { attachment, place in
      Attachment.record(attachment.bytes, named: attachment.fileName, sourceLocation: place)
    },
    makeDefinitions: definitions
  ).run()
  if case .skipped(let reason) = outcome {
    try Test.cancel(reason.isEmpty ? nil : Comment(rawValue: reason))
  }
}
