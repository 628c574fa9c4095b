import Foundation

extension Timeline {
  /// Waits for the alarm.
  ///
  /// - Throws: `CancellationError`; the error that the timeline failed with.
  func sleep(_ alarm: Sleeper.Alarm) async throws {
    try await wait(for: Sleeper(alarm))
  }

  /// Waits for a sleeper, which is registered here unless it was before.
  func wait(for sleeper: Sleeper) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        // In one step, so that nobody is woken between its registration and its wait, and so out of order.
        register(sleeper) { continuation.resume(with: $0) }
      }
    } onCancel: {
      cancel(sleeper)
    }
  }

  /// Counts a sleeper from now on, unless it has been cancelled.
  ///
  /// - Parameters:
  ///   - sleeper: a fresh one, or one registered without a receiver.
  ///   - receiver: told of its end; called under no lock. A sleeper may be given one later.
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

  /// Ends a sleeper with a `CancellationError`, unless it has ended.
  func cancel(_ sleeper: Sleeper) {
    update { inside, _ in
      inside.sleepers.remove(sleeper)
      inside.then(sleeper.ending.end(.failure(CancellationError())))
    }
  }

  /// Takes away the hand: every sleep that only a hand can end throws this, now and later.
  ///
  /// Those that real time ends go on, and the time can still be moved here.
  package func fail(_ error: DioramaError) {
    update { inside, _ in
      inside.failure = error
      let waiters = inside.waiters.filter(\.isEndedByFailure)
      inside.waiters.removeAll(where: \.isEndedByFailure)
      for waiter in waiters { inside.then(waiter.ending.end(.failure(error))) }
    }
  }
}
