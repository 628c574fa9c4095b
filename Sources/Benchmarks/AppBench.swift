import Basics
import Cassettes
import Diorama
import EnvironmentService
import Foundation
import HTTPServer
import LaunchContract

/// The cost of an app's controls, each beside the plain alternative, in alternating rounds.
///
/// The controlled app uses a real environment in replay and finds its contract like any app.
enum AppBench {
  private static let draws = 20_000

  /// Measures and prints; false if a limit is exceeded.
  static func run() async throws -> Bool {
    say(machine())
    say("\nmedians of seven alternating rounds, nanoseconds per call\n")
    let live = try AppControls.launch()
    let small = try ReplayedEnvironment(strings: 100)
    let large = try ReplayedEnvironment(strings: draws * Comparison.rounds)
    let controlled = try small.launch()
    guard controlled.clock.now == ReplayedEnvironment.start else {
      throw CodedError(.inputOutput, "this build ignores contracts; build it with --traits Controlled")
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

  /// 5,000 ns is 200,000 a second.
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

/// The plain alternatives. They are variables, so that the compiler cannot remove the reads.
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

/// A call beside its plain alternative, in nanoseconds per call.
struct Comparison {
  /// The name of the call.
  let name: String
  /// The name of the plain alternative.
  let plainName: String
  /// Nanoseconds per call, the medians of alternating rounds.
  let plain: Double
  let ours: Double
  /// The limit for the figures.
  let limit: Limit

  /// A documented limit.
  enum Limit {
    /// At most a multiple of the plain alternative.
    case times(Double)
    /// At most a number of nanoseconds more than the plain alternative.
    case more(Double)
    /// At most a number of nanoseconds.
    case nanoseconds(Double)
  }

  /// Measures both in seven alternating rounds and takes the medians.
  ///
  /// - Parameters:
  ///   - name: the name of the call.
  ///   - plainName: the name of the plain alternative.
  ///   - count: the number of calls in a round.
  ///   - limit: the limit for the figures.
  ///   - plain: the plain alternative.
  ///   - ours: the call.
  /// - Throws: the errors of both.
  init<First, Second>(
    _ name: String, beside plainName: String, count: Int, limit: Limit, plain: () throws -> First,
    ours: () throws -> Second
  ) rethrows {
    self.name = name
    self.plainName = plainName
    self.limit = limit
    var samples = (plain: [Double](), ours: [Double]())
    // The first round warms up caches and lazy values.
    for round in 0..<Self.rounds {
      let one = try Self.nanoseconds(count, plain)
      let other = try Self.nanoseconds(count, ours)
      guard round > 0 else { continue }
      samples.plain.append(one)
      samples.ours.append(other)
    }
    self.plain = samples.plain.sorted()[3]
    self.ours = samples.ours.sorted()[3]
  }

  /// One round to warm up, and seven that count.
  static let rounds = 8

  /// Whether the limit is met.
  var isKept: Bool {
    switch limit {
    case .times(let most): ours <= plain * most
    case .more(let most): ours <= plain + most
    case .nanoseconds(let most): ours <= most
    }
  }

  private static func nanoseconds<Result>(_ count: Int, _ body: () throws -> Result) rethrows -> Double {
    let start = ContinuousClock.now
    for _ in 0..<count { keep(try body()) }
    return (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
  }
}

extension Comparison: CustomStringConvertible {
  static let heading = line("", "plain", "", "ours", "ratio", "limit")

  var description: String {
    let limit =
      switch limit {
      case .times(let most): "at most \(most) times"
      case .more(let most): "at most \(Int(most)) more"
      case .nanoseconds(let most): "at most \(Int(most))"
      }
    return Self.line(
      name, plainName, String(format: "%.1f", plain), String(format: "%.1f", ours),
      String(format: "%.2f", ours / plain),
      "\(limit): \(isKept ? "kept" : "BROKEN")")
  }

  private static func line(_ columns: String...) -> String {
    zip(columns, [30, 12, 10, 10, 8, 0]).enumerated().map { index, column in
      let padding = String(repeating: " ", count: max(0, column.1 - column.0.count))
      return 1...4 ~= index && index != 1 ? padding + column.0 : column.0 + padding
    }.joined(separator: "  ")
  }
}

/// Uses a result, so that the compiler cannot remove the computation.
@inline(never) @_optimize(none)
private func keep<Value>(_ value: Value) {}

/// An environment in replay, with its contract in the variable that apps read.
final class ReplayedEnvironment {
  /// The date of the clocks.
  static let start = Date(timeIntervalSince1970: 1_538_989_200)

  private let service: EnvironmentService
  private let environment: Environment
  private let scratch: Scratch
  private let delivery: ContractWriter.Delivery

  /// - Parameter strings: the number of e-mail addresses in the recording.
  /// - Throws: an error if the environment cannot be provisioned.
  init(strings: Int) throws {
    scratch = try Scratch()
    let cassette = try writeCassette(of: 10, in: scratch)
    let derivation = StringDerivation(seed: "bench")
    let alphabet = RandomStrings.lettersAndDigits
    let entries = try (0..<strings).map { ordinal in
      StringEntry(
        value: try derivation.string(key: "email", ordinal: ordinal, length: 12, alphabet: alphabet),
        parameters: .string(length: 12, alphabet: alphabet))
    }
    let store = StringStoreDocument(seed: "bench", entries: ["email": entries])
    try JSONEncoder().encode(store).write(to: cassette.appendingPathExtension("strings.json"))
    var specification = EnvironmentSpecification(name: "bench", mode: .replay)
    specification.cassette = CassetteLocation(cassette.path)
    specification.clock.start = Self.start
    specification.toggles = ["flag": .bool(true), "count": .int(7), "share": .double(0.5), "name": .string("blue")]
    service = try EnvironmentService(HTTPServer.Configuration(threads: 1))
    environment = try service.provision(specification)
    delivery = try ContractWriter.deliver(environment.contract, folder: scratch.folder.path)
  }

  /// The controls of an app launched in the environment.
  func launch() throws -> AppControls {
    setenv("DIORAMA_CONTRACT", delivery.value, 1)
    defer { unsetenv("DIORAMA_CONTRACT") }
    return try AppControls.launch()
  }

  func end() async {
    _ = await environment.end()
    await service.stop()
    scratch.remove()
  }
}
