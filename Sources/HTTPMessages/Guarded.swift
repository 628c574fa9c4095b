#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A value that is only reached under a lock.
///
/// In the shape of `Synchronization.Mutex`, and to be replaced by it when it can be: on threads that C libraries
/// own (libmicrohttpd's and libcurl's) ThreadSanitizer reports races under `Mutex` that are none, and reports none
/// here.
package final class Guarded<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  package init(_ value: sending Value) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    self.value = value
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` with the value, alone. Never call out or wait in there.
  @inline(__always)
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
