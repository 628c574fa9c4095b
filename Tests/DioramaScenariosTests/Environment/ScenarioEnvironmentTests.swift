import Basics
@testable import DioramaScenarios
import DioramaTesting
import Foundation
import HTTPMessages
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Environment of a scenario")
struct ScenarioEnvironmentTests {
  private let folder: FeatureFolder

  init() throws { folder = try .init() }

  /// Steps that look at the environment.
  @StepsBuilder private static func looking(_ seen: Guarded<[String]>) -> [Step] {
    Given("nothing") {}
    Given("a failure") { throw DioramaScenariosTestsError(description: "broken") }
    When("I look") {
      let environment = try TestEnvironment.current
      let now = try await environment.clock.now.formatted(.iso8601)
      seen.withLock { $0.append("\(environment.name) \(environment.mode.rawValue) \(now) \(environment.seed)") }
    }
    When("I ask for {string}") { (path: String) in
      let url = try TestEnvironment.current.endpoint("api").appending(path: path)
      let (data, _) = try await URLSession.shared.data(from: url)
      seen.withLock { $0.append(String(decoding: data, as: UTF8.self)) }
    }
  }

  @Test("exists only if a tag or the configuration asks for one")
  func exists() async throws {
    let seen = Guarded<[String]>([])
    let trial = try await FeatureRun("Feature: F\n@smoke\nScenario: S\nWhen I look", in: folder) {
      TrialDefinitions { Self.looking(seen) }
    }
    #expect(trial.failures.map(\.message).first?.contains("no current environment") == true)
    #expect(trial.statuses == [.failed])
  }

  @Test("has the settings of tags over those of the configuration")
  func precedence() async throws {
    let seen = Guarded<[String]>([])
    let trial = try await FeatureRun(
      """
      @seed:feature
      Feature: F
        Scenario: T
          When I look
        Rule: R
          @frozen:2018-10-08T09:00Z @seed:scenario
          Scenario: S
            When I look
      """, in: folder
    ) {
      TrialDefinitions(.init(.mock, clock: .frozen(at: "2020-01-01T00:00:00Z"), seed: "code")) { Self.looking(seen) }
    }
    #expect(trial.failures.isEmpty, "\(trial.failures)")
    #expect(
      seen.withLock { $0 } == [
        "F/T mock 2020-01-01T00:00:00Z feature", "F/R/S mock 2018-10-08T09:00:00Z scenario",
      ])
    #expect(trial.statuses == [.passed, .passed, .passed, .passed, .passed, .passed])
  }

  @Test("records a cassette for each row of examples beside the feature file, and replays it")
  func cassettes() async throws {
    let upstream = try ScriptedUpstream { connection in
      while let head = try connection.readHead() {
        let path = head.split(separator: " ")[1]
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
      }
    }
    let feature = """
      Feature: Shop
        Scenario Outline: Buys
          When I ask for "<item>"
          Examples:
            | item |
            | tea  |
            | rice |
        Scenario: Looks around (twice)
          When I ask for "all"
      """
    let origin = upstream.origin.description
    let seen = Guarded<[String]>([])
    let recorded = try await FeatureRun(feature, in: folder) {
      TrialDefinitions(.init(.record, upstreams: ["api": origin])) { Self.looking(seen) }
    }
    upstream.stop()
    #expect(recorded.failures.isEmpty, "\(recorded.failures)")
    #expect(folder.cassettes.count == 3)
    #expect(folder.cassettes.contains("Cassettes/Shop/Buys/tea.har"), "\(folder.cassettes)")
    let replayed = try await FeatureRun(feature, in: folder) {
      TrialDefinitions(.init(.replay)) { Self.looking(seen) }
    }
    #expect(replayed.failures.isEmpty, "\(replayed.failures)")
    #expect(seen.withLock { $0 } == ["/tea", "/rice", "/all", "/tea", "/rice", "/all"])

    // Another request is a miss, which fails the scenario at its place.
    let missed = try await FeatureRun(feature.replacing("\"<item>\"", with: "\"salt\""), in: folder) {
      TrialDefinitions(.init(.replay)) { Self.looking(seen) }
    }
    #expect(missed.failures.count == 2)
    #expect(missed.failures.first?.message.contains("replay failed: 1 request (1 unmatched)") == true)
    #expect(missed.failures.first?.message.contains("salt") == true)
    #expect(missed.failures.first.map { "\($0.place.fileName):\($0.place.line)" } == "booking.feature:6")
    #expect(missed.statuses.prefix(3) == [.passed, .passed, .failed])
    #expect(missed.attachment("application/vnd.diorama.journal+ndjson")?.contains("\"unmatched\"") == true)
    #expect(missed.attachment("application/vnd.diorama.report+json")?.contains("salt") == true)
  }

  @Test("is missing if it cannot be provisioned, which fails the scenario with advice that works")
  func provisioning() async throws {
    let seen = Guarded<[String]>([])
    let trial = try await FeatureRun("Feature: F\n@mode:replay\nScenario: S\nWhen I look", in: folder) {
      TrialDefinitions { Self.looking(seen) }
    }
    #expect(trial.failures.count == 1)
    let message = trial.failures.first?.message ?? ""
    #expect(message.contains("Cassettes/F/S.har"), "\(message)")
    #expect(message.contains("swift test --filter 'booking.feature.swift:3:'"), "\(message)")
    #expect(trial.statuses == [.failed, .skipped, .skipped])
    #expect(seen.withLock { $0.isEmpty })
  }

  @Test("reports failures of verifications in the step that verifies")
  func verifications() async throws {
    let trial = try await FeatureRun("Feature: F\n@mode:mock\nScenario: S\nThen it was asked\nThen more", in: folder) {
      TrialDefinitions(.init(upstreams: ["api": "https://example.com"])) {
        Then("it was asked") { try await TestEnvironment.current.verify(.get("/tea"), count: 1) }
        Then("more") {}
      }
    }
    #expect(trial.failures.first?.message == "expected 1 request like GET /tea, received 0")
    #expect(trial.failures.first?.place.fileName == "ScenarioEnvironmentTests.swift")
    #expect(trial.statuses == [.passed, .failed, .skipped, .passed])
  }

  @Test("is provisioned again for each attempt")
  func retries() async throws {
    let attempts = Guarded(0)
    let trial = try await FeatureRun("Feature: F\n@mode:mock @retry:1\nScenario: S\nWhen I try", in: folder) {
      TrialDefinitions {
        When("I try") {
          _ = try TestEnvironment.current
          let attempt = attempts.withLock { attempts in
            attempts += 1
            return attempts
          }
          if attempt == 1 { throw DioramaScenariosTestsError(description: "broken") }
        }
      }
    }
    #expect(trial.statuses == [.passed, .failed, .passed, .passed, .passed, .passed])
  }
}

struct DioramaScenariosTestsError: Error, CustomStringConvertible {
  let description: String
}
