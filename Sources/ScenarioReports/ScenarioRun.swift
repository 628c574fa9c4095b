import Basics
import Foundation
import Gherkin

/// What messages say about a run, in the order of the feature files' scenarios: what the reports show.
///
/// Messages of several files or processes are read one after another. If their ids are the same, the latest counts.
struct ScenarioRun {
  typealias Status = Message.TestStepResultStatus

  /// A feature file with the scenarios that ran.
  struct FeatureResult {
    var uri: String
    var feature: Feature?
    /// In the order of the file.
    var scenarios: [ScenarioResult] = []

    var name: String { feature.map(\.name).flatMap { $0.isEmpty ? nil : $0 } ?? uri }
  }

  /// A scenario that ran, or a row of its examples.
  struct ScenarioResult {
    var pickle: Pickle
    var rule: Rule?
    var scenario: Scenario?
    var attempts: [Attempt] = []

    /// The status of the last attempt.
    var status: Status { attempts.last?.status ?? .unknown }
    /// Whether it passed after failed attempts.
    var isFlaky: Bool { attempts.count > 1 && status == .passed }
    /// Whether it fails the run.
    var hasFailed: Bool { status != .passed && status != .skipped }
    var seconds: Double { attempts.reduce(0) { $0 + $1.seconds } }
    var line: Int { pickle.location.line }
  }

  /// An attempt at a scenario.
  struct Attempt {
    var number: Int
    var worker: String?
    var start: Double
    /// nil if the process ended before.
    var end: Double?
    var steps: [StepResult]
    /// Those of no step.
    var attachments: [Message.Attachment] = []
    var externalAttachments: [Message.ExternalAttachment] = []

    var seconds: Double { end.map { max(0, $0 - start) } ?? steps.reduce(0) { $0 + $1.seconds } }

    var status: Status {
      // A scenario without steps has nothing that could fail.
      let worst = steps.lazy.map(\.status).max { $0.rank < $1.rank } ?? .passed
      return end == nil && worst.rank < Status.unknown.rank ? .unknown : worst
    }

    /// All attachments, those of steps first.
    var allAttachments: [Message.Attachment] { steps.flatMap(\.attachments) + attachments }
  }

  /// A step or hook of an attempt.
  struct StepResult {
    var step: PickleStep?
    var hook: Message.Hook?
    /// With the space after it.
    var keyword = ""
    /// The place in the feature file.
    var line: Int?
    var definitions: [Message.StepDefinition] = []
    var arguments: [Message.StepMatchArgument] = []
    /// nil if it did not finish.
    var result: Message.TestStepResult?
    var snippets: [String] = []
    var attachments: [Message.Attachment] = []
    var externalAttachments: [Message.ExternalAttachment] = []
    var hasStarted = false

    var status: Status { result?.status ?? .unknown }
    var seconds: Double { result?.duration.interval ?? 0 }
    /// Whether its code ran.
    var hasRun: Bool { seconds > 0 || status == .passed || status == .failed }
    /// The text of a step with its keyword, or the kind of a hook.
    var title: String { step.map { keyword + $0.text } ?? hook?.title ?? "Hook" }
    /// The error's text, without the colors of a terminal; nil for none.
    var error: String? {
      guard let result else { return nil }
      let message = (result.message ?? "").withoutTerminalColors
      let short = (result.exception?.message ?? "").withoutTerminalColors
      // The message may be the short one with more to it, or with the stack trace.
      if !short.isEmpty, !message.hasPrefix(short) || result.exception?.stackTrace?.hasPrefix(message) == true {
        return short
      }
      return message.isEmpty ? result.exception.map(\.type) : message
    }
    /// What the stack trace tells more than the error; nil for nothing.
    var trace: String? {
      guard var trace = (result?.exception?.stackTrace ?? result?.message)?.withoutTerminalColors, let error else {
        return nil
      }
      if trace.hasPrefix(error) { trace.removeFirst(error.count) }
      while trace.first?.isNewline == true { trace.removeFirst() }
      return trace.isEmpty || error.contains(trace) ? nil : trace
    }
  }

  /// A hook of the run.
  struct RunHook {
    var hook: Message.Hook?
    var result: Message.TestStepResult?
    var attachments: [Message.Attachment] = []
  }

  private(set) var meta: Message.Meta?
  /// Sorted by path.
  private(set) var features: [FeatureResult] = []
  private(set) var parseErrors: [ParseError] = []
  private(set) var undefinedTypes: [Message.UndefinedParameterType] = []
  private(set) var hooks: [RunHook] = []
  private(set) var attachments: [Message.Attachment] = []
  /// Why the run failed apart from its scenarios.
  private(set) var errors: [String] = []
  private(set) var start: Double?
  private(set) var end: Double?
  /// How many runs started and did not finish.
  private(set) var unfinished = 0
  private var wasSuccessful = true

  var scenarios: [ScenarioResult] { features.flatMap(\.scenarios) }
  var seconds: Double { max(0, (end ?? start ?? 0) - (start ?? 0)) }

  /// Whether everything passed or was skipped.
  var hasPassed: Bool {
    wasSuccessful && unfinished == 0 && parseErrors.isEmpty && errors.isEmpty
      && !features.contains { $0.scenarios.contains(where: \.hasFailed) }
  }

  init(_ messages: [Message]) {
    var reader = RunReader()
    for message in messages { reader.read(message) }
    meta = reader.meta
    features = reader.features()
    parseErrors = reader.parseErrors
    undefinedTypes = reader.undefinedTypes
    hooks = reader.hooks
    attachments = reader.attachments
    errors = reader.errors
    (start, end) = (reader.start, reader.end)
    unfinished = max(0, reader.startedRuns - reader.finishedRuns)
    wasSuccessful = reader.wasSuccessful
  }
}

extension Message.TestStepResultStatus {
  /// The greater, the worse.
  var rank: Int {
    switch self {
    case .passed: 0
    case .skipped: 1
    case .unknown: 2
    case .pending: 3
    case .undefined: 4
    case .ambiguous: 5
    case .failed: 6
    }
  }

  /// The word for people.
  var word: String { self == .unknown ? "unfinished" : "\(self)" }
}

extension Message.Hook {
  /// Such as `Before`, with its name.
  var title: String {
    let kind =
      switch type {
      case .beforeTestRun: "Before all"
      case .afterTestRun: "After all"
      case .beforeTestCase: "Before"
      case .afterTestCase: "After"
      case .beforeTestStep: "Before step"
      case .afterTestStep: "After step"
      case nil: "Hook"
      }
    return name.map { "\(kind): \($0)" } ?? kind
  }
}

extension Message.SourceReference {
  /// Such as `Steps.swift:12`; nil if unknown.
  var place: String? {
    if let uri { return location.map { "\(uri):\($0.line)" } ?? uri }
    return javaMethod.map { "\($0.className).\($0.methodName)" }
      ?? javaStackTraceElement.map { "\($0.className).\($0.methodName) (\($0.fileName))" }
  }
}

/// Reads messages in order.
private struct RunReader {
  /// What a node of the syntax tree tells about a pickle.
  private struct Node {
    var feature: Feature
    var rule: Rule?
    var scenario: Scenario?
  }

  /// A test case with the attempts so far.
  private struct Case {
    var feature: Feature?
    var result: ScenarioRun.ScenarioResult
    var steps: [Message.TestStep]
    var template: [ScenarioRun.StepResult]
  }

  var meta: Message.Meta?
  var parseErrors: [ParseError] = []
  var undefinedTypes: [Message.UndefinedParameterType] = []
  var hooks: [ScenarioRun.RunHook] = []
  var attachments: [Message.Attachment] = []
  var errors: [String] = []
  var start: Double?
  var end: Double?
  var startedRuns = 0
  var finishedRuns = 0
  var wasSuccessful = true

  private var documents: [String: Feature] = [:]
  private var scenarioNodes: [String: Node] = [:]
  private var stepNodes: [String: Step] = [:]
  private var pickles: [String: Pickle] = [:]
  private var hookDefinitions: [String: Message.Hook] = [:]
  private var definitions: [String: Message.StepDefinition] = [:]
  private var snippets: [String: [String]] = [:]
  private var runHooks: [String: Int] = [:]
  private var cases: [Case] = []
  private var caseIndices: [String: Int] = [:]
  /// The case and the attempt of a started test case.
  private var attempts: [String: (index: Int, attempt: Int)] = [:]

  mutating func read(_ message: Message) {
    switch message {
    case .meta(let meta): self.meta = meta
    case .gherkinDocument(let document): read(document)
    case .pickle(let pickle): pickles[pickle.id] = pickle
    case .parseError(let error): if !parseErrors.contains(error) { parseErrors.append(error) }
    case .undefinedParameterType(let type): if !undefinedTypes.contains(type) { undefinedTypes.append(type) }
    case .hook(let hook): hookDefinitions[hook.id] = hook
    case .stepDefinition(let definition): definitions[definition.id] = definition
    case .suggestion(let suggestion): read(suggestion)
    case .testRunStarted(let run):
      startedRuns += 1
      note(run.timestamp)
    case .testRunFinished(let run):
      finishedRuns += 1
      wasSuccessful = wasSuccessful && run.success
      if let error = run.message ?? run.exception.map({ $0.stackTrace ?? $0.message ?? $0.type }) {
        errors.append(error)
      }
      note(run.timestamp)
    case .testRunHookStarted(let hook):
      runHooks[hook.id] = hooks.count
      hooks.append(.init(hook: hookDefinitions[hook.hookId]))
      note(hook.timestamp)
    case .testRunHookFinished(let hook):
      note(hook.timestamp)
      guard let index = runHooks[hook.testRunHookStartedId] else { return }
      hooks[index].result = hook.result
    case .testCase(let testCase): read(testCase)
    case .testCaseStarted(let started): read(started)
    case .testCaseFinished(let finished):
      note(finished.timestamp)
      guard let place = attempts[finished.testCaseStartedId] else { return }
      cases[place.index].result.attempts[place.attempt].end = finished.timestamp.interval
    case .testStepStarted(let started):
      note(started.timestamp)
      change(started.testCaseStartedId, started.testStepId) { $0.hasStarted = true }
    case .testStepFinished(let finished):
      note(finished.timestamp)
      change(finished.testCaseStartedId, finished.testStepId) { $0.result = finished.testStepResult }
    case .attachment(let attachment): read(attachment)
    case .externalAttachment(let attachment): read(attachment)
    case .source, .parameterType, .other: break
    }
  }

  /// The features with the scenarios that ran.
  func features() -> [ScenarioRun.FeatureResult] {
    // A Swift file has a feature for each class.
    var features: [[String]: ScenarioRun.FeatureResult] = [:]
    for testCase in cases where !testCase.result.attempts.isEmpty {
      let uri = testCase.result.pickle.uri
      let feature = ScenarioRun.FeatureResult(uri: uri, feature: testCase.feature ?? documents[uri])
      features[[uri, feature.name], default: feature].scenarios.append(testCase.result)
    }
    return features.values.sorted { ($0.uri, $0.name) < ($1.uri, $1.name) }.map { feature in
      var feature = feature
      // Stable, so that repeated runs of a scenario keep their order.
      feature.scenarios = feature.scenarios.enumerated()
        .sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }.map(\.element)
      return feature
    }
  }

  private mutating func note(_ timestamp: Message.Timestamp) {
    start = min(start ?? timestamp.interval, timestamp.interval)
    end = max(end ?? timestamp.interval, timestamp.interval)
  }

  private mutating func read(_ document: GherkinDocument) {
    guard let feature = document.feature else { return }
    documents[document.uri] = feature
    for child in feature.children {
      switch child {
      case .background(let background): add(background.steps)
      case .scenario(let scenario): add(scenario, nil, feature)
      case .rule(let rule):
        for child in rule.children {
          switch child {
          case .background(let background): add(background.steps)
          case .scenario(let scenario): add(scenario, rule, feature)
          }
        }
      }
    }
  }

  private mutating func add(_ scenario: Scenario, _ rule: Rule?, _ feature: Feature) {
    scenarioNodes[scenario.id] = Node(feature: feature, rule: rule, scenario: scenario)
    add(scenario.steps)
  }

  private mutating func add(_ steps: [Step]) {
    for step in steps { stepNodes[step.id] = step }
  }

  private mutating func read(_ suggestion: Message.Suggestion) {
    let codes = suggestion.snippets.map(\.code)
    snippets[suggestion.pickleStepId] = codes
    for index in cases.indices {
      for step in cases[index].template.indices where cases[index].template[step].step?.id == suggestion.pickleStepId {
        cases[index].template[step].snippets = codes
        for attempt in cases[index].result.attempts.indices {
          cases[index].result.attempts[attempt].steps[step].snippets = codes
        }
      }
    }
  }

  private mutating func read(_ testCase: Message.TestCase) {
    guard let pickle = pickles[testCase.pickleId] else { return }
    let node = pickle.astNodeIds.compactMap { scenarioNodes[$0] }.first
    let template = testCase.testSteps.map { testStep in
      var result = ScenarioRun.StepResult()
      result.hook = testStep.hookId.flatMap { hookDefinitions[$0] }
      if let id = testStep.pickleStepId, let step = pickle.steps.first(where: { $0.id == id }) {
        let node = step.astNodeIds.compactMap { stepNodes[$0] }.first
        result.step = step
        result.keyword = node?.keyword ?? ""
        result.line = node?.location.line
        result.snippets = snippets[id] ?? []
        result.definitions = (testStep.stepDefinitionIds ?? []).compactMap { definitions[$0] }
        // The lists of an ambiguous step contradict each other.
        let lists = testStep.stepMatchArgumentsLists ?? []
        result.arguments = lists.count == 1 ? lists[0].stepMatchArguments : []
      }
      return result
    }
    caseIndices[testCase.id] = cases.count
    cases.append(
      Case(
        feature: node?.feature, result: .init(pickle: pickle, rule: node?.rule, scenario: node?.scenario),
        steps: testCase.testSteps, template: template))
  }

  private mutating func read(_ started: Message.TestCaseStarted) {
    note(started.timestamp)
    guard let index = caseIndices[started.testCaseId] else { return }
    attempts[started.id] = (index, cases[index].result.attempts.count)
    cases[index].result.attempts.append(
      .init(
        number: started.attempt, worker: started.workerId, start: started.timestamp.interval,
        steps: cases[index].template))
  }

  /// Changes a step's result; without a step, or with an unknown one, nothing.
  ///
  /// - Returns: whether there is such a step.
  @discardableResult
  private mutating func change(
    _ started: String, _ step: String?, _ change: (inout ScenarioRun.StepResult) -> Void
  ) -> Bool {
    guard let place = attempts[started],
      let index = cases[place.index].steps.firstIndex(where: { $0.id == step })
    else { return false }
    change(&cases[place.index].result.attempts[place.attempt].steps[index])
    return true
  }

  private mutating func read(_ attachment: Message.Attachment) {
    if let hook = attachment.testRunHookStartedId.flatMap({ runHooks[$0] }) {
      hooks[hook].attachments.append(attachment)
    } else if let started = attachment.testCaseStartedId, let place = attempts[started] {
      if change(started, attachment.testStepId, { $0.attachments.append(attachment) }) { return }
      cases[place.index].result.attempts[place.attempt].attachments.append(attachment)
    } else {
      attachments.append(attachment)
    }
  }

  private mutating func read(_ attachment: Message.ExternalAttachment) {
    guard let started = attachment.testCaseStartedId, let place = attempts[started] else { return }
    if change(started, attachment.testStepId, { $0.externalAttachments.append(attachment) }) { return }
    cases[place.index].result.attempts[place.attempt].externalAttachments.append(attachment)
  }
}
