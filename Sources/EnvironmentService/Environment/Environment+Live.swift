package import Basics
package import Foundation
import HTTPMessages
package import LaunchContract

extension Environment {
  /// How a hand moves the clock.
  package enum ClockMove: Sendable {
    /// On, by so much.
    case advance(Duration)
    /// To an instant, also an earlier one.
    case set(Date)
  }

  /// What a move came to.
  package struct Moved: Sendable, Equatable {
    /// What the app's clock shows after it; where several apps follow, the latest; where none does, the environment's.
    package var now: Date
    /// The number of the step.
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

  /// What of the clock is to be another; nil leaves alone.
  package struct ClockPatch: Sendable {
    package var kind: LaunchContract.Clock.Kind?
    /// What it shows at once; nil lets wall time go on from where it is.
    package var start: Date?
    /// Seconds of the clock in a real second, for `scaled`.
    package var rate: Double?
    /// An IANA name.
    package var timeZone: String?
    /// Such as `en_GB`.
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

  /// A change of anything but the hands of the clock.
  struct Update: Sendable {
    var toggles: [String: JSON?]
    var values: [String: JSON?]
    var clock: ClockPatch?
    var mode: Mode?

    var isEmpty: Bool { toggles.isEmpty && values.isEmpty && clock == nil && mode == nil }
  }

  /// What somebody wants and waits for.
  enum WantedChange: Sendable {
    case move(ClockMove, afterSleepers: Int)
    case update(Update)
  }

  /// Moves the clock of the environment and of all apps that follow it.
  ///
  /// Moves that wait for sleepers are made in the order in which they were asked for; others do not wait for them.
  ///
  /// - Parameters:
  ///   - move: how.
  ///   - afterSleepers: how many sleepers are to be registered first, in all apps that follow together; nil moves at
  ///     once.
  ///   - timeout: how long all of it may take.
  /// - Returns: once every app that followed when the move was made has applied it, or is gone. With no app that is at
  ///   once: whoever starts later finds the clock moved.
  /// - Throws: a ``CodedError``: `usage` for a move that the clock cannot make, and nothing has moved then;
  ///   `unanswered` when the time is over, which says what was missing; `cannotWrite` when it cannot be stored for a
  ///   restart, which says whether it has moved. A move that waited for sleepers in vain is not made later.
  package func moveClock(
    _ move: ClockMove, afterSleepers: Int?, timeout: Duration
  ) async throws(CodedError) -> Moved {
    guard (afterSleepers ?? 0) >= 0 else {
      throw CodedError(.usage, "there are never \(afterSleepers ?? 0) sleepers; wait for 0 or more")
    }
    return try await perform(.move(move, afterSleepers: afterSleepers ?? 0), timeout: timeout)
  }

  /// Changes toggles, values, clock and mode while apps run, all in one step.
  ///
  /// - Parameters:
  ///   - toggles: a merge patch (RFC 7396): nil takes a toggle away, an object is merged into the old one.
  ///   - values: a merge patch.
  ///   - clock: what of the clock is to be another.
  ///   - mode: an environment of mode `extend` can go over to `replay` and back.
  ///   - timeout: how long it may take.
  /// - Returns: the step's number, once every app that followed when it was made has applied it, or is gone.
  /// - Throws: a ``CodedError``: `usage` for what cannot be, and nothing has changed then; `unanswered` when an
  ///   app did not apply it in time, or could not; `cannotWrite` when it cannot be stored for a restart, which says
  ///   whether it has changed.
  @discardableResult
  package func update(
    toggles: [String: JSON?] = [:], values: [String: JSON?] = [:], clock: ClockPatch? = nil,
    mode: Mode? = nil, timeout: Duration
  ) async throws(CodedError) -> Int {
    try EnvironmentSpecification.check(toggles.compactMapValues { $0 }, "toggle")
    try EnvironmentSpecification.check(values.compactMapValues { $0 }, "value")
    let update = Update(toggles: toggles, values: values, clock: clock, mode: mode)
    return try await perform(.update(update), timeout: timeout).revision
  }

  private func perform(_ change: WantedChange, timeout: Duration) async throws(CodedError) -> Moved {
    // Before anything has moved: whoever asks again later does not move it twice then.
    try keepChanges(or: "nothing has changed, since it could not be stored", changes.prepare)
    // A century is as good as for ever, and can be added to any instant.
    let timeout = min(timeout, .seconds(3_000_000_000))
    let number = Guarded(0)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        live { live, now in
          let begun = live.begin(change, timeout: timeout, at: now) { continuation.resume(returning: $0) }
          number.withLock { $0 = begun }
        }
        // One that was cancelled before it had a number.
        if Task.isCancelled { cancel(number) }
      }
    } onCancel: {
      cancel(number)
    }
    let moved = try result.get()
    try keepChanges(or: "it has changed, but a daemon that is killed before it can be stored forgets it", changes.keep)
    return moved
  }

  private func keepChanges(
    or what: String, _ keep: () throws(CodedError) -> Void
  ) throws(CodedError) {
    do throws(CodedError) { try keep() } catch { throw CodedError(error.kind, "\(what): \(error.message)") }
  }

  private func cancel(_ number: Guarded<Int>) {
    let number = number.withLock { $0 }
    live { live, _ in
      live.finish(number, .failure(CodedError(.unanswered, "the wait for the app was cancelled")))
    }
  }

  /// Does something with the live link's state, and then all that follows from it.
  @discardableResult
  func live<Output>(_ body: (inout AppSync, ContinuousClock.Instant) -> Output) -> Output {
    let now = ContinuousClock.now
    let (output, actions, alarm) = state.withLock { state in
      let revision = state.live.state.revision
      let output = body(&state.live, now)
      state.live.settle(at: now)
      state.ledger.mode = state.live.state.mode
      if state.live.state.revision != revision { changes.note() }
      return (output, state.live.takeOutbox(), state.live.takeAlarm())
    }
    // Also what another thread has changed: this one may have seen it.
    changes.keepIfPossible()
    for action in actions { action() }
    if let alarm { ring(at: alarm) }
    return output
  }

  private func ring(at time: ContinuousClock.Instant) {
    // A later one that was set before is set again when this one has come.
    let delay = Delay(until: time + .milliseconds(1)) { [weak self] in self?.live { live, _ in live.rang(time) } }
    alarm.withLock { $0 = delay }
  }
}
