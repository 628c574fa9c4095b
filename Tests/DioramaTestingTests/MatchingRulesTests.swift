import Basics
import Cassettes
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract
import Testing

@testable import DioramaTesting

@Suite("Matching rules settings")
struct MatchingRulesTests {
  private static let rules: TestEnvironment.MatchingRules = [
    .rule(ignoringQuery: ["_"], json: ["$.sentAt"]),
    .rule(upstream: "api", path: "/search/**", comparingHeaders: ["Accept-Language"], body: .nothing),
  ]

  @Test("match a rules file")
  func file() throws {
    let json = String(decoding: try JSON.encode(Self.rules), as: UTF8.self)
    #expect(
      json
        == #"{"rules":[{"ignore":{"json":["$.sentAt"],"query":["_"]}},{"compare":{"body":"none","headers":["Accept-Language"]},"path":"/search/**","upstream":"api"}]}"#
    )
    #expect(try JSONDecoder().decode(TestEnvironment.MatchingRules.self, from: Data(json.utf8)) == Self.rules)
  }

  @Test("reject unknown members with the allowed ones")
  func strict() {
    #expect {
      _ = try JSONDecoder().decode(TestEnvironment.MatchingRules.self, from: Data(#"{"rulez": []}"#.utf8))
    } throws: { "\($0)".contains("rulez: unknown member; did you mean 'rules'?") }
  }

  @Test("of a test are added to those of its suite; its order counts")
  func settings() throws {
    let suite = TestEnvironment.Configuration(rules: Self.rules, order: .strict)
    #expect(TestEnvironment.Configuration().inside(suite).settings.matching?.rules.count == 2)
    #expect(TestEnvironment.Configuration().inside(suite).settings.matching?.order == .strict)
    let test = TestEnvironment.Configuration(rules: Self.rules, order: .state).inside(suite)
    #expect(test.settings.matching?.rules.count == 4 && test.settings.matching?.order == .state)
    let identity = TestIdentity(outsideOfTestsIn: "/tmp/Tests/Some.swift")
    let backend = try TestEnvironment.Configuration(.mock, rules: Self.rules, order: .state, playsUniquely: true)
      .resolved(
        for: identity, variables: [:])
    #expect(backend.matching?.rules.count == 2)
    #expect(backend.matching?.order == .state && backend.matching?.playsUniquely == true)
  }

  @Test("apply to the environment of a test")
  func environment() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock, rules: Self.rules, order: .free)
    await environment.end()
  }

  @Test("fail the provisioning with one error if they are invalid")
  func broken() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      _ = try await TestEnvironment.provision(mode: .mock, rules: [.rule(json: ["sentAt"])])
    }
    #expect(error?.description.contains("matching.rules[0].ignore.json[0]: 'sentAt' is not a valid JSON path") == true)
  }
}
