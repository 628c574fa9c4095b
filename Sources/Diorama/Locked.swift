import Foundation

/// A value that is only reached under a lock.
///
/// In the shape of `Synchronization.Mutex`, whose lock ThreadSanitizer does not see on Linux: it reports races there
/// that are none.
final class Locked<Value: ~Copyable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: consuming sending Value) {
    self.value = value
  }

  /// Runs `body` with the value, alone.
  func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
