import Basics
import Transforms
package import ControlAPI
import HTTPMessages
import LaunchContract

extension Environment {
  /// Reads journal entries in order. The last 10,000 are kept in memory, as long as their texts take at most 4 MiB.
  ///
  /// - Parameters:
  ///   - number: the number of the last known entry.
  ///   - limit: the maximum number of entries to return.
  /// - Returns: the entries after `number`. The first one may have a higher number than expected if those between are
  ///   no longer in memory.
  package func journalPage(after number: Int, limit: Int) -> JournalPage {
    let entries = entries(after: number, limit: max(1, limit))
    let last = entries.last?.number ?? number
    return JournalPage(entries: entries, last: last, more: lastJournalNumber > last)
  }

  /// The number of the last entry; 0 before the first.
  package var lastJournalNumber: Int { state.withLock { $0.journal.last } }

  /// Whether the journal will get no more entries. An environment that is ending may still add some.
  package var isJournalComplete: Bool { news.isOver }

  /// Returns when there is an entry after `number`, at the deadline, or when the journal is complete.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  package func waitForJournal(after number: Int, until deadline: ContinuousClock.Instant) async throws {
    try await news.wait(after: number, until: deadline, self)
  }

  func entries(after number: Int, limit: Int) -> [JournalPage.Entry] {
    let (entries, redactor) = state.withLock { ($0.journal.entries(after: number, limit: limit), $0.redactor) }
    return entries.map { $0.spelledOut(replay, redactor) }
  }

  /// Adds a journal entry and notifies those who wait for one.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - status: the response's status.
  ///   - method: the request's method.
  ///   - url: the request's URL.
  ///   - text: more details.
  ///   - unmatched: the report's entry for a request that nothing answered.
  ///   - isLost: whether the response did not arrive completely, because the upstream failed or, if the kind is `left`,
  ///     because the app disconnected.
  func note(
    _ kind: Journal.Kind, status: Int, method: String, url: String, text: String? = nil,
    unmatched: Report.Unmatched? = nil, isLost: Bool = false
  ) {
    var detail = Journal.Detail(method: method, url: url, text: text)
    // Before the lock is taken: patterns may take their time. Most other entries are never read.
    if specification.journalFile != nil || isLost { detail = detail.redacted(by: redactor) }
    state.withLock { state in
      state.note(kind, status: status, detail, replay: replay)
      if let unmatched { state.addUnmatched(unmatched) }
      if isLost { state.addLost(kind, detail) }
    }
    news.added(self)
  }
}

extension Environment.State {
  /// How many unmatched requests the report describes, and the total size of their texts in bytes. The counters include
  /// all.
  static let unmatchedLimit = 1000
  static let unmatchedTextLimit = 1 << 20

  mutating func addUnmatched(_ unmatched: Report.Unmatched) {
    let redacted = unmatched.redacted(redactor)
    guard self.unmatched.count < Self.unmatchedLimit, unmatchedSize + redacted.size <= Self.unmatchedTextLimit else {
      return
    }
    unmatchedSize += redacted.size
    self.unmatched.append(redacted)
  }

  mutating func addLost(_ kind: Journal.Kind, _ detail: Journal.Detail) {
    let list = kind == .left ? \Self.brokenOff : \Self.upstreamFailures
    let failure = Report.FailedRequest(
      method: String(detail.method.prefix(100)), url: String(detail.url.prefix(2000)),
      cause: String((detail.text ?? "no response").prefix(1000)))
    let known = self[keyPath: list].firstIndex {
      $0.method == failure.method && $0.url == failure.url && $0.cause == failure.cause
    }
    if let known {
      self[keyPath: list][known].count += 1
    } else if self[keyPath: list].count < 100 {
      self[keyPath: list].append(failure)
    }
  }

  mutating func note(_ kind: Journal.Kind, status: Int, _ detail: Journal.Detail, replay: Replay?) {
    let entry = journal.add(kind, status: status, detail: detail, isOfSetup: ClientMark.isOfSetup)
    journalFile?.write(entry.spelledOut(replay, redactor, sent: JournaledRequest.current), isUrgent: true)
  }
}
