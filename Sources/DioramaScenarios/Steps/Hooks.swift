import CucumberExpressions
import Testing

/// Code that runs around scenarios, steps, or the whole run.
struct Hook {
  enum Moment: String {
    case beforeScenario = "Before"
    case afterScenario = "After"
    case beforeStep = "BeforeStep"
    case afterStep = "AfterStep"
    case beforeRun = "BeforeAll"
    case afterRun = "AfterAll"
  }

  let moment: Moment
  let name: String?
  /// A tag expression; nil for all scenarios.
  let tags: String?
  let place: SourceLocation
  let body: () async throws -> Void

  /// `Before hook 'cleans up' (Steps.swift:12)`.
  var description: String {
    "\(moment.rawValue) hook\(name.map { " '\($0)'" } ?? "") (\(place.shortText))"
  }
}

/// Runs before each scenario, in the order of the hooks.
///
/// ```swift
/// Before(tags: "@booking and not @slow") { self.calendar = try Calendar() }
/// ```
///
/// If a hook fails, the scenario fails: its steps do not run, but its ``After`` hooks do.
public struct Before: StepDefinitions {
  /// The hook alone.
  public let steps: [Step]

  /// Creates the hook.
  ///
  /// - Parameters:
  ///   - name: a name for reports.
  ///   - tags: a tag expression; the hook runs only for scenarios that it matches.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: the code. ``ScenarioContext/current`` is the scenario.
  public init(
    _ name: String? = nil, tags: String? = nil, fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    steps = Step.hook(
      .beforeScenario, name, tags, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column), body)
  }
}

/// Runs after each scenario, even if it failed; the last hook runs first.
///
/// ```swift
/// After { if ScenarioContext.current?.hasFailed == true { try await self.saveLogs() } }
/// ```
public struct After: StepDefinitions {
  /// The hook alone.
  public let steps: [Step]

  /// Creates the hook; the parameters are those of ``Before``.
  public init(
    _ name: String? = nil, tags: String? = nil, fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    steps = Step.hook(
      .afterScenario, name, tags, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column), body)
  }
}

/// Runs before each step that will run.
public struct BeforeStep: StepDefinitions {
  /// The hook alone.
  public let steps: [Step]

  /// Creates the hook; the parameters are those of ``Before``.
  public init(
    _ name: String? = nil, tags: String? = nil, fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    steps = Step.hook(
      .beforeStep, name, tags, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column), body)
  }
}

/// Runs after each step that ran, also if it failed; the last hook runs first.
public struct AfterStep: StepDefinitions {
  /// The hook alone.
  public let steps: [Step]

  /// Creates the hook; the parameters are those of ``Before``.
  public init(
    _ name: String? = nil, tags: String? = nil, fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line, column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    steps = Step.hook(
      .afterStep, name, tags, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column), body)
  }
}

/// Runs once in the test process, before its first scenario. If it fails, all scenarios fail.
///
/// Its closure must not use the object that defines it, which belongs to one scenario only.
public struct BeforeAll: StepDefinitions {
  /// The hook alone.
  public let steps: [Step]

  /// Creates the hook.
  ///
  /// - Parameters:
  ///   - name: a name for reports.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: the code.
  public init(
    _ name: String? = nil, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    steps = Step.hook(
      .beforeRun, name, nil, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column), body)
  }
}

/// Runs once when the test process ends, if a scenario has run; the last hook runs first. If it fails, the process exits with
/// status 1.
///
/// Its closure must not use the object that defines it, and no code of the test library, which has ended.
public struct AfterAll: StepDefinitions {
  /// The hook alone.
  public let steps: [Step]

  /// Creates the hook.
  ///
  /// - Parameters:
  ///   - name: a name for reports.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: the code.
  public init(
    _ name: String? = nil, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column, _ body: @escaping () async throws -> Void
  ) {
    steps = Step.hook(
      .afterRun, name, nil, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column), body)
  }
}

extension Step {
  fileprivate static func hook(
    _ moment: Hook.Moment, _ name: String?, _ tags: String?, _ place: SourceLocation,
    _ body: @escaping () async throws -> Void
  ) -> [Step] {
    [Step(kind: .hook(Hook(moment: moment, name: name, tags: tags, place: place, body: body)))]
  }
}
