import Foundation

/// Someone who waits for sleepers; guarded by the timeline's lock.
final class SleeperWaiter: @unchecked Sendable {
  let isMet: @Sendable (Timeline.Inside) -> Bool
  /// Whether it is told when the timeline fails.
  let isEndedByFailure: Bool
  var ending = Completion()

  init(isEndedByFailure: Bool, _ isMet: @escaping @Sendable (Timeline.Inside) -> Bool) {
    self.isEndedByFailure = isEndedByFailure
    self.isMet = isMet
  }
}

/// A wait that can be given up.
package struct SleeperWait: Sendable {
  let timeline: Timeline
  let waiter: SleeperWaiter

  /// Gives it up: unless it has been met, nobody is called any more.
  package func cancel() {
    timeline.cancel(waiter)
  }
}

extension Timeline {
  /// Calls the body once so many sleepers are registered: at once if they are now.
  ///
  /// - Parameters:
  ///   - count: how many at least.
  ///   - body: called once, under no lock, by whoever registers the last.
  /// - Returns: what gives the wait up.
  package func whenSleepers(_ count: Int, _ body: @escaping @Sendable () -> Void) -> SleeperWait {
    when(body) { $0.sleepers.count >= count }
  }

  /// Calls the body once there are more or fewer sleepers: at once if there are now.
  ///
  /// - Parameters:
  ///   - count: how many there were.
  ///   - body: called once, under no lock.
  /// - Returns: what gives the wait up.
  func whenSleeperCount(isNot count: Int, _ body: @escaping @Sendable () -> Void) -> SleeperWait {
    when(body) { $0.sleepers.count != count }
  }

  /// Calls the body once there have been more registrations.
  func whenRegistered(after registrations: UInt64, _ body: @escaping @Sendable () -> Void) -> SleeperWait {
    when(body) { $0.registrations > registrations }
  }

  private func when(
    _ body: @escaping @Sendable () -> Void, _ isMet: @escaping @Sendable (Inside) -> Bool
  ) -> SleeperWait {
    let waiter = SleeperWaiter(isEndedByFailure: false, isMet)
    add(waiter) { if case .success = $0 { body() } }
    return SleeperWait(timeline: self, waiter: waiter)
  }

  /// Waits until so many sleepers are registered.
  ///
  /// - Throws: `CancellationError`; the error that the timeline failed with.
  package func waitForSleepers(_ count: Int) async throws {
    let waiter = SleeperWaiter(isEndedByFailure: true) { $0.sleepers.count >= count }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        add(waiter) { continuation.resume(with: $0) }
      }
    } onCancel: {
      cancel(waiter)
    }
  }

  private func add(_ waiter: SleeperWaiter, _ receiver: @escaping Completion.Receiver) {
    update { inside, _ in
      inside.then(waiter.ending.receive(receiver))
      guard waiter.ending.outcome == nil else { return }
      if let failure = inside.failure, waiter.isEndedByFailure, !waiter.isMet(inside) {
        inside.then(waiter.ending.end(.failure(failure)))
      } else {
        inside.waiters.append(waiter)
      }
    }
  }

  fileprivate func cancel(_ waiter: SleeperWaiter) {
    update { inside, _ in
      inside.waiters.removeAll { $0 === waiter }
      inside.then(waiter.ending.end(.failure(CancellationError())))
    }
  }
}
