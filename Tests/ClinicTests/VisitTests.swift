import DioramaTesting
import Foundation
import Testing

/// The clinic app in a separate process, whose clock and toggles a test controls.
@Suite("Visit to the clinic", .timeLimit(.minutes(30)))
struct VisitTests {
  /// `make soak` makes a thousand.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap(Int.init) ?? 20

  /// The time in Camden after a number of quarter-hours.
  private func time(after quarters: Int) -> String {
    let minutes = 10 * 60 + quarters * 15
    let parts = [minutes / 60 % 24, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return parts.joined(separator: ":")
  }

  @Test("asks for the PIN at the end of each session, unless the toggle turns it off")
  func sessions() async throws {
    let backend = try Backend("--now", "2018-10-08T09:00:00Z")
    let environment = try await TestEnvironment.provision(
      mode: .proxy, upstreams: ["clinic": backend.url], toggles: ["skip-onboarding": true],
      credentials: [.init(service: "clinic", account: "pin", secret: "1357")],
      clock: .manual(at: "2018-10-08T09:00:00Z", timeZone: "Europe/London"))
    let app = TestApplication(executable: "clinic", in: .environment(environment))
    app.launchArguments = ["visit"]
    try await app.launch()

    try await app.wait(forOutput: "signed in at 10:00\n")
    for round in 1...Self.rounds {
      let asks = round % 3 != 0
      try await environment.update(toggles: ["never-ask-for-pin": asks ? false : true])
      let move = try await environment.clock.advance(by: .seconds(900), afterSleepers: 1)
      #expect(move.woken == 1)
      try await app.wait(forOutput: "your session ended at \(time(after: round))\n")
      if asks {
        try await app.wait(forOutput: "log in with your PIN:\n")
        try await app.write("1357\n")
      }
      try await app.wait(forOutput: "signed in at \(time(after: round))\n")
    }
    await app.terminate()
    let screen = app.standardOutput.split(separator: "\n")
    #expect(screen.count { $0.hasPrefix("your session ended") } == Self.rounds)
    #expect(screen.count { $0.hasPrefix("log in") } == Self.rounds - Self.rounds / 3)
    #expect(!screen.contains("that is not your PIN"))
    await environment.end()
  }

  @Test("exits with an error when the test's environment ends")
  func abandoned() async throws {
    let backend = try Backend("--now", "2018-10-08T09:00:00Z")
    let environment = try await TestEnvironment.provision(
      mode: .proxy, upstreams: ["clinic": backend.url],
      credentials: [.init(service: "clinic", account: "pin", secret: "1357")],
      clock: .manual(at: "2018-10-08T09:00:00Z"))
    // Launched outside the environment of its contract, so that it outlives it.
    let app = TestApplication(executable: "clinic", in: .outside)
    app.launchArguments = ["visit"]
    app.launchEnvironment = try environment.launchEnvironment()
    try await app.launch()
    try await app.wait(forOutput: "signed in")
    await environment.end()
    try await app.wait(for: .exited(1))
    #expect(app.standardError.hasPrefix("clinic: "))
    #expect(app.standardError.contains("the environment has ended"))
  }
}
