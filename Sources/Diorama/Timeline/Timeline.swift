import Foundation

/// What the clocks of the app show after so much real time: pure arithmetic, nothing is asked of the machine.
struct Timeline: Sendable, Equatable {
  /// How wall time goes on.
  enum Pace: Sendable, Equatable {
    /// As on the machine.
    case system
    /// It stands; monotonic time is real.
    case frozen
    /// It runs; monotonic time is real.
    case ticking
    /// Both run at the rate.
    case scaled(Double)
    /// Both stand until they are moved.
    case manual
  }

  let pace: Pace
  /// Wall time when counting begins.
  let start: Date

  /// Wall time.
  ///
  /// - Parameters:
  ///   - elapsed: real time since counting began.
  ///   - machine: what the machine's own clock shows.
  /// - Returns: the app's wall time.
  func now(elapsed: Duration, machine: @autoclosure () -> Date) -> Date {
    switch pace {
    case .system: machine()
    case .frozen, .manual: start
    case .ticking: start + elapsed.seconds
    case .scaled(let rate): start + elapsed.seconds * rate
    }
  }

  /// Monotonic time since counting began, after so much real time.
  func uptime(elapsed: Duration) -> Duration {
    switch pace {
    case .system, .frozen, .ticking: elapsed
    case .scaled(let rate): elapsed * rate
    case .manual: .zero
    }
  }

  /// How long a sleep of the app really takes; nil where no real time ends it.
  func realDuration(of duration: Duration) -> Duration? {
    switch pace {
    case .system, .frozen, .ticking: duration
    case .scaled(let rate): duration / rate
    case .manual: nil
    }
  }
}

extension Duration {
  /// In seconds, with the fraction.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
