import Basics
import Gherkin
import ScenarioReports

/// The messages of a run whose scenarios a test lists: parsed by the real parser, with the results that the test gives.
struct SampleRun {
  /// A step's result.
  struct Result {
    var status = Message.TestStepResultStatus.passed
    var message: String?
    var snippet: String?
    /// The definitions' expressions; nil for one that matches.
    var definitions: [String]?
    var arguments: [Message.StepMatchArgument] = []
    var attachments: [(type: String, body: String)] = []
  }

  private(set) var messages: [Message] = []
  private let prefix: String
  private var count = 0

  /// - Parameters:
  ///   - feature: the text of a feature file.
  ///   - uri: its path.
  ///   - prefix: the beginning of ids.
  ///   - attempts: for each scenario, and each attempt at it, the results of the steps; missing ones passed.
  ///   - attachments: those of each last attempt.
  ///   - finishes: whether the last attempt, and the run, end.
  /// - Throws: errors of the parser.
  init(
    _ feature: String, uri: String = "Tests/clinic.feature", prefix: String = "x", attempts: [[[Result]]] = [],
    attachments: [(type: String, body: String)] = [], finishes: Bool = true
  ) throws {
    self.prefix = prefix
    messages.append(
      .meta(
        .init(
          protocolVersion: "34.2.1", implementation: .init(name: "diorama"), runtime: .init(name: "Swift"),
          os: .init(name: "linux"), cpu: .init(name: "x86_64"))))
    var ids = IDGenerator()
    let document = try GherkinParser().parse(feature, uri: uri, ids: &ids)
    let pickles = PickleCompiler.pickles(of: document, ids: &ids)
    messages.append(.source(Source(uri: uri, data: feature)))
    messages.append(.gherkinDocument(document))
    messages += pickles.map(Message.pickle)
    messages.append(.testRunStarted(.init(timestamp: time(), id: prefix)))
    for (index, pickle) in pickles.enumerated() {
      let attempts = index < attempts.count ? attempts[index] : [[]]
      run(pickle, attempts, attachments, finishes: finishes || index < pickles.count - 1)
    }
    if finishes { messages.append(.testRunFinished(.init(success: true, timestamp: time(), testRunStartedId: prefix))) }
  }

  private mutating func id() -> String {
    count += 1
    return "\(prefix)\(count)"
  }

  private mutating func time() -> Message.Timestamp {
    count += 1
    return .init(seconds: 1_790_000_000 + count, nanos: 0)
  }

  private mutating func run(
    _ pickle: Pickle, _ attempts: [[Result]], _ attachments: [(type: String, body: String)], finishes: Bool
  ) {
    var steps: [Message.TestStep] = []
    for (index, step) in pickle.steps.enumerated() {
      let result = result(index, attempts.last ?? [])
      var ids: [String] = []
      for expression in result.definitions ?? (result.status == .undefined ? [] : [step.text]) {
        ids.append(id())
        messages.append(
          .stepDefinition(
            .init(
              id: ids[ids.count - 1], pattern: .init(source: expression, type: .cucumberExpression),
              sourceReference: .init(uri: "Tests/Steps.swift", location: Location(line: 7 + ids.count, column: 3)))))
      }
      if let snippet = result.snippet {
        messages.append(
          .suggestion(.init(id: id(), pickleStepId: step.id, snippets: [.init(language: "swift", code: snippet)])))
      }
      steps.append(
        .init(
          id: id(), pickleStepId: step.id, stepDefinitionIds: ids,
          stepMatchArgumentsLists: ids.map { _ in .init(stepMatchArguments: result.arguments) }))
    }
    let testCase = id()
    messages.append(.testCase(.init(id: testCase, pickleId: pickle.id, testSteps: steps, testRunStartedId: prefix)))
    for (attempt, results) in attempts.enumerated() {
      let started = id()
      let isLast = attempt == attempts.count - 1
      messages.append(
        .testCaseStarted(.init(attempt: attempt, id: started, testCaseId: testCase, timestamp: time())))
      for (index, step) in steps.enumerated() {
        messages.append(.testStepStarted(.init(testCaseStartedId: started, testStepId: step.id, timestamp: time())))
        let result = result(index, results)
        for attachment in result.attachments {
          messages.append(
            .attachment(
              .init(
                body: attachment.body, contentEncoding: .identity, mediaType: attachment.type,
                testCaseStartedId: started, testStepId: step.id)))
        }
        guard finishes || !isLast else { return }
        messages.append(
          .testStepFinished(
            .init(
              testCaseStartedId: started, testStepId: step.id,
              testStepResult: .init(
                duration: .init(.milliseconds(1500)), message: result.message, status: result.status),
              timestamp: time())))
      }
      if isLast {
        for attachment in attachments {
          messages.append(
            .attachment(
              .init(
                body: attachment.body, contentEncoding: .identity, mediaType: attachment.type,
                testCaseStartedId: started)))
        }
      }
      messages.append(
        .testCaseFinished(.init(testCaseStartedId: started, timestamp: time(), willBeRetried: !isLast)))
    }
  }

  private func result(_ index: Int, _ results: [Result]) -> Result {
    index < results.count ? results[index] : Result()
  }
}
