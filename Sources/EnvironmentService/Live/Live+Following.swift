import Diorama
import Foundation
import LaunchContract

extension Live {
  // MARK: Questions

  /// Somebody asks for the state.
  ///
  /// - Returns: the question's number, to be ``await(_:_:)``ed.
  mutating func open(_ question: Question) -> Int {
    let number = number()
    questions[number] = question
    if let name = question.follower {
      followers[name, default: Follower(revision: question.after)].asks(on: question.connection)
    }
    return number
  }

  /// The one who asked is ready for the answer.
  mutating func await(_ number: Int, _ answer: @escaping @Sendable () -> Void) {
    questions[number]?.answer = answer
    touch(number)
  }

  /// The connection of a question has been closed.
  mutating func clientLeft(_ number: Int) {
    guard questions[number]?.hasLeft == false else { return }
    questions[number]?.hasLeft = true
    touch(number)
    if let name = questions[number]?.follower, followers[name]?.hangsUp() == true { leave(name) }
  }

  /// A connection has been closed, also one on which no question waits.
  mutating func closed(_ connection: UInt64) {
    for (name, follower) in followers where follower.connection == connection { leave(name) }
  }

  /// A question's answer is on its way, or nobody waits for it.
  mutating func close(_ number: Int, at now: ContinuousClock.Instant) {
    guard let question = questions.removeValue(forKey: number), let name = question.follower, !question.hasLeft else {
      return
    }
    followers[name]?.isAnswered(at: now)
  }

  /// The answer: steps for who knows some revision, the whole state for who wants it.
  ///
  /// - Returns: nil where the steps are no longer kept.
  func state(after revision: Int?, isWhole: Bool) -> LiveState? {
    guard let steps = revision.map({ world.steps(after: $0) }) ?? [] else { return nil }
    var state = LiveState(revision: world.revision, steps: steps)
    state.over = isOver
    state.watch = watch
    if isWhole {
      state.mode = world.mode.rawValue
      state.toggles = world.toggles
      state.values = world.values
      state.clock = .init(clock: world.clock, now: RFC3339.formatExactly(world.timeline.now))
    }
    return state
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
        changes[number]?.stage = .failed(EnvironmentError(.unanswered, text))
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
    done: @escaping @Sendable (Result<Environment.Moved, EnvironmentError>) -> Void
  ) -> Int {
    let number = number()
    let applying = Change.Stage.applying(revision: world.revision, waitingFor: [])
    changes[number] = Change(
      stage: applying, until: now + timeout, timeout: timeout,
      moved: .init(now: world.timeline.now, revision: world.revision, woken: 0), done: done)
    if isOver {
      changes[number]?.stage = .failed(EnvironmentError(.unanswered, "the environment has ended"))
      return number
    }
    switch change {
    case .move(let move, afterSleepers: let count) where count > 0:
      changes[number]?.stage = .sleepers(count, then: move)
    case .move(let move, _): make(number) { world throws(EnvironmentError) in try world.move(move) }
    case .update(let update): make(number) { world throws(EnvironmentError) in try world.update(update) }
    }
    return number
  }

  /// Makes a step, and waits for all who follow now.
  mutating func make(_ number: Int, _ change: (inout LiveWorld) throws(EnvironmentError) -> Void) {
    do throws(EnvironmentError) {
      let before = world.revision
      try change(&world)
      let waiting = world.revision > before ? Set(followers.keys) : []
      changes[number]?.stage = .applying(revision: world.revision, waitingFor: waiting)
      changes[number]?.moved = .init(now: world.timeline.now, revision: world.revision, woken: 0)
    } catch {
      changes[number]?.stage = .failed(error)
    }
  }

  /// Why a change was not done in time.
  func lateness(of change: Change) -> EnvironmentError {
    switch change.stage {
    case .sleepers(let count, _):
      let wanted = "waited \(change.timeout) for \(count) \(count == 1 ? "sleeper" : "sleepers")"
      guard !followers.isEmpty else {
        return EnvironmentError(
          .unanswered,
          "\(wanted), but no app follows the environment; start one with its contract, in a build that reads contracts")
      }
      let counts = followers.map { "\($0.value.sleepers ?? 0) in \($0.key)" }.sorted().joined(separator: ", ")
      return EnvironmentError(
        .unanswered, "\(wanted), but there are \(counts); let the app sleep on its DioramaClock, or wait for fewer")
    case .applying(let revision, let waiting):
      let apps = waiting.sorted().map { "\($0), which is at revision \(followers[$0]?.revision ?? 0)" }
      return EnvironmentError(
        .unanswered,
        "waited \(change.timeout) for revision \(revision) to be applied by the app \(apps.joined(separator: "; by "))"
          + "; is it stopped, or too busy?")
    case .failed(let error): return error
    }
  }
}
