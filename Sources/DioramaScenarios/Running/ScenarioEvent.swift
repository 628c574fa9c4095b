import Foundation
import Gherkin
import ScenarioReports
import Testing
import CucumberExpressions

/// What happens in a run, for reports.
enum ScenarioEvent: Sendable {
  /// A scenario is about to start; hooks of the run may come before.
  case found(ScenarioPlan)
  /// A scenario starts. Not sent if a hook of the run has failed.
  case planned(ScenarioPlan)
  case attemptStarted(ScenarioPlan.ID, attempt: Int)
  /// A step or hook of the plan has started.
  case stepStarted(ScenarioPlan.ID, attempt: Int, index: Int)
  /// Without an index, it belongs to the scenario.
  case attached(ScenarioPlan.ID, attempt: Int, index: Int?, ScenarioAttachment)
  case stepFinished(ScenarioPlan.ID, attempt: Int, index: Int, StepResult)
  case attemptFinished(ScenarioPlan.ID, attempt: Int, willBeRetried: Bool)
  case runHookStarted(RunHook)
  case runHookAttached(RunHook, ScenarioAttachment)
  case runHookFinished(RunHook, StepResult)
  case runFinished(hasSucceeded: Bool)
}

/// A ``BeforeAll`` or ``AfterAll`` hook.
struct RunHook: Sendable, Hashable {
  let isBefore: Bool
  let name: String?
  let place: SourceLocation
}

/// The steps and hooks of a scenario, and the definitions that match them.
struct ScenarioPlan: Sendable, Identifiable {
  /// A step or a hook of the scenario.
  enum Item: Sendable {
    case step(PackedScenario.Step, definitions: [MatchedDefinition])
    case hook(moment: Hook.Moment, name: String?, tags: String?, place: SourceLocation)

    init(_ hook: Hook) { self = .hook(moment: hook.moment, name: hook.name, tags: hook.tags, place: hook.place) }
  }

  /// A definition that matches a step.
  struct MatchedDefinition: Sendable {
    let source: String
    let isRegularExpression: Bool
    let place: SourceLocation
    /// The captures with the names of their parameter types.
    let arguments: [Message.StepMatchArgument]
  }

  let id: Int
  let scenario: PackedScenario
  let source: FeatureSource
  let items: [Item]
  /// Declared parameter types.
  let parameterTypes: [(type: AnyParameterType, place: SourceLocation)]
  /// Parameter types that expressions use, but that are not declared.
  let undefinedParameterTypes: [Message.UndefinedParameterType]
  /// Valid definitions of the scenario, whether they match or not.
  let definitions: [MatchedDefinition]
  /// All hooks, including those for other scenarios and those of the run.
  let hooks: [Item]
}

/// How a step or a hook ended.
struct StepResult: Sendable {
  enum Status: String, Sendable {
    case passed, failed, skipped, pending, undefined, ambiguous
  }

  var status: Status
  var duration: Duration = .zero
  /// Failures, the reason for skipping, or what to do about an undefined step.
  var message: String?
  /// The type of the error that the step threw.
  var errorType: String?
  /// Where the error was thrown, as far as it is known: the definition, then the feature's line.
  var places: [String] = []
  /// A step definition to paste.
  var snippet: Snippet?
}

/// Receives what happens in a run, on any thread.
protocol ScenarioObserver: Sendable {
  func receive(_ event: ScenarioEvent, at time: Date)
}
