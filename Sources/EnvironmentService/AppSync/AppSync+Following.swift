import Basics
import CassetteChecks
import Diorama
import Foundation
import LaunchContract

extension AppSync {
  // MARK: Long polls

  /// Registers a request for the state.
  ///
  /// - Returns: the poll's number, for ``await(_:_:)``.
  mutating func open(_ poll: LongPoll) -> Int {
    let number = number()
    polls[number] = poll
    if let name = poll.follower {
      followers[name, default: Follower(revision: poll.after)].asks(on: poll.connection)
    }
    return number
  }

  /// Registers the closure that resumes a poll once its answer is due.
  mutating func await(_ number: Int, _ answer: @escaping @Sendable () -> Void) {
    polls[number]?.answer = answer
    touch(number)
  }

  /// A poll's connection was closed.
  mutating func clientLeft(_ number: Int) {
    guard polls[number]?.hasLeft == false else { return }
    polls[number]?.hasLeft = true
    touch(number)
    if let name = polls[number]?.follower, followers[name]?.hangsUp() == true { leave(name) }
  }

  /// A connection was closed, with or without a waiting poll.
  mutating func closed(_ connection: UInt64) {
    for (name, follower) in followers where follower.connection == connection { leave(name) }
  }

  /// Removes a poll whose answer is about to be sent, or whose client has gone.
  mutating func close(_ number: Int, at now: ContinuousClock.Instant) {
    guard let poll = polls.removeValue(forKey: number), let name = poll.follower, !poll.hasLeft else {
      return
    }
    followers[name]?.isAnswered(at: now)
  }

  /// The answer to a poll: the steps after a known revision, the whole state, or both.
  ///
  /// - Returns: nil if the steps are no longer kept.
  func state(after revision: Int?, isWhole: Bool) -> LiveState? {
    guard let steps = revision.map({ state.steps(after: $0) }) ?? [] else { return nil }
    var message = LiveState(revision: state.revision, steps: steps)
    message.over = isOver
    message.watch = watch
    if isWhole {
      message.mode = state.mode.rawValue
      message.toggles = state.toggles
      message.values = state.values
      message.clock = .init(clock: state.clock, now: RFC3339.format(state.timeline.now, exactly: true))
    }
    return message
  }

  // MARK: Acknowledgements

  /// Removes an app that has gone; changes no longer wait for it.
  mutating func leave(_ name: String) {
    followers[name] = nil
    for (number, change) in changes {
      guard case .applying(let revision, var waiting) = change.stage, waiting.remove(name) != nil else { continue }
      changes[number]?.stage = .applying(revision: revision, waitingFor: waiting)
    }
  }

  /// Handles a message from an app: it has applied a step, or reports its number of sleepers.
  mutating func take(_ message: Acknowledgement) {
    let name = message.follower
    if let sleepers = message.sleepers, message.watch == watch?.id { followers[name]?.sleepers = sleepers }
    guard let applied = message.revision else { return }
    if let before = followers[name]?.revision { followers[name]?.revision = max(before, applied) }
    for (number, change) in changes {
      guard case .applying(let revision, var waiting) = change.stage, revision <= applied,
        waiting.remove(name) != nil
      else { continue }
      changes[number]?.stage = .applying(revision: revision, waitingFor: waiting)
      guard revision == applied else { continue }
      if let error = message.error {
        let text = "the app \(name) could not apply revision \(revision): \(error)"
        changes[number]?.stage = .failed(CodedError(.unanswered, text))
      }
      changes[number]?.moved.woken += message.woken ?? 0
      if let now = message.now.flatMap(RFC3339.parse) { changes[number]?.moved.show(now) }
    }
  }

  // MARK: Changes

  /// Registers a change whose caller waits for it.
  ///
  /// - Parameters:
  ///   - change: what to change, and how many sleepers must be registered first.
  ///   - timeout: the time limit for all of it.
  ///   - now: the current time.
  ///   - done: called once, after the lock is released.
  /// - Returns: the change's number, for cancelling it.
  mutating func begin(
    _ change: Environment.WantedChange, timeout: Duration, at now: ContinuousClock.Instant,
    done: @escaping @Sendable (Result<Environment.Moved, CodedError>) -> Void
  ) -> Int {
    let number = number()
    let applying = Change.Stage.applying(revision: state.revision, waitingFor: [])
    changes[number] = Change(
      stage: applying, until: now + timeout, timeout: timeout,
      moved: .init(now: state.timeline.now, revision: state.revision, woken: 0), done: done)
    if isOver {
      changes[number]?.stage = .failed(CodedError(.unanswered, "the environment has ended"))
      return number
    }
    switch change {
    case .move(let move, afterSleepers: let count) where count > 0:
      changes[number]?.stage = .sleepers(count, then: move)
    case .move(let move, _): make(number) { state throws(CodedError) in try state.move(move) }
    case .update(let update): make(number) { state throws(CodedError) in try state.update(update) }
    }
    return number
  }

  /// Makes a step and waits for all apps that follow at this moment.
  mutating func make(_ number: Int, _ change: (inout MutableState) throws(CodedError) -> Void) {
    do {
      let before = state.revision
      try change(&state)
      let waiting = state.revision > before ? Set(followers.keys) : []
      changes[number]?.stage = .applying(revision: state.revision, waitingFor: waiting)
      changes[number]?.moved = .init(now: state.timeline.now, revision: state.revision, woken: 0)
    } catch {
      changes[number]?.stage = .failed(error)
    }
  }

  /// The error for a change that was not done in time.
  func lateness(of change: Change) -> CodedError {
    switch change.stage {
    case .sleepers(let count, _):
      let wanted = "waited \(change.timeout) for \(count) \(count == 1 ? "sleeper" : "sleepers")"
      guard !followers.isEmpty else {
        return CodedError(
          .unanswered,
          "\(wanted), but no app follows the environment; start an app with the environment's launch contract")
      }
      let counts = followers.map { "\($0.value.sleepers ?? 0) in \($0.key)" }.sorted().joined(separator: ", ")
      return CodedError(
        .unanswered, "\(wanted), but there are \(counts); let the app sleep on its DioramaClock, or wait for fewer")
    case .applying(let revision, let waiting):
      let apps = waiting.sorted().map { "\($0), which is at revision \(followers[$0]?.revision ?? 0)" }
      return CodedError(
        .unanswered,
        "waited \(change.timeout) for revision \(revision) to be applied by the app \(apps.joined(separator: "; by "))"
          + "; is it stopped, or too busy?")
    case .failed(let error): return error
    }
  }
}
