import DioramaTesting
import Foundation
import LaunchContract
import Testing

@Suite(
  "The app's credentials",
  .environment(
    .mock, credentials: [.init(service: "clinic", account: "auth-token", group: "team", secret: "t-1")],
    credentialFaults: [.locked]))
struct CredentialTests {
  /// With credentials the contract is in a file, which is gone with the program.
  private func credentials() async throws -> LaunchContract.Credentials? {
    let app = shell(#"cat "${DIORAMA_CONTRACT#file:}""#, in: .current)
    app.passesArgumentPairs = false
    try await app.launch()
    try await app.wait(for: .exited(0))
    return try LaunchContract.read(app.standardOutput, source: "the test").credentials
  }

  @Test("reach the app with their groups, and with the trouble that was ordered")
  func faults() async throws {
    #expect(
      try await credentials()
        == .init(
          items: [.init(service: "clinic", account: "auth-token", group: "team", secret: Data("t-1".utf8))],
          faults: [.init("locked")]))
  }

  @Test(
    "of a test are put beside those of its suite, with its faults first",
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

  @Test("are refused where a fault counts from zero")
  func refused() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      try await TestEnvironment.provision(mode: .mock, credentialFaults: [.failWrite(nth: 0)])
    }
    #expect(error?.description.contains("credentialFaults[0].nth: 0 is not from 1 to 1000000") == true)
  }
}
