import Basics
import DioramaTesting
import Foundation
import LaunchContract
import XCTest

/// An XCTest test case with `provision(for:)`.
final class XCTestCaseTests: XCTestCase {
  private var environment: TestEnvironment?

  override func setUp() async throws {
    environment = try await TestEnvironment.provision(
      for: self, mode: .mock, toggles: ["skip-onboarding": true], seed: "xctest")
  }

  func testIsTheCurrentEnvironment() async throws {
    let current = try TestEnvironment.current
    XCTAssertTrue(current === environment)
    XCTAssertEqual(current.name, "XCTestCaseTests/testIsTheCurrentEnvironment")
    XCTAssertEqual(current.mode, .mock)
  }

  func testHandsItsContractToApplications() async throws {
    let contract = try await contract()
    XCTAssertEqual(contract.toggles, ["skip-onboarding": .bool(true)])
    XCTAssertEqual(contract.seed, "xctest")
  }

  func testEndsBeforeTearDown() async throws {
    let environment = try XCTUnwrap(environment)
    let app = shell("sleep 1000", in: .current)
    try await app.launch()
    addTeardownBlock {
      // Teardown blocks run in reverse order: this one before the environment's.
      XCTAssertEqual(app.state, .running)
    }
    _ = environment
    Self.left = app
  }

  // XCTest runs one test at a time.
  private nonisolated(unsafe) static var left: TestApplication?

  override func tearDown() {
    XCTAssertThrowsError(try TestEnvironment.current)
    if let app = Self.left { XCTAssertEqual(app.state, .killed(signal: 15)) }
    Self.left = nil
  }
}

/// An environment's failures are recorded as failures of the test case.
#if !canImport(Darwin)
  final class XCTestFailureTests: XCTestCase {
    private var failures: [(text: String, file: String, line: Int)] = []

    override func recordFailure(
      withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
      failures.append((description, filePath, lineNumber))
    }

    private static let line = #line + 3

    override func setUp() async throws {
      _ = try await TestEnvironment.provision(for: self, mode: .mock)
    }

    func testShowsACrashAtTheLineThatProvisioned() async throws {
      let app = shell("echo last output; kill -s ABRT $$", in: .current)
      try await app.launch()
      while app.state == .running { await Task.yield() }
    }

    override func tearDown() {
      let caught = failures
      failures = []
      guard caught.count == 1, caught[0].line == Self.line, caught[0].file == "\(#filePath)",
        caught[0].text.contains("killed by signal 6 (SIGABRT)"), caught[0].text.contains("last output")
      else {
        return super.recordFailure(
          withDescription: "failed with \(caught)", inFile: "\(#filePath)", atLine: #line, expected: true)
      }
    }
  }
#endif
