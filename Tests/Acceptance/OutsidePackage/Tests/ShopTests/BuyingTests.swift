import DioramaTesting
import Foundation
import Testing

/// Where the shop is; not needed in replay.
let upstreams = ProcessInfo.processInfo.environment["SHOP"].map { ["shop": $0] } ?? [:]
/// What is bought; something else than what was recorded is not in the cassette.
let item = ProcessInfo.processInfo.environment["ITEM"] ?? "tea"

@Suite(.environment(.replay, upstreams: upstreams))
struct BuyingTests {
  @Test("buys politely", .environment(toggles: ["polite": true]))
  func politely() async throws {
    let app = TestApplication(executable: "shop")
    app.launchArguments = [item]
    try await app.launch()
    try await app.wait(forOutput: "\(item), please: ")
    try await app.wait(for: .exited(0))
  }

  @Test("buys each thing in a recording of its own", arguments: ["salt", "oil"])
  func each(_ thing: String) async throws {
    let app = TestApplication(executable: "shop")
    app.launchArguments = [thing]
    try await app.launch()
    try await app.wait(forOutput: "\(thing), now: ")
    try await app.wait(for: .exited(0))
  }
}
