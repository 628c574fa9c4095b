import Basics
import Transforms
package import ControlAPI
import HTTPMessages
import LaunchContract

extension Environment {
  /// Entries of the journal in order, those that are still in memory: the last 10,000, as far as their texts take no
  /// more than 4 MiB.
  ///
  /// - Parameters:
  ///   - number: of the last entry that is known already.
  ///   - limit: the most entries in the answer.
  /// - Returns: the entries after it; the first of them may have a higher number, where those between are no longer
  ///   in memory.
  package func journalPage(after number: Int, limit: Int) -> JournalPage {
    let entries = entries(after: number, limit: max(1, limit))
    let last = entries.last?.number ?? number
    return JournalPage(entries: entries, last: last, more: lastJournalNumber > last)
  }

  /// The number of the last entry; 0 before the first.
  package var lastJournalNumber: Int { state.withLock { $0.journal.last } }

  /// Whether all is in the journal that ever will be. An environment that is ending may still have something to say.
  package var isJournalComplete: Bool { news.isOver }

  /// Returns when there is an entry after one, when the time has come, or when the journal is complete.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  package func waitForJournal(after number: Int, until deadline: ContinuousClock.Instant) async throws {
    try await news.wait(after: number, until: deadline, self)
  }

  func entries(after number: Int, limit: Int) -> [JournalPage.Entry] {
    let (entries, redactor) = state.withLock { ($0.journal.entries(after: number, limit: limit), $0.redactor) }
    return entries.map { $0.spelledOut(replay, redactor) }
  }

  /// Writes the journal, and tells those who want to know.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - status: what was answered.
  ///   - method: of the request.
  ///   - url: of the request.
  ///   - text: more about it.
  ///   - unmatched: what the report says of a request that nothing answered.
  func note(
    _ kind: Journal.Kind, status: Int, method: String, url: String, text: String? = nil,
    unmatched: Report.Unmatched? = nil
  ) {
    state.withLock { state in
      state.note(kind, status: status, method: method, url: url, text: text, replay: replay)
      if let unmatched { state.addUnmatched(unmatched) }
    }
    news.added(self)
  }
}

extension Environment.State {
  /// Unmatched requests that the report describes, and the bytes of their texts; the counters are exact whatever their
  /// number.
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

  mutating func note(
    _ kind: Journal.Kind, status: Int, method: String, url: String, text: String? = nil, replay: Replay?
  ) {
    let entry = journal.add(
      kind, status: status,
      detail: .init(method: redactor.redact(method), url: redactor.redactURL(url), text: text.map(redactor.redact)))
    journalFile?.write(entry.spelledOut(replay, redactor), isUrgent: true)
  }
}
