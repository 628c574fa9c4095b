import Cassettes
import Diorama
import Foundation

/// Waits for the moments at which the parts of one stream leave; they are counted from its making on.
struct StreamWait: Sendable {
  private let pace: StreamPace
  private let clock: DioramaClock
  private let start: ContinuousClock.Instant
  /// What the environment's clock showed then.
  private let date: Date

  init(_ pace: StreamPace, timeline: Timeline) {
    self.pace = pace
    clock = DioramaClock(timeline)
    start = .now
    date = clock.now
  }

  /// Waits until a part that came so many milliseconds after the head of its response may leave.
  ///
  /// - Throws: `CancellationError`.
  func wait(_ milliseconds: Int) async throws {
    switch pace {
    case .instant: return
    case .recorded: try await sleep(Double(milliseconds))
    case .scaled(let factor): try await sleep(Double(milliseconds) / factor)
    case .timeline:
      // By wall time: in a frozen environment monotonic time goes on, and only wall time stands.
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
