package import ControlAPI
import EnvironmentService
import Foundation

extension Host {
  /// Journal entries after a number, in order.
  ///
  /// - Parameters:
  ///   - id: which environment.
  ///   - after: 0 from the first on.
  ///   - limit: the most entries of the answer.
  /// - Returns: what there is; the oldest may be gone.
  /// - Throws: a ``DaemonError``: 404 for one that never was, 410 for one that has ended.
  package func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage {
    let environment = try running(try hosted(id).hosted)
    let page = environment.journalPage(after: after, limit: limit)
    // What the environment does not have in memory any more, or was before a restart, the store has.
    let first = page.entries.first?.number ?? environment.lastJournalNumber + 1
    guard first > after + 1 else { return page }
    let older = stored(id, after: after, before: first, limit: min(limit, first - after - 1))
    guard !older.isEmpty else { return page }
    let entries = Array((older + page.entries).prefix(limit))
    let last = entries.last?.number ?? after
    return JournalPage(entries: entries, last: last, more: environment.lastJournalNumber > last)
  }

  private func stored(_ id: String, after: Int, before first: Int, limit: Int) -> [JournalPage.Entry] {
    do throws(StoreError) {
      return try store.journal(of: id, after: after, limit: limit)
        .compactMap { try? JSONDecoder().decode(JournalPage.Entry.self, from: $0.document) }
        .filter { $0.number < first }
    } catch {
      tally.change { $0.storeFailures += 1 }
      log.error("a journal could not be read", ["environment": "\(id)", "reason": "\(error)"])
      return []
    }
  }

  /// The same, but waits for an entry where there is none yet.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - after: the number of the last entry that is known.
  ///   - limit: the most entries in the answer.
  ///   - timeout: how long it may wait.
  /// - Returns: an empty page when the time is over; entries else.
  /// - Throws: a ``DaemonError``: 404 and 410 as ``environment(_:)``, 410 also when it ends meanwhile and has nothing
  ///   more to tell; 429 when too many wait.
  package func waitForJournal(
    _ id: String, after: Int, limit: Int, timeout: Duration
  ) async throws(DaemonError) -> JournalPage {
    let page = try journal(id, after: after, limit: limit)
    guard page.entries.isEmpty else { return page }
    let environment = try ready(id)
    try await waiting { () async throws(DaemonError) in
      do {
        try await environment.waitForJournal(after: after, until: .now + timeout)
      } catch {
        throw DaemonError(409, "The wait was cancelled", "\(error)")
      }
    }
    return try journal(id, after: after, limit: limit)
  }
}
