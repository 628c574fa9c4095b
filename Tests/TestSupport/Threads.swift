import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs what waits on a thread of its own.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  // By way of a lock: ThreadSanitizer does not always know what a continuation orders.
  let result = Guarded<Result<Value, any Error>?>(nil)
  await withCheckedContinuation { continuation in
    let box = Unmanaged.passRetained(
      ThreadBody {
        let value = Result { try body() }
        result.withLock { $0 = value }
        continuation.resume()
      })
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    pthread_create(
      &thread, nil,
      { box in
        let box: UnsafeMutableRawPointer? = box
        if let box { Unmanaged<ThreadBody>.fromOpaque(box).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    #if canImport(Darwin)
      if let thread { pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
  }
  guard let result = result.withLock({ $0 }) else { throw CancellationError() }
  return try result.get()
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
