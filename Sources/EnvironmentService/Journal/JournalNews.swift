import Basics
import ControlAPI
import Dispatch
import Foundation
import HTTPMessages
import Synchronization

/// Delivers new journal entries to the daemon, which stores them, and wakes clients that wait for the next entry.
///
/// Adding an entry only schedules a delivery, so a burst of entries is delivered together.
final class JournalNews: Sendable {
  /// The most undelivered entries. A thread that adds more delivers them itself, before the journal drops any.
  private static let backlog = Journal.capacity / 2

  private struct State {
    /// Whether a delivery is scheduled.
    var isAbout = false
    /// The number of the last delivered entry.
    var told: Int
    /// Whether no more entries will come.
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
  /// Held during a delivery, so that entries are delivered in order.
  private let telling = NSLock()
  private let isWanted: Atomic<Bool>

  /// - Parameters:
  ///   - noted: receives all entries.
  ///   - last: the number of the last entry that need not be delivered.
  init(_ noted: (@Sendable ([JournalPage.Entry]) -> Void)?, after last: Int) {
    self.noted = noted
    state = Guarded(State(told: last))
    isWanted = Atomic(noted != nil)
  }

  /// An entry was added. Call this without a lock.
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

  /// Delivers all undelivered entries now.
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

  /// Delivers the last entries after the environment has ended, and ends all waits.
  func finish(_ environment: Environment) {
    state.withLock { $0.isOver = true }
    tell(environment)
  }

  /// Whether no more entries will come.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Waits until there is an entry after `number`, the deadline, or the journal's end.
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
        // Checked after registering: an entry added before is seen here, and one added later resumes the waiter.
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
