import Foundation

/// Values that several threads collect.
final class Collected<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var found: [Value] = []

  var values: [Value] { lock.withLock { found } }

  func add(_ value: Value) {
    lock.withLock { found.append(value) }
  }
}

/// How often to repeat a concurrency test; `DIORAMA_ROUNDS` overrides it (`make soak`: 10,000).
let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 300
