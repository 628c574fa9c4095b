import Basics
package import ControlAPI
import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages

/// Writes journal entries to the store in batches. A kill loses at most the last 0.1 s.
final class JournalWriter: Sendable {
  /// Queued entries. Further ones are dropped, since a slow store must not block environments.
  private static let waitingLimit = 200_000
  /// Half of the promised 0.1 s, since writing a batch takes time, too.
  private static let interval = DispatchTimeInterval.milliseconds(50)

  private struct State {
    var waiting: [(environment: HostedEnvironment, entries: [JournalPage.Entry])] = []
    var count = 0
    var isScheduled = false
    var written = 0
    var dropped = 0
  }

  private let store: any DaemonStore
  private let kept: Int
  private let log: Log
  private let failed: @Sendable () -> Void
  private let state = Guarded(State())
  private let queue = DispatchQueue(label: "diorama.journal")

  /// - Parameters:
  ///   - store: the store.
  ///   - kept: how many entries of an environment are kept.
  ///   - log: receives errors.
  ///   - failed: called when a write fails.
  init(store: any DaemonStore, keeping kept: Int, log: Log, failed: @escaping @Sendable () -> Void) {
    self.store = store
    self.kept = kept
    self.log = log
    self.failed = failed
  }

  /// How many entries have been written.
  var written: Int { state.withLock { $0.written } }

  /// Queues entries; doesn't block.
  func add(_ entries: [JournalPage.Entry], of environment: HostedEnvironment) {
    let isFirst = state.withLock { state in
      guard state.count + entries.count <= Self.waitingLimit else {
        state.dropped += entries.count
        return false
      }
      state.waiting.append((environment, entries))
      state.count += entries.count
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { queue.asyncAfter(deadline: .now() + Self.interval) { self.write() } }
  }

  /// Returns once all queued entries are written.
  func flush() { queue.sync { write() } }

  private func write() {
    let (waiting, dropped) = state.withLock { state in
      defer {
        state.waiting = []
        state.count = 0
        state.dropped = 0
        state.isScheduled = false
      }
      return (state.waiting, state.dropped)
    }
    if dropped > 0 {
      log.warning("the store is too slow; journal entries dropped", ["entries": .int(dropped)])
    }
    guard !waiting.isEmpty else { return }
    let encoder = JSONEncoder()
    var entries: [StoredJournalEntry] = []
    var changed: [String: (environment: HostedEnvironment, last: Int)] = [:]
    for (environment, added) in waiting where environment.isStored {
      changed[environment.id] = (environment, added.last?.number ?? 0)
      for entry in added {
        guard let document = try? encoder.encode(entry) else { continue }
        entries.append(StoredJournalEntry(environment: environment.id, number: entry.number, document: document))
      }
    }
    do {
      try store.append(journal: entries)
      // The played interactions are stored together with their entries.
      for (environment, last) in changed.values {
        try environment.saveTraffic()
        if last > kept { try store.trim(journal: environment.id, through: last - kept) }
      }
      state.withLock { $0.written += entries.count }
    } catch {
      failed()
      log.error("cannot store the journal", ["reason": "\(error)"])
    }
  }
}

/// Reads one environment's journal to its last entry, including those written while the environment ends.
///
/// ```swift
/// let follower = try manager.followJournal(id)
/// while let page = try await follower.next(after: last, limit: 100, timeout: .seconds(15)) {
///   …
///   last = page.last
/// }
/// // The environment has ended.
/// ```
package struct JournalFollower: Sendable {
  private let read: @Sendable (Int, Int, Duration) async throws -> JournalPage?

  init(_ read: @escaping @Sendable (_ after: Int, _ limit: Int, _ timeout: Duration) async throws -> JournalPage?) {
    self.read = read
  }

  /// Returns the next entries, at once or as soon as there are some.
  ///
  /// - Parameters:
  ///   - number: the number of the last known entry; 0 for the first call.
  ///   - limit: the maximum number of entries.
  ///   - timeout: how long to wait.
  /// - Returns: an empty page after the timeout; nil if the environment has ended and all entries have been read.
  /// - Throws: `CancellationError`.
  package func next(after number: Int, limit: Int, timeout: Duration) async throws -> JournalPage? {
    try await read(number, limit, timeout)
  }
}

/// A slot among the calls that may wait at a time, occupied while it is retained.
final class WaitingPlace: Sendable {
  private let limit: WaitLimit

  /// - Returns: nil if all slots are occupied.
  init?(_ limit: WaitLimit) {
    guard limit.enter() else { return nil }
    self.limit = limit
  }

  deinit { limit.leave() }
}
