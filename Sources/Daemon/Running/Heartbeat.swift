import Dispatch
import HTTPMessages

/// Calls once a second, on a thread that may wait, until it is stopped or told that it was the last time.
final class Heartbeat: Sendable {
  private let queue = DispatchQueue(label: "diorama.heartbeat")
  private let isOver = Guarded(false)
  private let beat: @Sendable () -> Bool

  /// - Parameter beat: returns whether there is to be another.
  init(_ beat: @escaping @Sendable () -> Bool) {
    self.beat = beat
    scheduleNext()
  }

  /// Returns once no beat is under way, and none comes any more.
  func stop() async {
    isOver.withLock { $0 = true }
    await withUnsafeContinuation { continuation in queue.async { continuation.resume() } }
  }

  private func scheduleNext() {
    queue.asyncAfter(deadline: .now() + 1) { [weak self] in
      guard let self, !isOver.withLock({ $0 }), beat() else { return }
      scheduleNext()
    }
  }
}
