import DioramaTesting
import Foundation
import TestSupport

/// A shell that runs a script with arguments.
func shell(_ script: String, _ words: String..., in context: TestApplication.LaunchContext = .outside)
  -> TestApplication
{
  let app = TestApplication(executable: "/bin/sh", in: context)
  app.launchArguments = ["-c", script, "sh"] + words
  return app
}

/// A running clinic-backend outside an environment.
struct Backend {
  let url: String
  let app: TestApplication

  init(now: String = "2018-10-08T09:00:00Z") async throws {
    app = TestApplication(executable: "clinic-backend", in: .outside)
    app.launchArguments = ["--now", now]
    try await app.launch()
    url = try await app.wait(forOutput: /http:\/\/127\.0\.0\.1:\d+/)
  }
}

/// Launches the clinic app and waits until it has booked.
func book(in context: TestApplication.LaunchContext = .current) async throws -> TestApplication {
  let app = TestApplication(executable: "clinic", in: context)
  app.launchArguments = ["book"]
  try await app.launch()
  try await app.wait(for: .exited(0))
  return app
}

/// A nested run of this test program with the tests in `Samples.swift`, to observe their
/// effect on a test run from outside: failures, or a killed process.
struct NestedRun {
  static let variable = "DIORAMA_TESTING_SAMPLE"

  /// Whether this process is a nested run.
  static var isInside: Bool { ProcessInfo.processInfo.environment[variable] != nil }

  /// A value passed to the samples by the outer test.
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

  /// Runs the test program.
  ///
  /// - Returns: its output, and whether its tests passed.
  static func run(
    _ sample: String, values: [String: String] = [:], variables: [String: String] = [:]
  ) async throws -> (text: String, passed: Bool) {
    let app = try await start(sample, values: values, variables: variables)
    try await app.wait(for: .notRunning, timeout: .seconds(120))
    return (app.standardOutput + app.standardError, app.state == .exited(0))
  }
}

/// A temporary folder, removed with this value.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/diorama-testing-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in the folder.
  func file(_ name: String) -> String { "\(path)/\(name)" }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
  }
}

extension RunningDaemon {
  var host: TestEnvironment.Host { .daemon(stateFolder: folder) }

  /// The output of a `diorama` command for the daemon.
  func diorama(_ words: String...) async throws -> String {
    let app = TestApplication(executable: "diorama", in: .outside)
    app.launchArguments = words + ["--state", folder]
    try await app.launch()
    try await app.wait(for: .exited(0))
    return app.standardOutput
  }
}
