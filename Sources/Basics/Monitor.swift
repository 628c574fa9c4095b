/// A value protected by a lock. Tasks can wait for a condition on it, without blocking a thread.
///
/// Every ``withLock(_:)`` wakes the tasks whose condition holds afterwards, so no change is missed.
///
/// ```swift
/// let count = Monitor(0)
/// count.withLock { $0 += 1 }
/// let isEnough = try await count.wait(until: .now + .seconds(5)) { $0 >= 3 }
/// ```
package final class Monitor<Value>: Sendable {
  private struct Waiter {
    let number: Int
    let condition: @Sendable (Value) -> Bool
    let continuation: CheckedContinuation<Bool, Never>
    var delay: Delay?
  }

  private struct State {
    var value: Value
    /// In the order in which they are woken.
    var waiters: [Waiter] = []
    var numbers = 0

    mutating func takeDue() -> [Waiter] {
      let due = waiters.filter { $0.condition(value) }
      if !due.isEmpty { waiters.removeAll { $0.condition(value) } }
      return due
    }
  }

  private let state: Guarded<State>

  package init(_ value: consuming sending Value) { state = Guarded(State(value: value)) }

  /// The number of waiting tasks.
  package var waiting: Int { state.withLock { $0.waiters.count } }

  /// Calls `body` with exclusive access to the value, then wakes tasks in the order in which they began to wait.
  /// `body` must not call out or wait.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var due: [Waiter] = []
    defer { for waiter in due { waiter.continuation.resume(returning: true) } }
    return try state.withLock { state throws(Failure) in
      defer { if !state.waiters.isEmpty { due = state.takeDue() } }
      return try body(&state.value)
    }
  }

  /// Waits until a condition holds.
  ///
  /// - Parameters:
  ///   - deadline: when to give up; nil to wait without a limit.
  ///   - condition: called with the lock held, any number of times.
  /// - Returns: whether the condition held; false at the deadline.
  /// - Throws: `CancellationError` when the task is cancelled.
  @discardableResult
  package func wait(
    until deadline: ContinuousClock.Instant? = nil, for condition: @escaping @Sendable (Value) -> Bool
  ) async throws -> Bool {
    let number = nextNumber()
    let isMet = await withTaskCancellationHandler {
      await wait(number, until: deadline, for: condition, isCancellable: true)
    } onCancel: {
      giveUp(number)
    }
    try Task.checkCancellation()
    return isMet
  }

  /// Waits until a condition holds, even if the task is cancelled. Use it if the caller cannot continue before that.
  ///
  /// - Parameters:
  ///   - deadline: when to give up; nil to wait without a limit.
  ///   - condition: called with the lock held, any number of times.
  /// - Returns: whether the condition held; false at the deadline.
  @discardableResult
  package func waitIgnoringCancellation(
    until deadline: ContinuousClock.Instant? = nil, for condition: @escaping @Sendable (Value) -> Bool
  ) async -> Bool {
    await wait(nextNumber(), until: deadline, for: condition, isCancellable: false)
  }

  private func nextNumber() -> Int {
    state.withLock { state in
      state.numbers += 1
      return state.numbers
    }
  }

  private func wait(
    _ number: Int, until deadline: ContinuousClock.Instant?, for condition: @escaping @Sendable (Value) -> Bool,
    isCancellable: Bool
  ) async -> Bool {
    let isMet = await withCheckedContinuation { continuation in
      let isMet = state.withLock { state -> Bool? in
        if condition(state.value) { return true }
        // Checked under the lock, which `giveUp` takes too: a later cancellation finds the waiter.
        if isCancellable, Task.isCancelled { return false }
        state.waiters.append(Waiter(number: number, condition: condition, continuation: continuation))
        return nil
      }
      if let isMet { return continuation.resume(returning: isMet) }
      guard let deadline else { return }
      // Released at the end of this closure if the wait is over already.
      let delay = Delay(until: deadline) { self.giveUp(number) }
      state.withLock { state in
        guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return }
        state.waiters[index].delay = delay
      }
    }
    // ThreadSanitizer does not always understand the ordering of a continuation, but it does understand a lock.
    state.withLock { _ in }
    return isMet
  }

  private func giveUp(_ number: Int) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
    }
    waiter?.continuation.resume(returning: false)
  }
}
