import Basics
import HTTPMessages

/// Limits how many requests may wait for an event at the same time.
package final class WaitLimit: Sendable {
  /// The limit.
  package let most: Int
  private let waiting = Guarded(0)

  package init(_ most: Int) { self.most = most }

  /// How many wait now.
  package var count: Int { waiting.withLock { $0 } }

  /// Enters the wait, to be ended with ``leave()``.
  ///
  /// - Returns: false if too many wait already; do not wait then.
  package func enter() -> Bool {
    waiting.withLock { waiting in
      guard waiting < most else { return false }
      waiting += 1
      return true
    }
  }

  /// Ends a wait.
  package func leave() { waiting.withLock { $0 -= 1 } }
}
