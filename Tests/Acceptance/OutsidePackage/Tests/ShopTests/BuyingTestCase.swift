import DioramaTesting
import XCTest

final class BuyingTestCase: XCTestCase {
  override func setUp() async throws {
    _ = try await TestEnvironment.provision(for: self, mode: .once, upstreams: upstreams)
  }

  func testBuys() async throws {
    let app = TestApplication(executable: "shop")
    app.launchArguments = [item]
    try await app.launch()
    try await app.wait(forOutput: "\(item), now: ")
    try await app.wait(for: .exited(0))
  }
}
