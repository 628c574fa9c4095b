import Diorama
import Foundation

/// What an app pays for its controls: each beside the plain thing that it replaces, in turn, in one run.
///
/// The replayed under control is a real one: an environment in replay, whose contract the app finds as any app does.
enum AppBench {
  private static let draws = 20_000

  /// Measures and prints; false when a limit does not hold.
  static func run() async throws -> Bool {
    say(machine())
    say("\nmedians of seven rounds in turn, nanoseconds for one\n")
    let live = try AppControls.launch()
    let small = try ReplayedEnvironment(strings: 100)
    let large = try ReplayedEnvironment(strings: draws * Comparison.rounds)
    let controlled = try small.launch()
    guard controlled.clock.now == ReplayedEnvironment.start else {
      throw BenchError("this build reads no contract; build it with --traits Controlled")
    }
    var all = try launches(small)
    all += clocks(live, controlled)
    all += toggles("live", live.toggles) + toggles("controlled", controlled.toggles)
    all += try strings("live", live.strings) + strings("in replay", try large.launch().strings)
    await small.end()
    await large.end()

    say(Comparison.heading)
    for comparison in all { say(comparison) }
    return all.allSatisfy(\.isKept)
  }

  private static func launches(_ replayed: ReplayedEnvironment) throws -> [Comparison] {
    let environment = { ProcessInfo.processInfo.environment.count }
    return [
      try Comparison(
        "launch() without a contract", beside: "environment", count: 50, limit: .nanoseconds(1_000_000),
        plain: environment, ours: { try AppControls.launch() }),
      try Comparison(
        "launch() with a contract", beside: "environment", count: 50, limit: .nanoseconds(5_000_000),
        plain: environment, ours: replayed.launch),
    ]
  }

  private static func clocks(_ live: AppControls, _ controlled: AppControls) -> [Comparison] {
    [("live", live.clock), ("controlled", controlled.clock)].map { name, clock in
      Comparison("clock.now, \(name)", beside: "Date()", count: 1_000_000, limit: .times(1.5)) {
        Date()
      } ours: {
        clock.now
      }
    }
  }

  private static func toggles(_ name: String, _ toggles: Toggles) -> [Comparison] {
    [
      Comparison("toggle Bool, \(name)", beside: "static", count: 1_000_000, limit: .more(10)) {
        Statics.flag
      } ours: {
        toggles[.flag]
      },
      Comparison("toggle Int, \(name)", beside: "static", count: 1_000_000, limit: .more(10)) {
        Statics.count
      } ours: {
        toggles[.count]
      },
      Comparison("toggle Double, \(name)", beside: "static", count: 1_000_000, limit: .more(50)) {
        Statics.share
      } ours: {
        toggles[.share]
      },
      Comparison("toggle String, \(name)", beside: "static", count: 1_000_000, limit: .more(50)) {
        Statics.name
      } ours: {
        toggles[.name]
      },
    ]
  }

  /// 200,000 a second are 5,000 ns for one.
  private static func strings(_ name: String, _ strings: RandomStrings) throws -> [Comparison] {
    [
      try Comparison("string of 12, \(name)", beside: "UUID()", count: draws, limit: .nanoseconds(5_000)) {
        UUID().uuidString
      } ours: {
        try strings.string("email", length: 12)
      }
    ]
  }
}

/// What an app has that cannot be steered; variables, so that they are really read.
private enum Statics {
  nonisolated(unsafe) static var flag = true
  nonisolated(unsafe) static var count = 7
  nonisolated(unsafe) static var share = 0.5
  nonisolated(unsafe) static var name = "blue"
}

extension Toggle<Bool> { fileprivate static let flag = Toggle("flag", default: false) }
extension Toggle<Int> { fileprivate static let count = Toggle("count", default: 0) }
extension Toggle<Double> { fileprivate static let share = Toggle("share", default: 0) }
extension Toggle<String> { fileprivate static let name = Toggle("name", default: "red") }
