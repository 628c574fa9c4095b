import Foundation

/// One thing that an app does, beside the plain thing that it did before, in nanoseconds for each.
struct Comparison {
  /// What the app asks for.
  let name: String
  /// What it asked before, in a word or two.
  let plainName: String
  /// Nanoseconds for one, medians of rounds in turn.
  let plain: Double
  let ours: Double
  /// What the figures have to keep.
  let limit: Limit

  /// The promises of INTERFACE.md and of the README in the form in which they are given.
  enum Limit {
    /// At most so many times the plain one.
    case times(Double)
    /// At most so many nanoseconds more than the plain one.
    case more(Double)
    /// At most so many nanoseconds.
    case nanoseconds(Double)
  }

  /// Runs both in turn, seven times each, and takes the medians.
  ///
  /// - Parameters:
  ///   - name: what the app asks for.
  ///   - plainName: what it asked before.
  ///   - count: how often each is done in a round.
  ///   - limit: what the figures have to keep.
  ///   - plain: does the plain thing once.
  ///   - ours: does ours once.
  /// - Throws: what one of the two throws.
  init<First, Second>(
    _ name: String, beside plainName: String, count: Int, limit: Limit, plain: () throws -> First,
    ours: () throws -> Second
  ) rethrows {
    self.name = name
    self.plainName = plainName
    self.limit = limit
    var samples = (plain: [Double](), ours: [Double]())
    // The first round warms up: pages, caches, what is made lazily.
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

  /// One to warm up, and seven that count.
  static let rounds = 8

  /// Whether the limit holds.
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

/// Takes a result so that the compiler cannot leave out what made it.
@inline(never) @_optimize(none)
private func keep<Value>(_ value: Value) {}
