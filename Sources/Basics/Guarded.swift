#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A value protected by a lock.
///
/// Has the shape of `Synchronization.Mutex`, which should replace it when possible: on threads created by C libraries
/// (libmicrohttpd, libcurl) ThreadSanitizer reports false races with `Mutex`, but not with a pthread mutex.
package final class Guarded<Value: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  /// The lock excludes other accesses; a nested one would wait forever.
  @exclusivity(unchecked) private var value: Value

  package init(_ value: consuming sending Value) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    self.value = value
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Calls `body` with exclusive access to the value. `body` must not call out or wait.
  @inline(__always)
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
