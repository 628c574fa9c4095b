import ControlAPI
import Dispatch
import Foundation
import HTTPMessages

/// Carries journal entries to the store, in batches: what a kill loses is a tenth of a second of them at most.
final class JournalWriter: Sendable {
  /// Entries that wait; more are dropped, since the store must hold up nobody.
  private static let waitingLimit = 200_000
  /// Half of what is promised: a batch takes its time, too.
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
  ///   - store: where they go.
  ///   - kept: how many entries of an environment stay there.
  ///   - log: is told what could not be written.
  ///   - failed: called when the store refuses something.
  init(store: any DaemonStore, keeping kept: Int, log: Log, failed: @escaping @Sendable () -> Void) {
    self.store = store
    self.kept = kept
    self.log = log
    self.failed = failed
  }

  /// How many entries have been written.
  var written: Int { state.withLock { $0.written } }

  /// Takes new entries; returns at once.
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

  /// Returns once all that was added before is written.
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
      log.warning("the store is too slow for the journal, entries are not kept", ["entries": .int(dropped)])
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
      // Which interactions were played goes with what was asked.
      for (environment, last) in changed.values {
        try environment.saveTraffic()
        if last > kept { try store.trim(journal: environment.id, through: last - kept) }
      }
      state.withLock { $0.written += entries.count }
    } catch {
      failed()
      log.error("the journal could not be stored", ["reason": "\(error)"])
    }
  }
}
