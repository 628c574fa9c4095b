import Basics
import Diorama

/// Schedules the steps of a script on the environment's timeline, each after its delay from the previous one. If the
/// test advances a manual clock past several steps, all of them are due.
struct ScriptPace {
  private let environment: Environment
  private let clock: DioramaClock
  private var due: DioramaClock.Instant

  init(_ environment: Environment) {
    self.environment = environment
    clock = DioramaClock(environment.state.withLock { $0.live.state.timeline })
    due = clock.instant
  }

  /// Waits until the next step is due, or the environment ends.
  ///
  /// - Parameter milliseconds: the step's delay.
  /// - Throws: `CancellationError`.
  mutating func wait(_ milliseconds: Double) async throws {
    guard milliseconds > 0 else { return }
    due = due.advanced(by: .nanoseconds(Int64(milliseconds * 1_000_000)))
    try await environment.streams.wait { [clock, due] in try await clock.sleep(until: due) }
  }

  /// Restarts the schedule from now, after a step that waited for the app.
  mutating func restart() { due = clock.instant }
}
