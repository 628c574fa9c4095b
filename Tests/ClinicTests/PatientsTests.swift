import DioramaTesting
import Foundation
import TestSupport
import Testing

/// The folder that stands for the clinic's sessions: a patient may have only one session at a time.
private let sessions = ProcessInfo.processInfo.environment["CLINIC_SESSIONS"]

/// Tests that need patients of a pool, which several machines share. `fleet_machines.py` runs them on three at once.
@Suite(
  "Patients of a pool",
  .enabled(if: sessions != nil, "they need a daemon with the pool 'patients'; run fleet_machines.py"))
struct PatientsTests {
  @Test("sign in with a PIN from the pool, and no two tests share a patient", arguments: 1...4)
  func signsIn(_ number: Int) async throws {
    let backend = try Backend("--now", "2018-10-08T09:00:00Z")
    let environment = try await TestEnvironment.provision(
      mode: .proxy, upstreams: ["clinic": backend.url], toggles: ["skip-onboarding": true],
      clock: .manual(at: "2018-10-08T09:00:00Z", timeZone: "Europe/London"),
      resources: ["clinic": .pool("patients", wait: .seconds(120))])
    let patient = try environment.resource("clinic")
    let session = try #require(sessions) + "/" + patient.name
    try FileManager.default.createDirectory(atPath: session, withIntermediateDirectories: false)

    // The app finds the PIN among its credentials, under the name of the resource.
    let app = TestApplication(executable: "clinic", in: .environment(environment))
    app.launchArguments = ["visit"]
    try await app.launch()
    try await app.wait(forOutput: "signed in at 10:00\n")
    try await environment.clock.advance(by: .seconds(900), afterSleepers: 1)
    try await app.wait(forOutput: "log in with your PIN:\n")
    try await app.write(#require(patient.secrets["pin"]) + "\n")
    try await app.wait(forOutput: "signed in at 10:15\n")
    await app.terminate()

    try FileManager.default.removeItem(atPath: session)
    await environment.end()
    #expect(backend.stop() == 0)
  }
}
