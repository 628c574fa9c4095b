import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import LaunchContract
import Testing

@testable import DioramaTesting

@Suite("Date shift settings")
struct DateShiftTests {
  @Test("match a rules file; a test's are added to its suite's")
  func settings() throws {
    let shift = TestEnvironment.DateShift(
      epochSeconds: ["$.exp"], epochMilliseconds: ["$.ms"], dates: ["$.day"], keep: ["$.born"],
      jwt: [.init("secret", kid: "k")])
    #expect(!"\(shift)".contains("\"secret\""))
    let identity = TestIdentity(outsideOfTestsIn: "/tmp/Tests/Some.swift")
    let backend = try TestEnvironment.Configuration(.mock).inside(TestEnvironment.Configuration(dates: shift)).resolved(
      for: identity, variables: [:])
    #expect(
      String(decoding: try JSON.encode(backend.dates), as: UTF8.self)
        == #"{"dates":["$.day"],"epochMilliseconds":["$.ms"],"epochSeconds":["$.exp"],"jwt":[{"kid":"k","text":"secret"}],"keep":["$.born"]}"#
    )
    let general = TestEnvironment.Configuration(dates: shift)
    let test = TestEnvironment.Configuration(dates: .init(epochSeconds: ["$.iat"])).inside(general)
    #expect(test.settings.dates?.epochSeconds == ["$.exp", "$.iat"] && test.settings.dates?.keep == ["$.born"])
    #expect(try TestEnvironment.Configuration(.mock).resolved(for: identity, variables: [:]).dates == nil)
  }

  @Test("apply to the environment of a test")
  func environment() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock, dates: .init(dates: ["$.day"]))
    await environment.end()
  }
}
