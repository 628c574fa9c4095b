package import Basics
package import ControlAPI
package import EnvironmentConfiguration
package import Foundation
import HTTPMessages
package import LaunchContract

extension Environment {
  /// A change of the time that the clock shows.
  package enum ClockMove: Sendable {
    /// Forward, by a duration.
    case advance(Duration)
    /// To a date, which may be earlier.
    case set(Date)
  }

  /// The result of a move.
  package struct Moved: Sendable, Equatable {
    /// The time of the app's clock after the move. With several apps, the latest of their times; without apps, the
    /// environment's time.
    package var now: Date
    /// The step's number.
    package var revision: Int
    /// How many sleepers were woken, in all apps together.
    package var woken: Int
    private var isFromApp = false

    init(now: Date, revision: Int, woken: Int) {
      self.now = now
      self.revision = revision
      self.woken = woken
    }

    mutating func show(_ date: Date) {
      now = isFromApp ? max(now, date) : date
      isFromApp = true
    }
  }

  /// Changes of the clock's settings; nil leaves a setting as it is.
  package struct ClockPatch: Sendable {
    package var kind: LaunchContract.Clock.Kind?
    /// The new time; nil keeps the current wall time.
    package var start: Date?
    /// Clock seconds per real second, for `scaled`.
    package var rate: Double?
    /// An IANA time zone name.
    package var timeZone: String?
    /// A locale identifier such as `en_GB`.
    package var locale: String?

    package init(
      kind: LaunchContract.Clock.Kind? = nil, start: Date? = nil, rate: Double? = nil, timeZone: String? = nil,
      locale: String? = nil
    ) {
      self.kind = kind
      self.start = start
      self.rate = rate
      self.timeZone = timeZone
      self.locale = locale
    }
  }

  /// A change of anything except the time itself.
  struct Update: Sendable {
    var toggles: [String: JSON?]
    var values: [String: JSON?]
    var clock: ClockPatch?
    var mode: Mode?

    var isEmpty: Bool { toggles.isEmpty && values.isEmpty && clock == nil && mode == nil }
  }

  /// A change whose caller waits for it.
  enum WantedChange: Sendable {
    case move(ClockMove, afterSleepers: Int)
    case update(Update)
  }

  /// Moves the clock of the environment and of all apps that follow it.
  ///
  /// Moves that wait for sleepers are made in the order in which they were requested; other moves do not wait for them.
  ///
  /// - Parameters:
  ///   - move: how to move the clock.
  ///   - afterSleepers: how many sleepers must be registered first, in all following apps together; nil moves at once.
  ///   - timeout: the time limit for all of it.
  /// - Returns: the result, once every app that followed when the move was made has applied it or is gone. Without apps
  ///   it returns at once; an app that starts later finds the clock moved.
  /// - Throws: a ``CodedError``: `usage` if the clock cannot make the move, which has changed nothing;
  ///   `unanswered` after the timeout, with what was missing; `cannotWrite` if the move cannot be stored for a restart,
  ///   with whether the clock has moved. A move that timed out waiting for sleepers is not made later.
  package func moveClock(
    _ move: ClockMove, afterSleepers: Int?, timeout: Duration
  ) async throws(CodedError) -> Moved {
    guard (afterSleepers ?? 0) >= 0 else {
      throw CodedError(.usage, "afterSleepers is \(afterSleepers ?? 0); it must be 0 or greater")
    }
    return try await perform(.move(move, afterSleepers: afterSleepers ?? 0), timeout: timeout)
  }

  /// What the environment's clock shows at one moment.
  package struct ClockReading: Sendable {
    package var kind: LaunchContract.Clock.Kind
    /// Seconds of the clock in a real second, for ``kind`` `scaled`.
    package var rate: Double
    /// What it shows now.
    package var date: Date

    package init(kind: LaunchContract.Clock.Kind, rate: Double, date: Date) {
      self.kind = kind
      self.rate = rate
      self.date = date
    }
  }

  /// Calls a function with what the clock shows, now and after each change of the environment. Replaces an earlier one.
  ///
  /// - Parameter follower: must return at once, and not call the environment.
  package func followClock(_ follower: @escaping @Sendable (ClockReading) -> Void) {
    state.withLock { state in
      state.clockFollower = follower
      follower(state.live.state.reading)
    }
  }

  /// Changes toggles, values, clock, mode and faults while apps run, all in one step.
  ///
  /// - Parameters:
  ///   - toggles: a merge patch (RFC 7396): nil removes a toggle, and an object is merged into the old one.
  ///   - values: a merge patch.
  ///   - clock: changes of the clock's settings.
  ///   - mode: an environment provisioned in mode `extend` can change to `replay` and back.
  ///   - faults: replaces all faults; nil leaves them as they are.
  ///   - timeout: the time limit.
  /// - Returns: the step's number, once every app that followed when it was made has applied it or is gone.
  /// - Throws: a ``CodedError``: `usage` for a change that is not valid, which has changed nothing; `unanswered`
  ///   if an app did not apply it in time, or could not; `cannotWrite` if it cannot be stored for a restart, with
  ///   whether it was made.
  @discardableResult
  package func update(
    toggles: [String: JSON?] = [:], values: [String: JSON?] = [:], clock: ClockPatch? = nil,
    mode: Mode? = nil, faults: [FaultSettings]? = nil, timeout: Duration
  ) async throws(CodedError) -> Int {
    try EnvironmentSpecification.check(toggles.compactMapValues { $0 }, "toggle")
    try EnvironmentSpecification.check(values.compactMapValues { $0 }, "value")
    let update = Update(toggles: toggles, values: values, clock: clock, mode: mode)
    guard let faults else { return try await perform(.update(update), timeout: timeout).revision }
    // Checked before anything changes.
    let compiled = try compiled(faults)
    if update.isEmpty {
      try keepChanges(or: "nothing has changed, because the change could not be stored", changes.prepare)
    } else {
      _ = try await perform(.update(update), timeout: timeout)
    }
    // Apps know nothing of faults, so that they have nothing to apply.
    setFaults(compiled)
    try keepChanges(or: "the change was made but not stored; it is lost if the daemon is killed", changes.keep)
    return live { live, _ in live.state.revision }
  }

  private func perform(_ change: WantedChange, timeout: Duration) async throws(CodedError) -> Moved {
    // Before anything changes, so that a retry does not make the change twice.
    try keepChanges(or: "nothing has changed, because the change could not be stored", changes.prepare)
    // About a century, which can still be added to any instant.
    let timeout = min(timeout, .seconds(3_000_000_000))
    let number = Guarded(0)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        live { live, now in
          let begun = live.begin(change, timeout: timeout, at: now) { continuation.resume(returning: $0) }
          number.withLock { $0 = begun }
        }
        // The task may have been cancelled before the change had a number.
        if Task.isCancelled { cancel(number) }
      }
    } onCancel: {
      cancel(number)
    }
    let moved = try result.get()
    try keepChanges(or: "the change was made but not stored; it is lost if the daemon is killed", changes.keep)
    return moved
  }

  private func keepChanges(
    or what: String, _ keep: () throws(CodedError) -> Void
  ) throws(CodedError) {
    do { try keep() } catch { throw CodedError(error.kind, "\(what): \(error.message)") }
  }

  private func cancel(_ number: Guarded<Int>) {
    let number = number.withLock { $0 }
    live { live, _ in
      live.finish(number, .failure(CodedError(.unanswered, "the wait for the app was cancelled")))
    }
  }

  /// Accesses the live link's state under the lock, then runs the actions that follow from it.
  @discardableResult
  func live<Output>(_ body: (inout AppSync, ContinuousClock.Instant) -> Output) -> Output {
    let now = ContinuousClock.now
    let (output, actions, alarm) = state.withLock { state in
      let revision = state.live.state.revision
      let output = body(&state.live, now)
      state.live.settle(at: now)
      state.ledger.mode = state.live.state.mode
      if state.live.state.revision != revision {
        changes.note()
        state.clockFollower?(state.live.state.reading)
      }
      return (output, state.live.takeOutbox(), state.live.takeAlarm())
    }
    // This also stores other threads' changes, which this one may have seen.
    changes.keepIfPossible()
    for action in actions { action() }
    if let alarm { ring(at: alarm) }
    return output
  }

  private func ring(at time: ContinuousClock.Instant) {
    // A later alarm that this one replaces is set again when this one fires.
    let delay = Delay(until: time + .milliseconds(1)) { [weak self] in self?.live { live, _ in live.rang(time) } }
    alarm.withLock { $0 = delay }
  }
}

extension Environment.ClockMove {
  /// - Parameter request: the movement as a client asks for it.
  /// - Throws: a ``CodedError`` of kind `usage` if it is not valid.
  package init(_ request: ClockMoveRequest) throws(CodedError) {
    switch (request.advance, request.set) {
    case (let seconds?, nil):
      // 1e11 s is over 3,000 years, more than any test needs.
      guard seconds.magnitude <= 1e11 else {
        throw CodedError(.usage, "advance: \(seconds) seconds is out of range; give at most 1e11")
      }
      self = .advance(.seconds(seconds))
    case (nil, let text?):
      guard let date = RFC3339.parse(text) else {
        throw CodedError(
          .usage, "set: '\(text.prefix(100))' is not an RFC 3339 time; give a time such as 2018-10-08T09:00:00Z")
      }
      self = .set(date)
    default: throw CodedError(.usage, "give exactly one of advance and set")
    }
  }
}
