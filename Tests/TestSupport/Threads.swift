import Basics
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs blocking code on its own thread.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  // Through a lock: ThreadSanitizer does not always understand the ordering of a continuation.
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

/// An event that happens once, for any number of tasks to wait for.
package final class Event: Sendable {
  private struct State {
    var hasHappened = false
    var waiting: [BytePipe] = []
  }

  private let state = Guarded(State())

  package init() {}

  package func happen() {
    let waiting = state.withLock { state in
      state.hasHappened = true
      defer { state.waiting = [] }
      return state.waiting
    }
    waiting.forEach { $0.finish() }
  }

  /// Waits for the event; throws if the task is cancelled.
  package func wait() async throws {
    let pipe = BytePipe()
    let isOver = state.withLock { state in
      if !state.hasHappened { state.waiting.append(pipe) }
      return state.hasHappened
    }
    guard !isOver else { return }
    while try await pipe.read() != nil {}
  }
}

/// Waits until the task is cancelled, and throws.
package func waitForCancellation() async throws { try await Event().wait() }

/// Retries until the result is not nil, for at most ten seconds.
///
/// For tests that depend on a certain port: a child that another test starts at this moment has copies of all sockets
/// until it runs its program, so a free port briefly seems to be in use.
package func soon<Value>(_ body: () throws -> Value?) rethrows -> Value? {
  let end = ContinuousClock.now + .seconds(10)
  while true {
    if let value = try body() { return value }
    guard ContinuousClock.now < end else { return nil }
    usleep(2000)
  }
}
