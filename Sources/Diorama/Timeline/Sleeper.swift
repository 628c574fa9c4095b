import Foundation

/// The end of a wait, for one receiver, which may register before or after the end.
///
/// It is used under a lock and calls nothing: each step returns a function to call after the lock.
struct Completion {
  typealias Outcome = Result<Void, any Error>
  typealias Receiver = @Sendable (Outcome) -> Void

  private(set) var outcome: Outcome?
  private var receiver: Receiver?

  /// Registers the receiver.
  mutating func receive(_ receiver: @escaping Receiver) -> (@Sendable () -> Void)? {
    guard let outcome else {
      self.receiver = receiver
      return nil
    }
    return { receiver(outcome) }
  }

  /// Ends the wait. Only the first call has an effect.
  mutating func end(_ outcome: Outcome) -> (@Sendable () -> Void)? {
    guard self.outcome == nil else { return nil }
    self.outcome = outcome
    guard let receiver = receiver.take() else { return nil }
    return { receiver(outcome) }
  }
}

/// A sleep, timer tick or deadline that waits for a timeline. The timeline's lock guards all of its state.
final class Sleeper: @unchecked Sendable {
  /// The end of the wait.
  enum Alarm: Sendable {
    /// A duration of monotonic time after the registration.
    case after(Duration)
    /// Monotonic time since the timeline's start.
    case uptime(Duration)
    /// Wall time.
    case wall(Date)
  }

  /// The time that a deadline is measured in.
  enum Scale: Sendable {
    case uptime, wall
  }

  let alarm: Alarm
  var ending = Completion()
  /// In its scale: since the timeline's start, or since the reference date. Set by the registration.
  var deadline = Duration.zero
  /// The ordinal of the registration; nil before it.
  var registration: UInt64?
  /// Its index in the heap; nil outside the heap.
  var position: Int?

  init(_ alarm: Alarm) {
    self.alarm = alarm
  }

  var scale: Scale {
    if case .wall = alarm { .wall } else { .uptime }
  }

  /// Whether it wakes before another of the same scale.
  func isBefore(_ other: Sleeper) -> Bool {
    (deadline, registration ?? 0) < (other.deadline, other.registration ?? 0)
  }
}

/// The sleepers of a timeline, for monotonic time and for wall time.
///
/// A move changes both times by the same amount. So sleepers of both scales have one order: by the time to their
/// deadlines, then by registration.
struct SleeperQueue {
  private var uptime = SleeperHeap()
  private var wall = SleeperHeap()

  var count: Int { uptime.count + wall.count }

  mutating func insert(_ sleeper: Sleeper) {
    switch sleeper.scale {
    case .uptime: uptime.insert(sleeper)
    case .wall: wall.insert(sleeper)
    }
  }

  mutating func remove(_ sleeper: Sleeper) {
    switch sleeper.scale {
    case .uptime: uptime.remove(sleeper)
    case .wall: wall.remove(sleeper)
    }
  }

  /// Removes those of a scale, in order.
  mutating func removeAll(of scale: Sleeper.Scale) -> [Sleeper] {
    switch scale {
    case .uptime: uptime.removeAll()
    case .wall: wall.removeAll()
    }
  }

  /// The first sleeper of each scale.
  var firsts: [Sleeper] { [uptime.first, wall.first].compactMap { $0 } }

  /// The next sleeper to wake, and the time until then.
  func next(_ time: TimelineState, at moment: Moment) -> (sleeper: Sleeper, remaining: Duration)? {
    firsts.map { sleeper in
      let remaining = sleeper.deadline - time.reading(of: sleeper.scale, at: moment)
      guard sleeper.scale == .wall else { return (sleeper, remaining) }
      // Rounded like the moves, so that deadlines of both scales can coincide.
      let microseconds = (remaining / .microseconds(1)).rounded()
      return (sleeper, abs(microseconds) < 9e18 ? .microseconds(Int64(microseconds)) : remaining)
    }.min { one, other in
      (one.remaining, one.sleeper.registration ?? 0) < (other.remaining, other.sleeper.registration ?? 0)
    }
  }

  /// Removes the sleepers whose deadlines have passed, in order.
  mutating func takeDue(_ time: TimelineState, at moment: Moment) -> [Sleeper] {
    guard count > 0 else { return [] }
    var due: [Sleeper] = []
    let readings = (
      uptime: time.reading(of: .uptime, at: moment), wall: time.reading(of: .wall, at: moment)
    )
    let isDue = { (sleeper: Sleeper) in
      sleeper.deadline <= (sleeper.scale == .uptime ? readings.uptime : readings.wall)
    }
    while true {
      // Nearly always the due sleepers have one scale, whose own order is enough.
      let candidates = firsts.filter(isDue)
      let next = candidates.count < 2 ? candidates.first : self.next(time, at: moment)?.sleeper
      guard let next else { return due }
      remove(next)
      due.append(next)
    }
  }
}

/// The sleepers of one scale: a binary heap, from which any sleeper can be removed.
struct SleeperHeap {
  private var sleepers: [Sleeper] = []

  var count: Int { sleepers.count }
  var first: Sleeper? { sleepers.first }

  mutating func insert(_ sleeper: Sleeper) {
    sleepers.append(sleeper)
    place(sleeper, at: sleepers.count - 1)
    rise(from: sleepers.count - 1)
  }

  /// Removes a sleeper, if it is in the heap.
  mutating func remove(_ sleeper: Sleeper) {
    guard let position = sleeper.position else { return }
    sleeper.position = nil
    let last = sleepers.removeLast()
    guard last !== sleeper else { return }
    place(last, at: position)
    rise(from: position)
    sink(from: position)
  }

  /// Removes all, in order.
  mutating func removeAll() -> [Sleeper] {
    let all = sleepers.sorted { $0.isBefore($1) }
    sleepers = []
    for sleeper in all { sleeper.position = nil }
    return all
  }

  private mutating func place(_ sleeper: Sleeper, at position: Int) {
    sleepers[position] = sleeper
    sleeper.position = position
  }

  private mutating func rise(from start: Int) {
    var position = start
    while position > 0 {
      let parent = (position - 1) / 2
      guard sleepers[position].isBefore(sleepers[parent]) else { return }
      swap(position, parent)
      position = parent
    }
  }

  private mutating func sink(from start: Int) {
    var position = start
    while true {
      var first = position
      for child in [2 * position + 1, 2 * position + 2] where child < sleepers.count {
        if sleepers[child].isBefore(sleepers[first]) { first = child }
      }
      guard first != position else { return }
      swap(position, first)
      position = first
    }
  }

  private mutating func swap(_ one: Int, _ other: Int) {
    sleepers.swapAt(one, other)
    sleepers[one].position = one
    sleepers[other].position = other
  }
}
