import Basics
import ControlAPI
import Dispatch
import Foundation
import HTTPMessages
import Synchronization

/// Tells of new journal entries: the daemon, which stores them, and whoever waits for the next.
///
/// Whoever has added an entry only makes sure that somebody looks: a burst of entries is told at once.
final class JournalNews: Sendable {
  /// Entries that may wait to be told: a burst that overtakes the one who tells has to tell itself, lest some are gone.
  private static let backlog = Journal.capacity / 2

  private struct State {
    /// Whether somebody is about to look.
    var isAbout = false
    /// The number of the last entry that was told.
    var told: Int
    /// No entry comes any more.
    var isOver = false
    var waiters: [Int: Waiter] = [:]
    var numbers = 0
  }

  private struct Waiter {
    var after: Int
    var resume: @Sendable () -> Void
    var delay: Delay?
  }

  private let noted: (@Sendable ([JournalPage.Entry]) -> Void)?
  private let state: Guarded<State>
  /// Held while it tells, so that entries are told in order.
  private let telling = NSLock()
  private let isWanted: Atomic<Bool>

  /// - Parameters:
  ///   - noted: told of all entries.
  ///   - last: the number of the last entry that need not be told.
  init(_ noted: (@Sendable ([JournalPage.Entry]) -> Void)?, after last: Int) {
    self.noted = noted
    state = Guarded(State(told: last))
    isWanted = Atomic(noted != nil)
  }

  /// An entry has been added; called without a lock.
  @inline(__always)
  func added(_ environment: Environment) {
    guard isWanted.load(ordering: .relaxed) else { return }
    look(environment)
  }

  private func look(_ environment: Environment) {
    let last = environment.state.withLock { $0.journal.last }
    let (mustTell, isFirst) = state.withLock { state in
      defer { state.isAbout = true }
      return (noted != nil && last - state.told > Self.backlog, !state.isAbout)
    }
    if mustTell { tell(environment) } else if isFirst { DispatchQueue.global().async { self.tell(environment) } }
  }

  /// Tells all that has not been told, now.
  func tell(_ environment: Environment) {
    telling.withLock {
      let told = state.withLock { state in
        state.isAbout = false
        return state.told
      }
      guard let noted else { return }
      let entries = environment.entries(after: told, limit: .max)
      guard let last = entries.last?.number else { return }
      noted(entries)
      state.withLock { $0.told = last }
    }
    let last = environment.state.withLock { $0.journal.last }
    let due = state.withLock { state in
      let due = state.waiters.filter { state.isOver || $0.value.after < last }
      for number in due.keys { state.waiters[number] = nil }
      return due.values
    }
    for waiter in due { waiter.resume() }
  }

  /// The environment has ended, and its last entry is there: tells it, and that there will be no other.
  func finish(_ environment: Environment) {
    state.withLock { $0.isOver = true }
    tell(environment)
  }

  /// Whether there will be no other entry.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Waits until there is an entry after one, the time has come, or there will be none.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  func wait(after number: Int, until deadline: ContinuousClock.Instant, _ environment: Environment) async throws {
    let mine = state.withLock { state in
      state.numbers += 1
      return state.numbers
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { $0.waiters[mine] = Waiter(after: number) { continuation.resume() } }
        isWanted.store(true, ordering: .relaxed)
        // After it is to be told: an entry that has come before is seen here, one that comes later is told.
        let isThere = isOver || environment.lastJournalNumber > number
        if isThere || Task.isCancelled { return end(mine) }
        let delay = Delay(until: deadline) { [weak self] in self?.end(mine) }
        state.withLock { $0.waiters[mine]?.delay = delay }
      }
    } onCancel: {
      end(mine)
    }
    try Task.checkCancellation()
  }

  private func end(_ number: Int) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
  }
}
