import Dispatch

/// A timer that calls a closure once, unless it is released before.
///
/// A released delay leaves nothing behind. `asyncAfter` and a cancelled `Task.sleep` keep their timer until it is due,
/// which may be long after the environment has ended.
package final class Delay: @unchecked Sendable {
  // The last reference may be released on any thread.
  private let timer: any DispatchSourceTimer

  /// - Parameters:
  ///   - time: when to call. A time more than 30 years away may be called early.
  ///   - body: called on any thread.
  package init(until time: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler(handler: DispatchWorkItem(block: body))
    let nanoseconds = max(.zero, ContinuousClock.now.duration(to: time)) / .nanoseconds(1)
    timer.schedule(deadline: .now() + .nanoseconds(Int(min(nanoseconds, 1e18))))
    timer.activate()
  }

  deinit { timer.cancel() }

  /// Waits until a time.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  package static func sleep(until time: ContinuousClock.Instant) async throws {
    try await Monitor(()).wait(until: time) { false }
  }
}
