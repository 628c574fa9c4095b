#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs what waits on a thread of its own.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    let box = Unmanaged.passRetained(ThreadBody { continuation.resume(with: Result { try body() }) })
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
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
