import Basics
import Dispatch
import HTTPMessages

/// A timer that calls a closure once, unless it is released before.
///
/// A released delay leaves nothing behind. `asyncAfter` and a cancelled `Task.sleep` keep their timer until it is due,
/// which may be long after the environment has ended.
final class Delay: @unchecked Sendable {
  // The last reference may be released on any thread.
  private let timer: any DispatchSourceTimer

  /// - Parameters:
  ///   - time: when to call. A time more than 30 years away may be called early.
  ///   - body: called on any thread.
  init(until time: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Void) {
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
  static func sleep(until time: ContinuousClock.Instant) async throws {
    let sleep = Guarded(Sleep())
    @Sendable func end() {
      let (continuation, delay) = sleep.withLock { sleep in
        sleep.isOver = true
        return (sleep.continuation.take(), sleep.delay.take())
      }
      withExtendedLifetime(delay) { continuation?.resume() }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let delay = Delay(until: time, end)
        let isOver = sleep.withLock { sleep in
          if !sleep.isOver { (sleep.continuation, sleep.delay) = (continuation, delay) }
          return sleep.isOver
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      end()
    }
    try Task.checkCancellation()
  }

  private struct Sleep {
    var continuation: CheckedContinuation<Void, Never>?
    var delay: Delay?
    var isOver = false
  }
}
