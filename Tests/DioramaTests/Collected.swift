import Foundation

/// Values that several threads put together.
final class Collected<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var found: [Value] = []

  var values: [Value] { lock.withLock { found } }

  func add(_ value: Value) {
    lock.withLock { found.append(value) }
  }
}
