import Basics
import CassetteChecks
import Foundation
import LaunchContract

/// The state that links an environment with its apps: what can change while they run, which apps follow, and who is
/// waiting for what. A plain value, guarded by one lock.
///
/// It calls nothing itself. After each mutation, call ``settle(at:)``, release the lock and then run the actions of
/// ``takeOutbox()``.
struct AppSync: Sendable {
  /// A `GET /state` that waits.
  struct LongPoll: Sendable {
    /// The revision that the client already knows.
    var after: Int
    /// The watch that the client already knows; nil if it ignores watches.
    var watch: Int?
    /// When to answer, even if nothing has happened.
    var until: ContinuousClock.Instant
    /// The app that follows; nil for a client that only reads the state.
    var follower: String?
    /// The connection that the app keeps open between polls; nil if it has not promised to.
    var connection: UInt64?
    /// Resumes the request; nil once it is due, or before the request waits.
    var answer: (@Sendable () -> Void)?
    var hasLeft = false
  }

  /// A change whose caller waits until all apps have applied it.
  struct Change: Sendable {
    enum Stage {
      /// Waiting until this many sleepers are registered; then the clock is moved.
      case sleepers(Int, then: Environment.ClockMove)
      /// The step is made; waiting until these apps have applied it.
      case applying(revision: Int, waitingFor: Set<String>)
      /// The step cannot be made, or an app could not apply it.
      case failed(CodedError)
    }

    var stage: Stage
    var until: ContinuousClock.Instant
    var timeout: Duration
    var moved: Environment.Moved
    var done: @Sendable (Result<Environment.Moved, CodedError>) -> Void
  }

  var state: MutableState
  var followers: [String: Follower] = [:]
  var polls: [Int: LongPoll] = [:]
  /// By number, so in the order in which they were requested.
  var changes: [Int: Change] = [:]
  private(set) var watch: LiveState.Watch?
  private(set) var isOver = false
  /// The change that the watch is for.
  private var watched: Int?
  private var watches = 0
  private var numbers = 0
  private var outbox: [@Sendable () -> Void] = []
  private var alarm: ContinuousClock.Instant?
  /// What the polls were last checked against. Thousands may wait, so an event that concerns one poll does not check
  /// them all.
  private var lastNews: News
  /// Polls to check because of an event of their own.
  private var touched: [Int] = []
  /// No poll times out before this.
  private var earliest: ContinuousClock.Instant?

  private struct News: Equatable {
    var revision: Int
    var watch: Int?
    var isOver: Bool
  }

  /// - Parameters:
  ///   - state: what can change.
  ///   - isRestored: whether apps may know watches from before a restart.
  init(_ state: MutableState, isRestored: Bool = false) {
    self.state = state
    lastNews = News(revision: state.revision, watch: nil, isOver: false)
    // Apps may know watches from before the restart; new ones must not have the same numbers.
    if isRestored { watches = Int(Date().timeIntervalSince1970) }
  }

  mutating func number() -> Int {
    numbers += 1
    return numbers
  }

  /// The environment has ended.
  mutating func end() {
    isOver = true
  }

  /// Marks a poll that has to be checked.
  mutating func touch(_ number: Int) {
    guard let poll = polls[number] else { return }
    touched.append(number)
    earliest = min(earliest ?? poll.until, poll.until)
  }

  /// Adds an action to run after the lock is released.
  mutating func then(_ action: @escaping @Sendable () -> Void) { outbox.append(action) }

  mutating func takeOutbox() -> [@Sendable () -> Void] {
    defer { outbox = [] }
    return outbox
  }

  // MARK: Settling

  /// Makes the moves whose sleepers are registered, and ends the waits that are over.
  mutating func settle(at now: ContinuousClock.Instant) {
    for (name, follower) in followers {
      if let limit = follower.limit, limit <= now { leave(name) }
    }
    settleChanges(at: now)
    settlePolls(at: now)
  }

  /// Checks all polls if something happened that concerns all, else only the marked ones.
  private mutating func settlePolls(at now: ContinuousClock.Instant) {
    let news = News(revision: state.revision, watch: watch?.id, isOver: isOver)
    let isForAll = news != lastNews || earliest.map { $0 <= now } ?? false
    let numbers = isForAll ? Array(polls.keys) : touched
    lastNews = news
    touched = []
    for number in numbers {
      guard let poll = polls[number], let answer = poll.answer, isDue(poll, at: now) else { continue }
      // Resume each poll only once. It stays open until its answer is about to be sent.
      polls[number]?.answer = nil
      then(answer)
    }
    if isForAll { earliest = polls.values.lazy.filter { $0.answer != nil }.map(\.until).min() }
  }

  private mutating func settleChanges(at now: ContinuousClock.Instant) {
    guard !changes.isEmpty || watch != nil else { return }
    for number in changes.keys.sorted() { settle(number, at: now) }
    while let (number, count, move) = nextWatched() {
      if watched != number {
        watched = number
        watches += 1
        watch = LiveState.Watch(id: watches, sleepers: count)
        for name in followers.keys { followers[name]?.sleepers = nil }
      }
      guard followers.values.reduce(0, { $0 + ($1.sleepers ?? 0) }) >= count else { return }
      make(number) { state throws(CodedError) in try state.move(move) }
      settle(number, at: now)
    }
    watched = nil
    watch = nil
  }

  /// The first change that waits for sleepers. Such moves are made in the order in which they were requested.
  private func nextWatched() -> (Int, Int, Environment.ClockMove)? {
    let waiting = changes.compactMap { number, change -> (Int, Int, Environment.ClockMove)? in
      guard case .sleepers(let count, let move) = change.stage else { return nil }
      return (number, count, move)
    }
    return waiting.min { $0.0 < $1.0 }
  }

  private mutating func settle(_ number: Int, at now: ContinuousClock.Instant) {
    guard let change = changes[number] else { return }
    let result: Result<Environment.Moved, CodedError>
    switch change.stage {
    case .applying(_, let waiting) where waiting.isEmpty: result = .success(change.moved)
    case .failed(let error): result = .failure(error)
    case _ where isOver: result = .failure(CodedError(.unanswered, "the environment has ended"))
    case _ where change.until <= now: result = .failure(lateness(of: change))
    default: return
    }
    finish(number, result)
  }

  mutating func finish(_ number: Int, _ result: Result<Environment.Moved, CodedError>) {
    guard let change = changes.removeValue(forKey: number) else { return }
    then { change.done(result) }
  }

  private func isDue(_ poll: LongPoll, at now: ContinuousClock.Instant) -> Bool {
    poll.hasLeft || isOver || poll.until <= now || state.revision > poll.after
      || (poll.watch.map { $0 != watch?.id ?? 0 } ?? false)
  }

  // MARK: Time

  /// When ``settle(at:)`` must be called next; nil if an alarm is already set for then or earlier.
  mutating func takeAlarm() -> ContinuousClock.Instant? {
    var next = earliest
    for change in changes.values {
      next = min(next ?? change.until, change.until)
      guard case .applying(_, let waiting) = change.stage else { continue }
      for name in waiting {
        if let limit = followers[name]?.limit { next = min(next ?? limit, limit) }
      }
    }
    guard let next, alarm.map({ next < $0 }) ?? true else { return nil }
    alarm = next
    return next
  }

  /// The alarm for this time has fired.
  mutating func rang(_ time: ContinuousClock.Instant) {
    if alarm == time { alarm = nil }
  }
}
