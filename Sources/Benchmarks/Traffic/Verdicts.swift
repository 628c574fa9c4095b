import Foundation

/// Limits with their figures.
final class Verdicts {
  private var all: [(kept: Bool, text: String)] = []

  func add(_ kept: Bool, _ text: String) { all.append((kept, text)) }

  /// One figure as a multiple of another.
  func atLeast(
    _ limit: Double, _ what: String, _ medians: [String: Sample], _ ours: String, _ theirs: String,
    _ figure: KeyPath<Sample, Double>
  ) {
    let ratio = (medians[ours]?[keyPath: figure] ?? .nan) / (medians[theirs]?[keyPath: figure] ?? .nan)
    add(ratio >= limit, String(format: "%@: %.2f times (at least %.1f)", what, ratio, limit))
  }

  /// One figure as a multiple of another.
  func atMost(
    _ limit: Double, _ what: String, _ medians: [String: Sample], _ ours: String, _ theirs: String,
    _ figure: KeyPath<Sample, Double>
  ) {
    let ratio = (medians[ours]?[keyPath: figure] ?? .nan) / (medians[theirs]?[keyPath: figure] ?? .nan)
    add(ratio <= limit, String(format: "%@: %.2f times (at most %.1f)", what, ratio, limit))
  }

  /// Prints each; false when one is broken.
  func hold() -> Bool {
    say("")
    for verdict in all { say((verdict.kept ? "kept    " : "BROKEN  ") + verdict.text) }
    return all.allSatisfy(\.kept)
  }
}
