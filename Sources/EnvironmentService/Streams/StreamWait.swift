import Basics
import Cassettes
import Diorama
import Foundation

/// Waits until the parts of a stream are due. Times count from when this is created.
struct StreamWait: Sendable {
  private let pace: StreamPace
  private let clock: DioramaClock
  private let start: ContinuousClock.Instant
  /// What the environment's clock showed at the start.
  private let date: Date

  init(_ pace: StreamPace, timeline: Timeline) {
    self.pace = pace
    clock = DioramaClock(timeline)
    start = .now
    date = clock.now
  }

  /// Waits until a part is due.
  ///
  /// - Parameter milliseconds: when the part arrived after the head of its response.
  /// - Throws: `CancellationError`.
  func wait(_ milliseconds: Int) async throws {
    switch pace {
    case .instant: return
    case .recorded: try await sleep(Double(milliseconds))
    case .scaled(let factor): try await sleep(Double(milliseconds) / factor)
    case .timeline:
      // By wall time: monotonic time runs even in a frozen environment.
      guard milliseconds > 0 else { return }
      try await clock.sleep(until: date.addingTimeInterval(Double(milliseconds) / 1000))
    }
  }

  private func sleep(_ milliseconds: Double) async throws {
    let time = start + .seconds(min(milliseconds / 1000, 1e9))
    guard time > .now else { return }
    try await Delay.sleep(until: time)
  }
}
