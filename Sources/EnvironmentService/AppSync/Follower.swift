/// An app that follows its environment.
///
/// An app is present while one of its polls waits for an answer. Between two polls it may be away for 30 seconds; an
/// app that closes its poll's connection has left. An app that promises to keep its connection between polls is present
/// until the connection is closed, because on a busy machine the next poll may take longer.
struct Follower: Sendable {
  /// How long an app that keeps no connection may be away.
  static let patience = Duration.seconds(30)

  /// The last revision that it has applied.
  var revision: Int
  /// How many sleepers it has, as it reported for the current watch.
  var sleepers: Int?
  /// The connection that it keeps between polls.
  private(set) var connection: UInt64?
  private var polls = 0
  private var awaySince: ContinuousClock.Instant?

  init(revision: Int) {
    self.revision = revision
  }

  mutating func asks(on connection: UInt64?) {
    self.connection = connection
    polls += 1
    awaySince = nil
  }

  /// A poll is about to be answered.
  mutating func isAnswered(at now: ContinuousClock.Instant) {
    polls -= 1
    if polls == 0 { awaySince = now }
  }

  /// A poll's connection was closed.
  ///
  /// - Returns: whether that was its last poll.
  mutating func hangsUp() -> Bool {
    polls -= 1
    return polls == 0
  }

  /// When the app counts as gone unless it polls again.
  var limit: ContinuousClock.Instant? { connection == nil ? awaySince.map { $0 + Self.patience } : nil }
}
