import DioramaTesting
import Foundation

/// This very test program once more, for the tests in `Samples.swift` and `XCTestSamples.swift`: what they do to a test
/// run, by their failures or by killing it, is seen from outside.
struct NestedRun {
  static let variable = "DIORAMA_TESTING_SAMPLE"

  /// Whether this process is one.
  static var isInside: Bool { ProcessInfo.processInfo.environment[variable] != nil }

  /// What the outer test has for the samples.
  static func value(_ name: String) -> String {
    ProcessInfo.processInfo.environment["\(variable)_\(name)"] ?? ""
  }

  static func start(
    _ sample: String, values: [String: String] = [:], variables: [String: String] = [:], options: [String] = []
  ) async throws -> TestApplication {
    let app = TestApplication(executable: Bundle.main.executablePath ?? "", in: .outside)
    let isXCTest = sample.contains("XCTest")
    app.launchArguments =
      isXCTest
      ? ["DioramaTestingTests.\(sample)"]
      : ["--testing-library", "swift-testing", "--filter", "^DioramaTestingTests\\.\(sample)"] + options
    app.launchEnvironment = variables.merging([variable: "1"]) { $1 }
    for (name, value) in values { app.launchEnvironment["\(variable)_\(name)"] = value }
    try await app.launch()
    return app
  }

  /// Runs one to its end.
  ///
  /// - Returns: everything it said, and whether its tests passed.
  static func run(
    _ sample: String, values: [String: String] = [:], variables: [String: String] = [:]
  ) async throws -> (text: String, passed: Bool) {
    let app = try await start(sample, values: values, variables: variables)
    try await app.wait(for: .notRunning, timeout: .seconds(120))
    return (app.standardOutput + app.standardError, app.state == .exited(0))
  }
}
