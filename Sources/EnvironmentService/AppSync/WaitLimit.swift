import Basics
import HTTPMessages

/// How many may wait for something to happen at one time.
package final class WaitLimit: Sendable {
  /// The most.
  package let most: Int
  private let waiting = Guarded(0)

  package init(_ most: Int) { self.most = most }

  /// How many wait now.
  package var count: Int { waiting.withLock { $0 } }

  /// Somebody is about to wait, and calls ``leave()`` once they do no more.
  ///
  /// - Returns: false where too many do already; nobody is to wait then.
  package func enter() -> Bool {
    waiting.withLock { waiting in
      guard waiting < most else { return false }
      waiting += 1
      return true
    }
  }

  /// Somebody waits no more.
  package func leave() { waiting.withLock { $0 -= 1 } }
}
