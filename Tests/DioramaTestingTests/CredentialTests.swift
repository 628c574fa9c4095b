import DioramaTesting
import Foundation
import LaunchContract
import Testing

@Suite(
  "Credential settings",
  .environment(
    .mock, credentials: [.init(service: "clinic", account: "auth-token", group: "team", secret: "t-1")],
    credentialFaults: [.locked]))
struct CredentialTests {
  /// A contract with credentials is in a file, which is removed with the program.
  private func credentials() async throws -> LaunchContract.Credentials? {
    let app = shell(#"cat "${DIORAMA_CONTRACT#file:}""#, in: .current)
    app.passesArgumentPairs = false
    try await app.launch()
    try await app.wait(for: .exited(0))
    return try LaunchContract.read(app.standardOutput, source: "the test").credentials
  }

  @Test("reach the app with their groups and the configured faults")
  func faults() async throws {
    #expect(
      try await credentials()
        == .init(
          items: [.init(service: "clinic", account: "auth-token", group: "team", secret: Data("t-1".utf8))],
          faults: [.init("locked")]))
  }

  @Test(
    "of a test are added to those of its suite, with the test's faults first",
    .environment(
      credentials: [.init(service: "clinic", account: "auth-token", secret: "t-2")],
      credentialFaults: [.failWrite(nth: 3, with: .cancelled), .failRead(nth: 1)]))
  func merged() async throws {
    let credentials = try await credentials()
    #expect(credentials?.items.map(\.group) == ["team", nil])
    #expect(
      credentials?.faults == [
        .init("failWrite", nth: 3, error: "cancelled"), .init("failRead", nth: 1, error: "failed"), .init("locked"),
      ])
  }

  @Test("are rejected if a fault's number is zero")
  func refused() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      try await TestEnvironment.provision(mode: .mock, credentialFaults: [.failWrite(nth: 0)])
    }
    #expect(error?.description.contains("credentialFaults[0].nth: 0 is not between 1 and 1000000") == true)
  }
}
