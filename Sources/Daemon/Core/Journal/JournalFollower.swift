package import ControlAPI
import EnvironmentService

/// A reader of one environment's journal, who gets every entry to the last, also those that are written while the
/// environment ends.
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

  /// The entries after a number, at once or as soon as there are some.
  ///
  /// - Parameters:
  ///   - number: of the last entry that is known; 0 for none.
  ///   - limit: the most entries in the answer.
  ///   - timeout: how long it may wait.
  /// - Returns: an empty page when the time is over; nil when the environment has ended and all is told.
  /// - Throws: `CancellationError`.
  package func next(after number: Int, limit: Int, timeout: Duration) async throws -> JournalPage? {
    try await read(number, limit, timeout)
  }
}

/// One of those who may wait at one time, as long as it is held.
final class WaitingPlace: Sendable {
  private let limit: WaitLimit

  /// - Returns: nil where too many wait already.
  init?(_ limit: WaitLimit) {
    guard limit.enter() else { return nil }
    self.limit = limit
  }

  deinit { limit.leave() }
}
