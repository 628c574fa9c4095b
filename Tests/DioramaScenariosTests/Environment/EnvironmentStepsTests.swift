@testable import DioramaScenarios
import DioramaTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Environment steps")
struct EnvironmentStepsTests {
  private let folder: FeatureFolder

  init() throws { folder = try .init() }

  private func run(
    _ steps: String, tags: String = "@mode:mock", _ own: @escaping () -> [Step] = { [] }
  ) async throws -> FeatureRun {
    try await FeatureRun("Feature: F\n\(tags)\nScenario: S\n\(steps)", in: folder) {
      TrialDefinitions(.init(upstreams: ["api": "https://example.com"], policies: .init(allowNoRequests: true))) {
        EnvironmentSteps(app: "/bin/sh", timeout: .seconds(10))
        When("{string} is asked for") { (path: String) in
          let url = try TestEnvironment.current.endpoint("api").appending(path: path)
          let (data, response) = try await URLSession.shared.data(from: url)
          ScenarioContext.current?.attach(Array(data), mediaType: "\((response as? HTTPURLResponse)?.statusCode ?? 0)")
        }
        own()
      }
    }
  }

  @Test("launch an app, talk to it, and wait for its output and its end")
  func app() async throws {
    let trial = try await run(
      """
      When the app is launched with "-c 'echo hello; read line; echo you said $line; echo oh >&2; exit 3'"
      Then the app prints "hello"
      And the app has not printed "you said"
      When the user enters "tea"
      Then the app prints "you said tea"
      And the app prints the error "oh"
      And the app exits with 3
      """)
    #expect(trial.failures.isEmpty, "\(trial.failures)")
  }

  @Test("move the clock")
  func clock() async throws {
    let trial = try await run(
      """
      Given the clock shows 2018-10-08T09:00Z
      When 15 minutes pass
      And 1 hour and 30 minutes pass
      And 1 second passes
      Then the clock shows 2018-10-08T10:45:01Z
      Given the clock is set to 2018-10-09
      Then the clock shows 2018-10-09T00:00:01Z
      """, tags: "@mode:mock @manual @frozen:2018-10-08T09:00Z")
    #expect(
      trial.failures.map(\.message).map { $0.prefix { $0 != "(" } } == [
        "the clock shows 2018-10-09T00:00:00Z, not 2018-10-09T00:00:01Z "
      ])
  }

  @Test("answer requests, and count them")
  func requests() async throws {
    let trial = try await run(
      """
      Given the backend answers 200 to "GET /tea/{id}"
        \"\"\"json
        {"name": "Assam"}
        \"\"\"
      And the backend "api" answers 404 to "/rice"
      Then the app has asked for nothing
      When "tea/7" is asked for
      And "rice" is asked for
      Then the app has asked for "GET /tea/7"
      And the app has asked for "/tea/{id}" 1 time
      And the app has asked for "https://example.com/rice"
      And the app has not asked for "POST /rice"
      And the app has asked for "GET /tea/7" 2 times
      """)
    let message = trial.failures.first?.message ?? ""
    #expect(trial.failures.count == 1)
    #expect(
      message.hasPrefix(
        "the app has asked for GET /tea/7 1 time, not 2; it has asked for:\n  GET https://example.com/tea/7 (mocked, 200)"
      ), "\(message)")
    let answers = trial.log.events.compactMap { event -> String? in
      guard case .attached(_, _, .some, let attachment) = event else { return nil }
      return "\(attachment.mediaType) \(String(decoding: attachment.bytes, as: UTF8.self))"
    }
    #expect(answers == ["200 {\"name\": \"Assam\"}", "404 "])
  }

  @Test("break and repair the backend")
  func faults() async throws {
    let trial = try await run(
      """
      Given the backend answers 200 to "GET /tea"
      And the backend has the fault "status=503,path=/tea,nth=1"
      When "tea" is asked for
      And "tea" is asked for
      And the backend answers 500 to everything
      And "tea" is asked for
      And the backend works again
      And "tea" is asked for
      """)
    #expect(trial.failures.isEmpty, "\(trial.failures)")
    let answers = trial.log.events.compactMap { event -> String? in
      if case .attached(_, _, .some, let attachment) = event { attachment.mediaType } else { nil }
    }
    #expect(answers == ["503", "200", "500", "200"])
  }

  @Test("set toggles while the app runs")
  func toggles() async throws {
    let trial = try await run("Given the toggle \"beta\" is on\nAnd the toggle \"currency\" is GBP")
    #expect(trial.failures.isEmpty, "\(trial.failures)")
  }

  @Test(
    "say what to do",
    arguments: [
      (
        "Then the app prints \"x\"",
        "no app has been launched; add the step 'Given the app is launched' before this one"
      ),
      ("Then the app has asked for \"tea\"", "'tea' is not a request; write a method and a path, such as"),
      (
        "When she books 2 slots",
        "undefined step: When she books 2 slots\ndefine it:\nWhen(\"she books {int} slots\") { (int: Int) in"
      ),
      ("Given the backend has the fault \"rest\"", "the fault 'rest'"),
      ("Then the app has asked for \"GET /tea\"", "the app has not asked for GET /tea; it has asked for nothing"),
    ])
  func advice(_ step: String, _ advice: String) async throws {
    let trial = try await run(step)
    #expect(trial.failures.first?.message.hasPrefix(advice) == true, "\(trial.failures)")
    #expect(trial.failures.first?.place.line == 4)
  }

  @Test("need an environment")
  func environment() async throws {
    let trial = try await FeatureRun("Feature: F\nScenario: S\nWhen 1 minute passes", in: folder) {
      TrialDefinitions { EnvironmentSteps() }
    }
    #expect(trial.failures.first?.message.hasPrefix("the scenario has no environment; add a tag such as") == true)
  }

  @Test("split arguments at spaces outside quotation marks")
  func words() {
    #expect(EnvironmentSteps.words("a 'b c'  d\"e f\" ''") == ["a", "b c", "de f", ""])
  }
}
