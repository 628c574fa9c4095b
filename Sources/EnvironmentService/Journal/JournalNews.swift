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
    /// The number of the last entry, as far as those who wait have to know.
    var last = 0
  }

  private let noted: (@Sendable ([JournalPage.Entry]) -> Void)?
  private let state: Monitor<State>
  /// Held during a delivery, so that entries are delivered in order.
  private let telling = NSLock()
  private let isWanted: Atomic<Bool>

  /// - Parameters:
  ///   - noted: receives all entries.
  ///   - last: the number of the last entry that need not be delivered.
  init(_ noted: (@Sendable ([JournalPage.Entry]) -> Void)?, after last: Int) {
    self.noted = noted
    state = Monitor(State(told: last))
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
    announce(environment)
  }

  /// Delivers the last entries after the environment has ended, and ends all waits.
  func finish(_ environment: Environment) {
    tell(environment)
    state.withLock { $0.isOver = true }
  }

  /// Whether no more entries will come.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Waits until there is an entry after `number`, the deadline, or the journal's end.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  func wait(after number: Int, until deadline: ContinuousClock.Instant, _ environment: Environment) async throws {
    isWanted.store(true, ordering: .relaxed)
    // Read after that: an entry added before is seen here, and one added later is announced.
    announce(environment)
    try await state.wait(until: deadline) { $0.isOver || $0.last > number }
  }

  private func announce(_ environment: Environment) {
    let last = environment.lastJournalNumber
    state.withLock { $0.last = max($0.last, last) }
  }
}
