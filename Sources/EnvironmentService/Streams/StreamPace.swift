import Basics
import LaunchContract

/// When the parts of a recorded stream leave in replay: all of what came as server-sent events, as lines of JSON, or with
/// pauses.
///
/// In each case they leave one by one and in order, each in a write of its own.
package enum StreamPace: Sendable, Equatable {
  /// One after the other, without waiting.
  case instant
  /// As far apart as they came.
  case recorded
  /// So many times as fast as they came.
  case scaled(Double)
  /// When the environment's clock has gone on, or was moved, as far as it took when they came: while it stands, nothing
  /// comes.
  case timeline

  /// Factors of ``scaled(_:)``.
  package static let factors = 0.001...1_000_000.0

  /// The names, for messages.
  package static let choices = "instant, recorded, scaled:FACTOR, timeline"
}

extension StreamPace: RawRepresentable, Codable {
  /// - Parameter rawValue: as on the command line: `instant`, `recorded`, `scaled:10` or `timeline`.
  package init?(rawValue: String) {
    switch rawValue {
    case "instant": self = .instant
    case "recorded": self = .recorded
    case "timeline": self = .timeline
    default:
      let parts = rawValue.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == "scaled", let factor = Double(parts[1]), Self.factors.contains(factor) else {
        return nil
      }
      self = .scaled(factor)
    }
  }

  /// As on the command line.
  package var rawValue: String {
    switch self {
    case .instant: "instant"
    case .recorded: "recorded"
    case .scaled(let factor): "scaled:\(factor)"
    case .timeline: "timeline"
    }
  }
}

extension StreamPace {
  /// What is wrong with a text that is none of them.
  package static func problem(with text: String) -> String {
    text.hasPrefix("scaled")
      ? "'\(text.prefix(60))' needs a factor from 0.001 to 1000000, such as scaled:10 for ten times as fast"
      : "there is no '\(text.prefix(60))'"
        + (EditDistance.nearest(to: String(text.prefix(60)), among: ["instant", "recorded", "scaled", "timeline"]).first
          .map { "; did you mean '\($0)'?" } ?? "") + " There are \(choices)"
  }
}
