import Basics
import DioramaTesting
import Foundation

/// Steps that control and check a scenario's environment: its app, its clock, its backends, and the app's requests.
///
/// List it in `Features` to use them:
///
/// ```swift
/// struct Features: StepDefinitions {
///   var configuration: TestEnvironment.Configuration? { .init(upstreams: ["api": "https://dev.api1.com"]) }
///   var steps: [Step] {
///     EnvironmentSteps(app: "clinic")
///     Booking()
///   }
/// }
/// ```
///
/// ```gherkin
/// @manual
/// Scenario: the session ends
///   Given the backend answers 200 to "GET /v1/prescriptions"
///     """json
///     {"prescriptions": []}
///     """
///   When the app is launched with "visit"
///   And 15 minutes pass once the app is waiting
///   Then the app prints "your session ended"
///   And the app has asked for "POST /v1/users" 1 time
/// ```
///
/// In steps, `the app` is the app that the scenario launched last.
public final class EnvironmentSteps: StepDefinitions {
  private let executable: String?
  private let arguments: [String]
  private let timeout: Duration
  private var application: TestApplication?
  private var faults: [TestEnvironment.Fault] = []

  /// Creates the steps.
  ///
  /// - Parameters:
  ///   - executable: the program that `the app is launched` launches, as in `TestApplication(executable:)`; nil if each
  ///     step names its program.
  ///   - arguments: its arguments; those of the step follow.
  ///   - timeout: how long steps wait, for example for the app's output.
  public init(app executable: String? = nil, arguments: [String] = [], timeout: Duration = .seconds(30)) {
    self.executable = executable
    self.arguments = arguments
    self.timeout = timeout
  }

  /// The steps, and the parameter types `{duration}`, `{instant}` and `{json}`.
  public var steps: [Step] {
    ParameterType("duration", StepDuration.pattern) { try StepDuration.parse($0) }
    ParameterType("instant", StepInstant.pattern) { try StepInstant.parse($0) }
    ParameterType(unsuggested: "json", ".+") { (text: String) in
      switch text {
      case "on": JSON.bool(true)
      case "off": JSON.bool(false)
      default: JSON(argument: text)
      }
    }
    appSteps
    clockSteps
    backendSteps
    requestSteps
    Given("the toggle {string} is {json}") { (name: String, value: JSON) in
      try await self.environment.update(toggles: [name: .init(value)], timeout: self.timeout)
    }
  }

  // MARK: The app

  @StepsBuilder private var appSteps: [Step] {
    When("the app is launched") { try await self.launch(nil, []) }
    When("the app is launched with {string}") { (arguments: String) in try await self.launch(nil, Self.words(arguments))
    }
    When("the app is launched with the arguments:") { (arguments: [String]) in try await self.launch(nil, arguments) }
    When("the app {string} is launched") { (name: String) in try await self.launch(name, []) }
    When("the app {string} is launched with {string}") { (name: String, arguments: String) in
      try await self.launch(name, Self.words(arguments))
    }
    When("the app {string} is launched with the arguments:") { (name: String, arguments: [String]) in
      try await self.launch(name, arguments)
    }
    When("the user enters {string}") { (text: String) in try await self.app.write(text + "\n") }
    When("the user ends the input") { try self.app.closeInput() }
    When("the app is terminated") { try await self.app.terminate() }
    Then("the app prints {string}") { (text: String) in
      try await self.app.wait(forOutput: text, timeout: self.timeout)
    }
    Then("the app prints the error {string}") { (text: String) in
      try await self.app.wait(forOutput: text, on: .error, timeout: self.timeout)
    }
    Then("the app has not printed {string}") { (text: String) in
      guard try self.app.standardOutput.contains(text) else { return }
      throw ScenarioError("the app has printed '\(text)'")
    }
    Then("the app exits with {int}") { (status: Int) in
      try await self.app.wait(for: .exited(Int32(clamping: status)), timeout: self.timeout)
    }
  }

  private func launch(_ name: String?, _ arguments: [String]) async throws {
    guard let executable = name ?? executable else {
      throw ScenarioError(
        "the app is not known; write 'the app \"NAME\" is launched', or use EnvironmentSteps(app: \"NAME\")")
    }
    let environment = try environment
    // Relaunching keeps the same app.
    let known = application.flatMap { $0.executable == executable ? $0 : nil }
    let app = known ?? TestApplication(executable: executable, in: .environment(environment))
    app.launchArguments = (name == nil ? self.arguments : []) + arguments
    application = app
    try await app.launch()
  }

  private var app: TestApplication {
    get throws {
      guard let application else {
        throw ScenarioError("no app has been launched; add the step 'Given the app is launched' before this one")
      }
      return application
    }
  }

  /// The words of a command line; quotation marks keep spaces.
  static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line {
      if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if quote == nil, character == " " {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    return words + (word.map { [$0] } ?? [])
  }

  // MARK: The clock

  @StepsBuilder private var clockSteps: [Step] {
    When("{duration} pass(es)") { (duration: Duration) in
      try await self.environment.clock.advance(by: duration, timeout: self.timeout)
    }
    When("{duration} pass(es) once the app is waiting") { (duration: Duration) in
      try await self.environment.clock.advance(by: duration, afterSleepers: 1, timeout: self.timeout)
    }
    When("{duration} pass(es) once {int} tasks of the app are waiting") { (duration: Duration, count: Int) in
      try await self.environment.clock.advance(by: duration, afterSleepers: count, timeout: self.timeout)
    }
    Given("the clock is set to {instant}") { (instant: Date) in
      try await self.environment.clock.set(to: instant, timeout: self.timeout)
    }
    Then("the clock shows {instant}") { (instant: Date) in
      let now = try await self.environment.clock.now
      guard abs(now.timeIntervalSince(instant)) >= 0.001 else { return }
      throw ScenarioError("the clock shows \(RFC3339.format(now)), not \(RFC3339.format(instant))")
    }
  }

  // MARK: The backend

  @StepsBuilder private var backendSteps: [Step] {
    Given("the backend answers {int} to {string}") { (status: Int, request: String, body: DocString?) in
      try await self.stub(status, request, body, nil)
    }
    Given("the backend {string} answers {int} to {string}") {
      (upstream: String, status: Int, request: String, body: DocString?) in
      try await self.stub(status, request, body, upstream)
    }
    Given("the backend is down") { try await self.add(.refused) }
    Given("the backend {string} is down") { (upstream: String) in try await self.add(.refused.upstream(upstream)) }
    Given("the backend answers {int} to everything") { (status: Int) in try await self.add(.status(status)) }
    Given("the backend takes {duration} to answer") { (delay: Duration) in try await self.add(.delay(delay)) }
    Given("the backend has the fault {string}") { (text: String) in try await self.add(.init(text: text)) }
    Given("the backend works again") {
      self.faults = []
      try await self.environment.faults.removeAll()
    }
  }

  private func add(_ fault: TestEnvironment.Fault) async throws {
    // The first fault that replaces a response takes precedence, so the newest goes first.
    faults.insert(fault, at: 0)
    try await environment.setFaults(faults)
  }

  private func stub(_ status: Int, _ text: String, _ body: DocString?, _ upstream: String?) async throws {
    let request = try RequestLine(text)
    var pattern = TestEnvironment.RequestPattern(request.method ?? "ANY", request.target)
    if let upstream { pattern = pattern.upstream(upstream) }
    let response: TestEnvironment.StubResponse
    switch body {
    case nil: response = .status(status)
    case .some(let body):
      let isJSON = body.mediaType?.contains("json") ?? ((try? JSON.parse(Array(body.content.utf8))) != nil)
      if isJSON { _ = try JSON.parse(Array(body.content.utf8), name: "the doc string") }
      let named = body.mediaType.flatMap { $0.contains("/") ? $0 : nil }
      let type = named ?? (isJSON ? "application/json" : "text/plain; charset=utf-8")
      response = .text(body.content, type: type, status: status)
    }
    try await environment.stub(pattern) { response }
  }

  // MARK: Requests

  @StepsBuilder private var requestSteps: [Step] {
    Then("the app has asked for {string}") { (text: String) in
      let request = try RequestLine(text)
      let asked = try await self.requests { list in list.contains(where: request.matches) }
      guard !asked.contains(where: request.matches) else { return }
      throw ScenarioError("the app has not asked for \(text); " + RequestLine.summary(of: asked))
    }
    Then("the app has asked for {string} {int} time(s)") { (text: String, count: Int) in
      let request = try RequestLine(text)
      let asked = try await self.requests { list in list.count(where: request.matches) >= count }
      let found = asked.count(where: request.matches)
      guard found != count else { return }
      let times = found == 1 ? "1 time" : "\(found) times"
      throw ScenarioError("the app has asked for \(text) \(times), not \(count); " + RequestLine.summary(of: asked))
    }
    Then("the app has not asked for {string}") { (text: String) in
      let request = try RequestLine(text)
      let asked = try await self.requests { _ in true }
      guard asked.contains(where: request.matches) else { return }
      throw ScenarioError("the app has asked for \(text); " + RequestLine.summary(of: asked))
    }
    Then("the app has asked for nothing") {
      let asked = try await self.requests { _ in true }
      if !asked.isEmpty { throw ScenarioError(RequestLine.summary(of: asked)) }
    }
  }

  /// The app's requests. A response may reach the app before the journal has it, so this waits briefly.
  private func requests(
    until isComplete: ([RequestLine.Asked]) -> Bool
  ) async throws -> [RequestLine.Asked] {
    let environment = try environment
    let deadline = ContinuousClock.now + .seconds(1)
    while true {
      let asked = try await environment.journal().compactMap { RequestLine.Asked($0) }
      if isComplete(asked) || ContinuousClock.now > deadline { return asked }
      try await Delay.sleep(until: .now + .milliseconds(50))
    }
  }

  private var environment: TestEnvironment {
    get throws {
      guard let environment = try? TestEnvironment.current else {
        throw ScenarioError(
          "the scenario has no environment; add a tag such as @mode:mock, or a 'configuration' to Features")
      }
      return environment
    }
  }
}
