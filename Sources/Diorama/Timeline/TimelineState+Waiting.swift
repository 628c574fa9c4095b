import Foundation

extension TimelineState {
  /// What the deadlines of such sleepers are counted in.
  func reading(of scale: Sleeper.Scale, at moment: Moment) -> Duration {
    switch scale {
    case .uptime: uptime(at: moment)
    case .wall: Duration(sinceReferenceDate: now(at: moment))
    }
  }

  /// Real nanoseconds until a deadline, never too few by more than rounding; nil where only a hand brings it about.
  func realWait(for scale: Sleeper.Scale, until deadline: Duration, at moment: Moment) -> Int64? {
    guard !isMovedByHandOnly(scale), deadline < .forever else { return nil }
    let remaining = (deadline - reading(of: scale, at: moment)).seconds / realRate(of: scale)
    // A year at most: what is longer is looked at again then, and no timer has to hold more.
    return Int64((min(max(remaining, 0), 31_536_000) * 1e9).rounded(.up))
  }

  /// Whether no real time ends such a sleep.
  func isMovedByHandOnly(_ scale: Sleeper.Scale) -> Bool { realRate(of: scale) == 0 }

  private func realRate(of scale: Sleeper.Scale) -> Double {
    switch scale {
    case .uptime: pace.uptimeRate
    case .wall: pace.wallRate ?? 1
    }
  }
}
