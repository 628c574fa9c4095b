import Basics

/// A number that several tasks add to.
final class Counter: Sendable {
  private let count = Guarded(0)
  var value: Int { count.withLock { $0 } }

  /// Returns the sum.
  @discardableResult
  func add(_ number: Int) -> Int {
    count.withLock { count in
      count += number
      return count
    }
  }
}
