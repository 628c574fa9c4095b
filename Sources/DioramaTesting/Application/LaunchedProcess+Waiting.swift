import ChildProcesses
@preconcurrency import Dispatch
import HTTPMessages

extension LaunchedProcess {
  /// All that changes, under one lock.
  struct State {
    var output = CapturedOutput()
    var errors = CapturedOutput()
    /// How it ended; once that is known, its id may be another's.
    var status: WaitStatus?
    /// The same, once everything it said is here.
    var ending: WaitStatus?
    /// Whether somebody waited for this end, or made it.
    var isExpected = false
    var waiters: [Int: Waiter] = [:]
    var lastWaiter = 0
  }

  /// Somebody who waits.
  struct Waiter {
    /// Looks whether what is waited for has come, and answers how to say so.
    var check: (inout State) -> (() -> Void)?
    /// Says that it will not come.
    var giveUp: (WaitFailure) -> Void
  }

  /// Why waiting was in vain.
  enum WaitFailure: Error {
    case timedOut, ended, cancelled
  }

  /// Changes the state, and tells those who waited for that.
  func change(_ body: (inout State) -> Void) {
    let ready = state.withLock { state -> [() -> Void] in
      body(&state)
      var ready: [() -> Void] = []
      for (id, waiter) in state.waiters.sorted(by: { $0.key < $1.key }) {
        guard let resume = waiter.check(&state) else { continue }
        state.waiters[id] = nil
        ready.append(resume)
      }
      return ready
    }
    for resume in ready { resume() }
  }

  /// Waits until `check` answers something, which it is asked after each change.
  ///
  /// - Parameters:
  ///   - timeout: how long.
  ///   - check: answers under the lock: never calls out.
  /// - Returns: the answer.
  /// - Throws: ``WaitFailure/timedOut``, ``WaitFailure/cancelled``, or ``WaitFailure/ended`` when the program has
  ///   ended and `check` still has no answer.
  func wait<Value: Sendable>(
    timeout: Duration, _ check: @escaping @Sendable (inout State) -> Value?
  ) async throws(WaitFailure) -> Value {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let result: Result<Value, WaitFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: @Sendable (inout State) -> Result<Value, WaitFailure>? = { state in
          if let value = check(&state) { return .success(value) }
          return state.ending == nil ? nil : .failure(.ended)
        }
        let now = state.withLock { state -> Result<Value, WaitFailure>? in
          if let result = answer(&state) { return result }
          // Here, since a cancellation after this finds the waiter.
          if Task.isCancelled { return .failure(.cancelled) }
          state.waiters[number] = Waiter(
            check: { state in answer(&state).map { result in { continuation.resume(returning: result) } } },
            giveUp: { continuation.resume(returning: .failure($0)) })
          return nil
        }
        if let now { return continuation.resume(returning: now) }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout / .seconds(1)) { [weak self] in
          self?.giveUp(number, .timedOut)
        }
      }
    } onCancel: {
      giveUp(number, .cancelled)
    }
    return try result.get()
  }

  private func giveUp(_ number: Int, _ failure: WaitFailure) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.giveUp(failure)
  }
}
