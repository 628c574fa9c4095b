/// How the times of a timeline follow real time.
package enum Pace: Sendable, Equatable {
  /// As on the machine.
  case system
  /// Wall time stands; monotonic time is real.
  case frozen
  /// Both are real; wall time runs from some other instant.
  case ticking
  /// Both run at the rate.
  case scaled(Double)
  /// Both stand until they are moved.
  case manual

  /// Seconds of wall time in a real second; nil where the machine's own wall time is shown.
  var wallRate: Double? {
    switch self {
    case .system: nil
    case .frozen, .manual: 0
    case .ticking: 1
    case .scaled(let rate): rate
    }
  }

  /// Seconds of monotonic time in a real second.
  var uptimeRate: Double {
    switch self {
    case .system, .frozen, .ticking: 1
    case .scaled(let rate): rate
    case .manual: 0
    }
  }
}
