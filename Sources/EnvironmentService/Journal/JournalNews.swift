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
    var isScheduled = false
    /// The number of the last delivered entry.
    var delivered: Int
    /// Whether no more entries will come.
    var isOver = false
    /// The number of the last entry that waiting clients have been notified of.
    var last = 0
  }

  private let noted: (@Sendable ([JournalPage.Entry]) -> Void)?
  private let state: Monitor<State>
  /// Held during a delivery, so that entries are delivered in order.
  private let delivering = NSLock()
  private let isWanted: Atomic<Bool>

  /// - Parameters:
  ///   - noted: receives all entries.
  ///   - last: the number of the last entry that need not be delivered.
  init(_ noted: (@Sendable ([JournalPage.Entry]) -> Void)?, after last: Int) {
    self.noted = noted
    state = Monitor(State(delivered: last))
    isWanted = Atomic(noted != nil)
  }

  /// An entry was added. Call this without a lock.
  @inline(__always)
  func added(_ environment: Environment) {
    guard isWanted.load(ordering: .relaxed) else { return }
    schedule(environment)
  }

  private func schedule(_ environment: Environment) {
    let last = environment.state.withLock { $0.journal.last }
    let (mustDeliver, isFirst) = state.withLock { state in
      defer { state.isScheduled = true }
      return (noted != nil && last - state.delivered > Self.backlog, !state.isScheduled)
    }
    if mustDeliver {
      deliver(environment)
    } else if isFirst {
      DispatchQueue.global().async { self.deliver(environment) }
    }
  }

  /// Delivers all undelivered entries now.
  func deliver(_ environment: Environment) {
    delivering.withLock {
      let delivered = state.withLock { state in
        state.isScheduled = false
        return state.delivered
      }
      guard let noted else { return }
      let entries = environment.entries(after: delivered, limit: .max)
      guard let last = entries.last?.number else { return }
      noted(entries)
      state.withLock { $0.delivered = last }
    }
    announce(environment)
  }

  /// Delivers the last entries after the environment has ended, and ends all waits.
  func finish(_ environment: Environment) {
    deliver(environment)
    state.withLock { $0.isOver = true }
  }

  /// Whether no more entries will come.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Waits until there is an entry after `number`, the deadline, or the journal's end.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  func wait(after number: Int, until deadline: ContinuousClock.Instant, _ environment: Environment) async throws {
    isWanted.store(true, ordering: .relaxed)
    // Read the last entry only now: an earlier entry is found here, and a later one is announced.
    announce(environment)
    try await state.wait(until: deadline) { $0.isOver || $0.last > number }
  }

  private func announce(_ environment: Environment) {
    let last = environment.lastJournalNumber
    state.withLock { $0.last = max($0.last, last) }
  }
}
