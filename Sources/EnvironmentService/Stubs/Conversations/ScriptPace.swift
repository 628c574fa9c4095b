import Basics
import Diorama

/// When the steps of a script are due: each its delay after the one before, on the environment's timeline. If the test moves
/// a manual clock past several steps, all of them follow.
struct ScriptPace {
  private let environment: Environment
  private let clock: DioramaClock
  private var due: DioramaClock.Instant

  init(_ environment: Environment) {
    self.environment = environment
    clock = DioramaClock(environment.state.withLock { $0.live.state.timeline })
    due = clock.instant
  }

  /// Waits until the next step is due, at most until the environment ends.
  ///
  /// - Parameter milliseconds: the step's delay.
  /// - Throws: `CancellationError`.
  mutating func wait(_ milliseconds: Double) async throws {
    guard milliseconds > 0 else { return }
    due = due.advanced(by: .nanoseconds(Int64(milliseconds * 1_000_000)))
    try await environment.streams.wait { [clock, due] in try await clock.sleep(until: due) }
  }

  /// Counts from now, after a step that waited for the app.
  mutating func restart() { due = clock.instant }
}
