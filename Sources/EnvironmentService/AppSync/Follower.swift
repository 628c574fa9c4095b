/// An app that follows its environment, as the environment sees it.
///
/// It is there while a poll of it waits for an answer. Between two polls it is away, for half a minute at most;
/// whoever closes the connection of its poll has left. One that keeps its connection between polls, and says
/// so, is there until that is closed, however long it takes for the next: on a busy machine an answer may need its
/// time, too.
struct Follower: Sendable {
  /// How long one that keeps no connection may be away.
  static let patience = Duration.seconds(30)

  /// What it has applied.
  var revision: Int
  /// How many sleepers it has, by its answer to the watch in force.
  var sleepers: Int?
  /// The one that it keeps.
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

  /// A poll of it has been answered: the answer is on its way.
  mutating func isAnswered(at now: ContinuousClock.Instant) {
    polls -= 1
    if polls == 0 { awaySince = now }
  }

  /// The connection of a poll is closed.
  ///
  /// - Returns: whether that was the last one.
  mutating func hangsUp() -> Bool {
    polls -= 1
    return polls == 0
  }

  /// When it is given up, unless it comes back.
  var limit: ContinuousClock.Instant? { connection == nil ? awaySince.map { $0 + Self.patience } : nil }
}
