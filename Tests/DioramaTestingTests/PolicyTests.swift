import EnvironmentConfiguration
import EnvironmentService
import Foundation
import TestSupport
import Testing

@testable import DioramaTesting

@Suite("Policy settings")
struct PolicyTests {
  @Test("reach the environment, and a test's policies outrank those of its suite")
  func settings() throws {
    let suite = TestEnvironment.Configuration(policies: .init(expiresAfterDays: 30, expired: .warn, unused: .fail))
    let inherited = try TestEnvironment.Configuration().inside(suite).resolved(for: identity, variables: [:])
    #expect(inherited.policies?.expiresAfterDays == 30)
    #expect(inherited.policies?.expired == "warn" && inherited.policies?.unused == "fail")
    let own = try TestEnvironment.Configuration(policies: .init(rerecordAfterDays: 7)).inside(suite)
      .resolved(for: identity, variables: [:])
    #expect(own.policies?.expiresAfterDays == 30 && own.policies?.rerecordAfterDays == 7)
    #expect(own.policies?.expired == "warn" && own.policies?.unused == "fail")
    #expect(try TestEnvironment.Configuration().resolved(for: identity, variables: [:]).policies == nil)
  }

  private var identity: TestIdentity {
    TestIdentity(module: "A", suites: ["S"], function: "f()", caseName: nil, file: #filePath)
  }
}
