import Foundation

/// The date that the backend believes in, which runs on from where it was set.
struct BelievedClock: Sendable {
  private let start: Date
  private let origin = ContinuousClock.now

  init(_ start: Date) {
    self.start = start
  }

  var now: Date {
    start + (ContinuousClock.now - origin) / .seconds(1)
  }
}
