package import ControlAPI
import EnvironmentService
import Foundation

extension EnvironmentManager {
  /// Journal entries after a number, in order.
  ///
  /// - Parameters:
  ///   - id: which environment.
  ///   - after: 0 from the first on.
  ///   - limit: the most entries of the answer.
  /// - Returns: what there is; the oldest may be gone.
  /// - Throws: a ``DaemonError``: 404 for one that never was, 410 for one that has ended.
  package func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage {
    page(of: try running(try hosted(id).hosted), after: after, limit: limit)
  }

  /// Follows a journal to its end, which is that of the environment.
  ///
  /// - Parameter id: the environment.
  /// - Returns: what reads on; it counts as somebody who waits as long as it is held.
  /// - Throws: a ``DaemonError``: 404 and 410 as ``environment(_:)``, 429 when too many wait.
  package func followJournal(_ id: String) throws(DaemonError) -> JournalFollower {
    let environment = try running(try hosted(id).hosted)
    guard let place = WaitingPlace(waits) else { throw tooManyWait }
    return JournalFollower { [self] after, limit, timeout in
      defer { withExtendedLifetime(place) {} }
      var hasWaited = false
      while true {
        // Looked at first: what is written between the two is found by the second.
        let isComplete = environment.isJournalComplete
        let page = page(of: environment, after: after, limit: limit)
        guard page.entries.isEmpty else { return page }
        if isComplete { return nil }
        if hasWaited { return page }
        try await environment.waitForJournal(after: after, until: .now + timeout)
        hasWaited = true
      }
    }
  }

  private func page(of environment: Environment, after: Int, limit: Int) -> JournalPage {
    let page = environment.journalPage(after: after, limit: limit)
    // What the environment does not have in memory any more, or was before a restart, the store has.
    let first = page.entries.first?.number ?? environment.lastJournalNumber + 1
    guard first > after + 1 else { return page }
    let older = stored(environment.id, after: after, before: first, limit: min(limit, first - after - 1))
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
}
