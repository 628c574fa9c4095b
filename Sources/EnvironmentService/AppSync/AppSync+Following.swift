import Basics
import CassetteChecks
import Diorama
import Foundation
import LaunchContract

extension AppSync {
  // MARK: Questions

  /// Somebody asks for the state.
  ///
  /// - Returns: the poll's number, to be ``await(_:_:)``ed.
  mutating func open(_ poll: LongPoll) -> Int {
    let number = number()
    polls[number] = poll
    if let name = poll.follower {
      followers[name, default: Follower(revision: poll.after)].asks(on: poll.connection)
    }
    return number
  }

  /// The one who asked is ready for the answer.
  mutating func await(_ number: Int, _ answer: @escaping @Sendable () -> Void) {
    polls[number]?.answer = answer
    touch(number)
  }

  /// The connection of a poll has been closed.
  mutating func clientLeft(_ number: Int) {
    guard polls[number]?.hasLeft == false else { return }
    polls[number]?.hasLeft = true
    touch(number)
    if let name = polls[number]?.follower, followers[name]?.hangsUp() == true { leave(name) }
  }

  /// A connection has been closed, also one on which no poll waits.
  mutating func closed(_ connection: UInt64) {
    for (name, follower) in followers where follower.connection == connection { leave(name) }
  }

  /// A poll's answer is on its way, or nobody waits for it.
  mutating func close(_ number: Int, at now: ContinuousClock.Instant) {
    guard let poll = polls.removeValue(forKey: number), let name = poll.follower, !poll.hasLeft else {
      return
    }
    followers[name]?.isAnswered(at: now)
  }

  /// The answer: steps for who knows some revision, the whole state for who wants it.
  ///
  /// - Returns: nil where the steps are no longer kept.
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

  // MARK: Answers

  /// An app is gone: nobody waits for it any more.
  mutating func leave(_ name: String) {
    followers[name] = nil
    for (number, change) in changes {
      guard case .applying(let revision, var waiting) = change.stage, waiting.remove(name) != nil else { continue }
      changes[number]?.stage = .applying(revision: revision, waitingFor: waiting)
    }
  }

  /// An app has applied a step, or tells how many sleepers it has.
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

  /// Somebody wants a change and waits for it.
  ///
  /// - Parameters:
  ///   - change: what to change, and how many sleepers there are to be first.
  ///   - timeout: how long all of it may take.
  ///   - now: the time.
  ///   - done: called once, after the lock.
  /// - Returns: the change's number, to cancel it by.
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

  /// Makes a step, and waits for all who follow now.
  mutating func make(_ number: Int, _ change: (inout MutableState) throws(CodedError) -> Void) {
    do throws(CodedError) {
      let before = state.revision
      try change(&state)
      let waiting = state.revision > before ? Set(followers.keys) : []
      changes[number]?.stage = .applying(revision: state.revision, waitingFor: waiting)
      changes[number]?.moved = .init(now: state.timeline.now, revision: state.revision, woken: 0)
    } catch {
      changes[number]?.stage = .failed(error)
    }
  }

  /// Why a change was not done in time.
  func lateness(of change: Change) -> CodedError {
    switch change.stage {
    case .sleepers(let count, _):
      let wanted = "waited \(change.timeout) for \(count) \(count == 1 ? "sleeper" : "sleepers")"
      guard !followers.isEmpty else {
        return CodedError(
          .unanswered,
          "\(wanted), but no app follows the environment; start one with its contract, in a build that reads contracts")
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
