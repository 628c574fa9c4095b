import Foundation

extension Timeline {
  /// Sleeps until the alarm.
  ///
  /// - Throws: `CancellationError`, or the error that the timeline failed with.
  func sleep(_ alarm: Sleeper.Alarm) async throws {
    try await wait(for: Sleeper(alarm))
  }

  /// Waits for a sleeper, and registers it first if necessary.
  func wait(for sleeper: Sleeper) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        // In one step, so that the sleeper cannot wake, and so wake out of order, before it has a receiver.
        register(sleeper) { continuation.resume(with: $0) }
      }
    } onCancel: {
      cancel(sleeper)
    }
  }

  /// Adds a sleeper, unless it has been cancelled.
  ///
  /// - Parameters:
  ///   - sleeper: a new sleeper, or one registered without a receiver.
  ///   - receiver: called at its end, without a lock. It may also be registered later.
  func register(_ sleeper: Sleeper, _ receiver: Completion.Receiver? = nil) {
    update { inside, moment in
      if sleeper.registration == nil, sleeper.ending.outcome == nil {
        inside.registrations += 1
        sleeper.registration = inside.registrations
        sleeper.deadline =
          switch sleeper.alarm {
          case .after(let duration): (inside.time.uptime(at: moment) + duration.bounded).bounded
          case .uptime(let deadline): deadline.bounded
          case .wall(let date): Duration(sinceReferenceDate: date)
          }
        inside.sleepers.insert(sleeper)
      }
      if let receiver { inside.then(sleeper.ending.receive(receiver)) }
    }
  }

  /// Ends a sleeper with a `CancellationError`, unless it has already ended.
  func cancel(_ sleeper: Sleeper) {
    update { inside, _ in
      inside.sleepers.remove(sleeper)
      inside.then(sleeper.ending.end(.failure(CancellationError())))
    }
  }

  /// Makes all sleeps fail that only a move can end, now and later.
  ///
  /// Sleeps that end by real time continue, and the timeline can still be moved in the process.
  package func fail(_ error: DioramaError) {
    update { inside, _ in
      inside.failure = error
      let waiters = inside.waiters.filter(\.isEndedByFailure)
      inside.waiters.removeAll(where: \.isEndedByFailure)
      for waiter in waiters { inside.then(waiter.ending.end(.failure(error))) }
    }
  }
}

/// A wait for a condition on the sleepers. The timeline's lock guards all of its state.
final class SleeperWaiter: @unchecked Sendable {
  let isMet: @Sendable (Timeline.Inside) -> Bool
  /// Whether the wait ends if the timeline fails.
  let isEndedByFailure: Bool
  var ending = Completion()

  init(isEndedByFailure: Bool, _ isMet: @escaping @Sendable (Timeline.Inside) -> Bool) {
    self.isEndedByFailure = isEndedByFailure
    self.isMet = isMet
  }
}

/// A wait that can be cancelled.
package struct SleeperWait: Sendable {
  let timeline: Timeline
  let waiter: SleeperWaiter

  /// Cancels the wait: the body is not called unless the condition was already met.
  package func cancel() {
    timeline.cancel(waiter)
  }
}

extension Timeline {
  /// Calls the body once a number of sleepers are registered, possibly at once.
  ///
  /// - Parameters:
  ///   - count: the minimum number of sleepers.
  ///   - body: called once, without a lock.
  /// - Returns: the wait, to cancel it.
  package func whenSleepers(_ count: Int, _ body: @escaping @Sendable () -> Void) -> SleeperWait {
    when(body) { $0.sleepers.count >= count }
  }

  /// Calls the body once the number of sleepers differs, possibly at once.
  ///
  /// - Parameters:
  ///   - count: the known number of sleepers.
  ///   - body: called once, without a lock.
  /// - Returns: the wait, to cancel it.
  func whenSleeperCount(isNot count: Int, _ body: @escaping @Sendable () -> Void) -> SleeperWait {
    when(body) { $0.sleepers.count != count }
  }

  /// Calls the body once there are more registrations.
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

  /// Waits until a number of sleepers are registered.
  ///
  /// - Throws: `CancellationError`, or the error that the timeline failed with.
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
