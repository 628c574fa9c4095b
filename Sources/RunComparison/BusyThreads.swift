import Foundation
import Synchronization

/// Threads that keep all processors busy at normal priority.
package final class BusyThreads: Sendable {
  private let isOver = Atomic(false)

  /// - Parameter count: how many threads.
  package init(_ count: Int) {
    for _ in 0..<count {
      Thread.detachNewThread { [self] in
        var number: UInt64 = 1
        while !isOver.load(ordering: .relaxed) { number = number &* 6_364_136_223_846_793_005 &+ 1 }
        withExtendedLifetime(number) {}
      }
    }
  }

  /// Ends them.
  package func stop() { isOver.store(true, ordering: .relaxed) }
}
