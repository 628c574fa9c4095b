import EnvironmentConfiguration

/// When the parts of a recorded stream leave in replay: all of what came as server-sent events, as lines of JSON, or with
/// pauses.
///
/// In each case they leave one by one and in order, each in a write of its own.
package enum StreamPace: Sendable, Equatable {
  /// One after the other, without waiting.
  case instant
  /// With the recorded pauses.
  case recorded
  /// Faster than recorded by this factor.
  case scaled(Double)
  /// When the environment's clock has gone on, or was moved, as far as it took when they came: while it stands, nothing
  /// comes.
  case timeline
}

extension StreamPace: RawRepresentable, Codable {
  /// - Parameter rawValue: as on the command line: `instant`, `recorded`, `scaled:10` or `timeline`.
  package init?(rawValue: String) {
    guard EnvironmentConfiguration.problem(withPace: rawValue) == nil else { return nil }
    switch rawValue {
    case "instant": self = .instant
    case "recorded": self = .recorded
    case "timeline": self = .timeline
    default: self = .scaled(Double(rawValue.dropFirst("scaled:".count)) ?? 1)
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
