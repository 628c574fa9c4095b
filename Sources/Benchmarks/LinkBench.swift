import Basics
import Diorama
import EnvironmentService
import Foundation
import HTTPServer
import LaunchContract

/// The delay of a change in another process's environment, and the cost of listening for changes in that process.
enum LinkBench {
  private static let rounds = 2_000
  private static let idleSeconds = 5.0

  /// Measures and prints; false if a limit is exceeded.
  static func run() async throws -> Bool {
    say(machine())
    let service = try EnvironmentService(HTTPServer.Configuration(threads: 1))
    var specification = EnvironmentSpecification(name: "bench", mode: .mock)
    specification.clock.kind = "manual"
    let environment = try service.provision(specification)
    let app = try Follower(environment)
    defer { app.stop() }
    guard let control = environment.contract.control else {
      throw CodedError(.inputOutput, "the contract has no control")
    }
    let connection = try ControlConnection(control)
    say("\nan app in another process, \(rounds) changes each; microseconds, median and 99th percentile\n")
    let peer = try await measured("one request over loopback") { _ in
      try connection.acknowledge(.init(follower: "bench", revision: 0))
    }
    var isKept = try await measured("a toggle switched", limit: 20 * peer.median) { round in
      try await environment.update(toggles: ["flag": .bool(round % 2 == 0)], timeout: .seconds(60))
    }.isKept
    isKept =
      try await measured("the clock advanced after a sleeper", limit: 40 * peer.median) { _ in
        _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: 1, timeout: .seconds(60))
      }.isKept && isKept

    let before = try Readings.processorSeconds(of: app.process.processIdentifier)
    try await Task.sleep(for: .seconds(idleSeconds))
    let share = (try Readings.processorSeconds(of: app.process.processIdentifier) - before) / idleSeconds
    say(String(format: "\nthe idle app: %.2f %% of a processor", share * 100))
    _ = await environment.end()
    await service.stop()
    return isKept && share <= 0.01
  }

  /// The other process: sleeps repeatedly, one second of its own time each.
  static func follow() async throws -> Bool {
    let controls = try AppControls.launch()
    say("ready")
    while true { try await controls.clock.sleep(for: .seconds(1)) }
  }

  private static func measured(
    _ name: String, limit: Double? = nil, _ body: (Int) async throws -> Void
  ) async throws -> (median: Double, isKept: Bool) {
    var samples: [Double] = []
    for round in 0..<(rounds + rounds / 10) {
      let start = ContinuousClock.now
      try await body(round)
      // The first rounds warm up.
      if round >= rounds / 10 { samples.append((ContinuousClock.now - start) / .microseconds(1)) }
    }
    samples.sort()
    let median = samples[rounds / 2]
    let isKept = limit.map { median <= $0 } ?? true
    let figures = String(format: "%8.0f %8.0f", median, samples[rounds * 99 / 100])
    let verdict = limit.map { String(format: "  at most %.0f: %@", $0, isKept ? "kept" : "BROKEN") } ?? ""
    say(name + String(repeating: " ", count: max(0, 40 - name.count)) + figures + verdict)
    return (median, isKept)
  }

  /// A second process of this program, as an app.
  private struct Follower {
    let process = Process()

    init(_ environment: Environment) throws {
      var variables = ProcessInfo.processInfo.environment
      variables["DIORAMA_CONTRACT"] = String(decoding: try environment.contract.encodedDocument(), as: UTF8.self)
      let output = Pipe()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["follow"]
      process.environment = variables
      process.standardOutput = output
      try process.run()
      guard output.fileHandleForReading.availableData == Data("ready\n".utf8) else {
        throw CodedError(.inputOutput, "the app did not start; build with --traits Controlled")
      }
    }

    func stop() {
      process.terminate()
      process.waitUntilExit()
    }
  }
}
