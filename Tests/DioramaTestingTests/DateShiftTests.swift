import Basics
import ControlAPI
import EnvironmentService
import LaunchContract
import Testing

@testable import DioramaTesting

@Suite("Date shift settings")
struct DateShiftTests {
  @Test("match a rules file; a test's override its suite's")
  func settings() throws {
    let shift = TestEnvironment.DateShift(
      epochSeconds: ["$.exp"], epochMilliseconds: ["$.ms"], dates: ["$.day"], keep: ["$.born"],
      jwt: [.init("secret", kid: "k")])
    #expect(!"\(shift)".contains("\"secret\""))
    let identity = TestIdentity(outsideOfTestsIn: "/tmp/Tests/Some.swift")
    let backend = try Settings(mode: .mock).inside(Settings(shift: shift)).specification(for: identity, variables: [:])
    #expect(
      String(decoding: try JSON.encode(backend.shift), as: UTF8.self)
        == #"{"dates":["$.day"],"epochMilliseconds":["$.ms"],"epochSeconds":["$.exp"],"jwt":[{"kid":"k","text":"secret"}],"keep":["$.born"]}"#
    )
    #expect(Settings(shift: .init()).inside(Settings(shift: shift)).shift == TestEnvironment.DateShift())
    #expect(try Settings(mode: .mock).specification(for: identity, variables: [:]).shift == nil)
    // A request to a daemon contains the same.
    #expect(try ProvisioningRequest(backend).shift == shift.rules)
  }

  @Test("apply to the environment of a test")
  func environment() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock, shift: .init(dates: ["$.day"]))
    await environment.end()
  }
}
