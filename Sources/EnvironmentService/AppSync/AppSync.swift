import Basics
import CassetteChecks
import Foundation
import LaunchContract

/// The live link's state in an environment: the environment that changes, the apps that follow, and all who wait for one
/// another. Plain state, for one lock.
///
/// Nobody is called from here. Whoever has told it something calls ``settle(at:)`` and then, after the lock, does what
/// is in the outbox.
struct AppSync: Sendable {
  /// A `GET /state` that waits.
  struct LongPoll: Sendable {
    /// The revision that is known already.
    var after: Int
    /// The watch that is known already; nil for who does not care.
    var watch: Int?
    /// When it is answered whatever has happened.
    var until: ContinuousClock.Instant
    /// The app that asks; nil for who only looks.
    var follower: String?
    /// What the app asks on and keeps open as long as it is there; nil where it does not say so.
    var connection: UInt64?
    /// Set while it has to wait.
    var answer: (@Sendable () -> Void)?
    var hasLeft = false
  }

  /// A change that somebody waits for.
  struct Change: Sendable {
    enum Stage {
      /// Until there are so many sleepers; then the move is made.
      case sleepers(Int, then: Environment.ClockMove)
      /// The step is made; until these have applied it.
      case applying(revision: Int, waitingFor: Set<String>)
      /// It cannot be made, or an app could not apply it.
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
  /// By number: in the order in which they were asked for.
  var changes: [Int: Change] = [:]
  private(set) var watch: LiveState.Watch?
  private(set) var isOver = false
  /// The change that the watch is for.
  private var watched: Int?
  private var watches = 0
  private var numbers = 0
  private var outbox: [@Sendable () -> Void] = []
  private var alarm: ContinuousClock.Instant?
  /// What the polls have been looked at for: a thousand may wait, and each event is looked at for all only if it
  /// concerns all.
  private var told: News
  /// Questions to be looked at for what has happened to themselves.
  private var touched: [Int] = []
  /// Before this no poll's time is over.
  private var earliest: ContinuousClock.Instant?

  private struct News: Equatable {
    var revision: Int
    var watch: Int?
    var isOver: Bool
  }

  /// - Parameters:
  ///   - state: what can change.
  ///   - isRestored: whether apps may know of an earlier life.
  init(_ state: MutableState, isRestored: Bool = false) {
    self.state = state
    told = News(revision: state.revision, watch: nil, isOver: false)
    // Watches that apps know from an earlier life are none of ours.
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

  /// Something has happened to a poll.
  mutating func touch(_ number: Int) {
    guard let poll = polls[number] else { return }
    touched.append(number)
    earliest = min(earliest ?? poll.until, poll.until)
  }

  /// Leaves something to be done after the lock.
  mutating func then(_ action: @escaping @Sendable () -> Void) { outbox.append(action) }

  mutating func takeOutbox() -> [@Sendable () -> Void] {
    defer { outbox = [] }
    return outbox
  }

  // MARK: What follows from what has happened

  /// Makes the moves whose sleepers are there, ends the waits that are over.
  mutating func settle(at now: ContinuousClock.Instant) {
    for (name, follower) in followers {
      if let limit = follower.limit, limit <= now { leave(name) }
    }
    settleChanges(at: now)
    settlePolls(at: now)
  }

  /// All of them where there is news for all; else those that something has happened to.
  private mutating func settlePolls(at now: ContinuousClock.Instant) {
    let news = News(revision: state.revision, watch: watch?.id, isOver: isOver)
    let isForAll = news != told || earliest.map { $0 <= now } ?? false
    let numbers = isForAll ? Array(polls.keys) : touched
    told = news
    touched = []
    for number in numbers {
      guard let poll = polls[number], let answer = poll.answer, isDue(poll, at: now) else { continue }
      // Nobody is to be told twice. The poll stays open until its answer is on its way.
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

  /// The first of those that wait for sleepers: moves are made in the order in which they were asked for.
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

  /// When ``settle(at:)`` is to be called next, if nothing is set for then or before.
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

  /// The time has come for which an alarm was set.
  mutating func rang(_ time: ContinuousClock.Instant) {
    if alarm == time { alarm = nil }
  }
}
