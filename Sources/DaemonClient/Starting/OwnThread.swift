import Foundation

/// Runs what waits on a thread of its own, since the threads of Swift's tasks are few.
func onOwnThread<Value: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: Result { () throws(Failure) in try body() }) }
  }
  return try result.get()
}
