import DioramaTesting
import Foundation
import XCTest

/// Tests whose ends are looked at from outside; see ``NestedRun``.
final class XCTestSamples: XCTestCase {
  static let line = #line + 4

  override func setUp() async throws {
    try XCTSkipUnless(NestedRun.isInside)
    _ = try await TestEnvironment.provision(for: self, mode: .replay, cassette: NestedRun.value("CASSETTE"))
  }

  func testMissing() async throws {
    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["book"]
    try await app.launch()
    try await app.wait(for: .notRunning)
  }
}
