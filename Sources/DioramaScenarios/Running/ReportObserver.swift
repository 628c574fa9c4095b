import Basics
import CucumberExpressions
import Foundation
import Gherkin
import ScenarioReports
import Testing

/// Writes what happens in the scenarios of the test process as Cucumber messages.
///
/// A feature file is parsed when its first scenario starts, so that the messages have its text and syntax tree. If it
/// cannot be read, they contain only what the scenarios report. A scenario written in Swift is a feature of its own, with
/// the name of its class.
final class ReportObserver: ScenarioObserver {
  private let translation: Guarded<MessageTranslation>
  private let write: @Sendable (Message) -> Void
  private let once: @Sendable (_ key: String, _ body: () -> Void) -> Void
  private let end: @Sendable () -> Void

  /// - Parameters:
  ///   - ids: the ids of the messages, below 2^54, which no other process writing to the same file may use.
  ///   - write: receives the messages, one after the other.
  ///   - once: calls its body, which writes a feature file's messages, unless a process of the run has already done so.
  ///   - end: called after the last message.
  init(
    ids: IDGenerator = IDGenerator(), write: @escaping @Sendable (Message) -> Void,
    once: @escaping @Sendable (_ key: String, _ body: () -> Void) -> Void = { _, body in body() },
    end: @escaping @Sendable () -> Void = {}
  ) {
    translation = Guarded(MessageTranslation(ids: ids))
    self.write = write
    self.once = once
    self.end = end
  }

  /// The observer that the variable `DIORAMA_SCENARIO_REPORTS` of the process asks for, which writes reports to this folder.
  static func requested() -> ReportObserver? {
    guard let path = ProcessInfo.processInfo.environment["DIORAMA_SCENARIO_REPORTS"], !path.isEmpty else { return nil }
    do {
      let folder = ReportFolder(path: path)
      let (writer, presence) = try folder.open()
      // Enough ids for each process that writes to the same file.
      let first = Int.random(in: 1..<1 << 30) << 24
      return ReportObserver(ids: IDGenerator(from: first)) {
        writer.append($0)
      } once: {
        folder.once($0, $1)
      } end: {
        folder.writeReports(at: presence)
      }
    } catch {
      ReportFolder.complain("\(error); the tests run without reports")
      return nil
    }
  }

  func receive(_ event: ScenarioEvent, at time: Date) {
    // Within the lock, so that messages are written in their order.
    let isEnd = translation.withLock { translation in
      if let feature = translation.feature(of: event) {
        once(feature.key) { for message in feature.messages { write(message) } }
      }
      for message in translation.messages(for: event, at: .init(time)) { write(message) }
      if case .runFinished = event { return true }
      return false
    }
    if isEnd { end() }
  }
}

/// Makes messages of events, and keeps their ids.
private struct MessageTranslation {
  private struct DefinitionKey: Hashable {
    let source: String
    let place: SourceLocation
  }

  private struct HookKey: Hashable {
    let moment: Hook.Moment
    let name: String?
    let tags: String?
    let place: SourceLocation
  }

  private struct AttemptKey: Hashable {
    let id: ScenarioPlan.ID
    let attempt: Int
  }

  private struct TestCase {
    let pickle: Pickle
    /// One for each item of the plan.
    let stepIDs: [String]
    /// The step of the pickle of an item; nil for hooks.
    let pickleSteps: [String?]
    let id: String
  }

  private var ids: IDGenerator
  private var runID: String?
  private var pickles: [String: [Pickle]] = [:]
  private var definitions: [DefinitionKey: String] = [:]
  private var hooks: [HookKey: String] = [:]
  private var parameterTypes: Set<String> = []
  private var cases: [ScenarioPlan.ID: TestCase] = [:]
  private var attempts: [AttemptKey: String] = [:]
  private var runHooks: [RunHook: String] = [:]

  init(ids: IDGenerator) { self.ids = ids }

  mutating func messages(for event: ScenarioEvent, at time: Message.Timestamp) -> [Message] {
    var messages: [Message] = []
    let run = runID ?? ids.next()
    if runID == nil {
      runID = run
      messages += [.meta(.current), .testRunStarted(.init(timestamp: time, id: run))]
    }
    switch event {
    case .found(let plan): messages += foundMessages(plan)
    case .planned(let plan): messages += plannedMessages(plan, run)
    case .attemptStarted(let plan, let attempt):
      guard let testCase = cases[plan] else { break }
      let id = ids.next()
      attempts[AttemptKey(id: plan, attempt: attempt)] = id
      messages.append(.testCaseStarted(.init(attempt: attempt, id: id, testCaseId: testCase.id, timestamp: time)))
    case .stepStarted(let plan, let attempt, let index):
      guard let (attempt, step) = ids(of: plan, attempt, index) else { break }
      messages.append(.testStepStarted(.init(testCaseStartedId: attempt, testStepId: step, timestamp: time)))
    case .attached(let plan, let attempt, let index, let attachment):
      guard let id = attempts[AttemptKey(id: plan, attempt: attempt)] else { break }
      var message = Message.Attachment(attachment, at: time)
      message.testCaseStartedId = id
      message.testStepId = index.flatMap { ids(of: plan, attempt, $0)?.step }
      messages.append(.attachment(message))
    case .stepFinished(let plan, let attempt, let index, let result):
      guard let (attempt, step) = ids(of: plan, attempt, index) else { break }
      if let snippet = result.snippet, let pickleStep = cases[plan]?.pickleSteps[index] {
        messages.append(
          .suggestion(
            .init(id: ids.next(), pickleStepId: pickleStep, snippets: [.init(language: "swift", code: snippet.code)])))
      }
      messages.append(
        .testStepFinished(
          .init(testCaseStartedId: attempt, testStepId: step, testStepResult: .init(result), timestamp: time)))
    case .attemptFinished(let plan, let attempt, let willBeRetried):
      guard let id = attempts[AttemptKey(id: plan, attempt: attempt)] else { break }
      messages.append(.testCaseFinished(.init(testCaseStartedId: id, timestamp: time, willBeRetried: willBeRetried)))
    case .runHookStarted(let hook):
      let id = ids.next()
      runHooks[hook] = id
      let hookID = self.id(
        of: .hook(moment: hook.isBefore ? .beforeRun : .afterRun, name: hook.name, tags: nil, place: hook.place),
        &messages)
      messages.append(
        .testRunHookStarted(.init(id: id, testRunStartedId: run, hookId: hookID ?? "", timestamp: time)))
    case .runHookAttached(let hook, let attachment):
      var message = Message.Attachment(attachment, at: time)
      message.testRunHookStartedId = runHooks[hook]
      messages.append(.attachment(message))
    case .runHookFinished(let hook, let result):
      guard let id = runHooks[hook] else { break }
      messages.append(.testRunHookFinished(.init(testRunHookStartedId: id, result: .init(result), timestamp: time)))
    case .runFinished(let hasSucceeded):
      messages.append(.testRunFinished(.init(success: hasSucceeded, timestamp: time, testRunStartedId: run)))
    }
    return messages
  }

  /// The ids of an attempt and of one of its steps.
  private func ids(of plan: ScenarioPlan.ID, _ attempt: Int, _ index: Int) -> (attempt: String, step: String)? {
    guard let id = attempts[AttemptKey(id: plan, attempt: attempt)], let testCase = cases[plan],
      // Another attempt may have more steps, if the definitions depend on something else.
      testCase.stepIDs.indices.contains(index)
    else { return nil }
    return (id, testCase.stepIDs[index])
  }

  // MARK: Plans

  private mutating func foundMessages(_ plan: ScenarioPlan) -> [Message] {
    var messages: [Message] = []
    _ = pickle(of: plan, &messages)
    for (type, place) in plan.parameterTypes where parameterTypes.insert(type.name).inserted {
      messages.append(
        .parameterType(
          .init(
            name: type.name, regularExpressions: type.regexps,
            preferForRegularExpressionMatch: type.preferForRegexpMatch, useForSnippets: type.useForSnippets,
            id: ids.next(), sourceReference: place.reference)))
    }
    for type in plan.undefinedParameterTypes where parameterTypes.insert("\(type.name) in \(type.expression)").inserted
    {
      messages.append(.undefinedParameterType(type))
    }
    for definition in plan.definitions { _ = id(of: definition, &messages) }
    for hook in plan.hooks { _ = id(of: hook, &messages) }
    return messages
  }

  private mutating func plannedMessages(_ plan: ScenarioPlan, _ run: String) -> [Message] {
    var messages: [Message] = []
    let pickle = pickle(of: plan, &messages)
    var steps = pickle.steps[...]
    let id = ids.next()
    var testSteps: [Message.TestStep] = []
    for item in plan.items {
      var step = Message.TestStep(id: ids.next())
      switch item {
      case .hook: step.hookId = self.id(of: item, &messages)
      case .step(_, let definitions):
        step.pickleStepId = steps.popFirst()?.id
        step.stepDefinitionIds = definitions.map { self.id(of: $0, &messages) }
        step.stepMatchArgumentsLists = definitions.map { .init(stepMatchArguments: $0.arguments) }
      }
      testSteps.append(step)
    }
    cases[plan.id] = TestCase(
      pickle: pickle, stepIDs: testSteps.map(\.id), pickleSteps: testSteps.map(\.pickleStepId), id: id)
    messages.append(.testCase(.init(id: id, pickleId: pickle.id, testSteps: testSteps, testRunStartedId: run)))
    return messages
  }

  /// The messages about the feature file of a scenario; nil if it is known, or cannot be read.
  ///
  /// IDs are derived from the file's path and text, so every process uses the same ones and only one has to write them.
  mutating func feature(of event: ScenarioEvent) -> (key: String, messages: [Message])? {
    guard case .found(let plan) = event, pickles[plan.source.path] == nil else { return nil }
    let path = plan.source.path
    let uri = path.pathForReports
    pickles[path] = []
    guard path.hasSuffix(".feature") || path.hasSuffix(".feature.md"),
      let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8)
    else { return nil }
    let first = Self.firstID(of: uri + "\n" + text)
    var ids = IDGenerator(from: first)
    guard let document = try? GherkinParser().parse(text, uri: uri, ids: &ids) else { return nil }
    let found = PickleCompiler.pickles(of: document, ids: &ids)
    pickles[path] = found
    let messages = [Message.source(Source(uri: uri, data: text)), .gherkinDocument(document)]
    return (String(first), messages + found.map(Message.pickle))
  }

  /// The first ID of a feature file's range. At least 2^54; the IDs of processes are lower.
  private static func firstID(of text: String) -> Int {
    // FNV-1a.
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325) { (hash: UInt64, byte) in
      (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return Int(hash >> 34 | 1 << 30) << 24
  }

  /// The pickle of a scenario.
  private mutating func pickle(of plan: ScenarioPlan, _ messages: inout [Message]) -> Pickle {
    let path = plan.source.path
    let uri = path.pathForReports
    let scenario = plan.scenario
    // The file may have changed since the tests were built.
    if let known = pickles[path]?.first(where: {
      $0.location.line == scenario.line && $0.name == scenario.name
        && $0.steps.map(\.text) == scenario.steps.map(\.text)
    }) {
      return known
    }
    var pickle = Pickle(scenario, uri: uri, ids: &ids)
    if path.hasSuffix(".swift") {
      let document = GherkinDocument(scenario, of: plan.source.name, uri: uri, ids: &ids)
      messages.append(.gherkinDocument(document))
      pickle = PickleCompiler.pickles(of: document, ids: &ids).first ?? pickle
    }
    pickles[path, default: []].append(pickle)
    messages.append(.pickle(pickle))
    return pickle
  }

  private mutating func id(
    of definition: ScenarioPlan.MatchedDefinition, _ messages: inout [Message]
  ) -> String {
    let key = DefinitionKey(source: definition.source, place: definition.place)
    if let id = definitions[key] { return id }
    let id = ids.next()
    definitions[key] = id
    messages.append(
      .stepDefinition(
        .init(
          id: id,
          pattern: .init(
            source: definition.source, type: definition.isRegularExpression ? .regularExpression : .cucumberExpression),
          sourceReference: definition.place.reference)))
    return id
  }

  /// The id of a hook; nil for a step.
  private mutating func id(of hook: ScenarioPlan.Item, _ messages: inout [Message]) -> String? {
    guard case .hook(let moment, let name, let tags, let place) = hook else { return nil }
    let key = HookKey(moment: moment, name: name, tags: tags, place: place)
    if let id = hooks[key] { return id }
    let id = ids.next()
    hooks[key] = id
    let type: Message.HookType =
      switch moment {
      case .beforeScenario: .beforeTestCase
      case .afterScenario: .afterTestCase
      case .beforeStep: .beforeTestStep
      case .afterStep: .afterTestStep
      case .beforeRun: .beforeTestRun
      case .afterRun: .afterTestRun
      }
    messages.append(
      .hook(.init(id: id, name: name, sourceReference: place.reference, tagExpression: tags, type: type)))
    return id
  }
}

extension String {
  /// The path from the current folder, if it is within.
  fileprivate var pathForReports: String {
    let folder = FileManager.default.currentDirectoryPath + "/"
    return hasPrefix(folder) ? String(dropFirst(folder.count)) : self
  }
}

extension SourceLocation {
  fileprivate var reference: SourceReference {
    SourceReference(uri: filePath.pathForReports, location: Location(line: line, column: column))
  }

  fileprivate typealias SourceReference = Message.SourceReference
}

extension Message.Meta {
  fileprivate static var current: Self {
    let system = ProcessInfo.processInfo.operatingSystemVersion
    #if os(Linux)
      let name = "linux"
    #else
      let name = "darwin"
    #endif
    #if arch(x86_64)
      let architecture = "x86_64"
    #elseif arch(arm64)
      let architecture = "arm64"
    #else
      let architecture = "unknown"
    #endif
    #if compiler(>=6.3)
      let compiler = "6.3"
    #else
      let compiler = "6.2"
    #endif
    return Self(
      protocolVersion: "34.2.1", implementation: .init(name: "diorama"),
      runtime: .init(name: "swift", version: compiler),
      os: .init(name: name, version: "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"),
      cpu: .init(name: architecture))
  }
}

extension Message.Attachment {
  fileprivate init(_ attachment: ScenarioAttachment, at time: Message.Timestamp) {
    let text = attachment.isText ? String(validating: attachment.bytes, as: UTF8.self) : nil
    self.init(
      body: text ?? Data(attachment.bytes).base64EncodedString(), contentEncoding: text == nil ? .base64 : .identity,
      fileName: attachment.name, mediaType: attachment.mediaType, timestamp: time)
  }
}

extension Message.TestStepResult {
  fileprivate init(_ result: StepResult) {
    let status: Message.TestStepResultStatus =
      switch result.status {
      case .passed: .passed
      case .failed: .failed
      case .skipped: .skipped
      case .pending: .pending
      case .undefined: .undefined
      case .ambiguous: .ambiguous
      }
    // The test case and the suggestion say what is undefined or ambiguous.
    let isMismatch = [.undefined, .ambiguous].contains(result.status)
    let message = result.message.flatMap { $0.isEmpty || isMismatch ? nil : $0 }
    // Without a message, the error adds nothing to the status.
    let exception = result.errorType.flatMap { type in
      message.map { message in
        Message.Exception(
          type: type, message: message,
          stackTrace: (["\(type): \(message)"] + result.places).joined(separator: "\n"))
      }
    }
    self.init(duration: .init(result.duration), message: message, status: status, exception: exception)
  }
}
