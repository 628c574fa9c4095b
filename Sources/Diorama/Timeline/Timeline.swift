package import Foundation

/// One environment's time: wall time, monotonic time, zone and locale, and all who wait for it.
///
/// The app's ``DioramaClock`` and the environment itself use the same, so that both show the same. All state is under
/// one lock, but for what the wall clock is read from; nobody is called under it. Whoever is woken is woken in the
/// order of (deadline, registration), also where several threads move the time at once: what one operation leaves to
/// be done goes through one queue.
package final class Timeline: Sendable {
  /// All that changes, under one lock.
  struct Inside {
    var time: TimelineState
    /// Nil for the machine's.
    var timeZone: TimeZone?
    /// Nil for the machine's.
    var locale: Locale?
    var sleepers = SleeperQueue()
    var waiters: [SleeperWaiter] = []
    /// Why no hand will move the time any more.
    var failure: DioramaError?
    /// How many sleeps there have been.
    var registrations: UInt64 = 0
    var wakeUp: (any WakeUp)?
    /// The real time for which the wake-up is set.
    var wakeUpTime: Int64?
    /// What is to be done after the lock, in order.
    var outbox: [@Sendable () -> Void] = []
    /// To be done after the wakes of the step under way.
    var afterWakes: (@Sendable () -> Void)?
    /// Whether some thread is at the outbox.
    var isDelivering = false
  }

  let real: RealTime
  private let inside: Locked<Inside>
  private let wall: PublishedWallLine

  init(
    pace: Pace, start: Date, age: Int64 = 0, timeZone: TimeZone? = nil, locale: Locale? = nil,
    real source: (any RealTimeSource)? = nil
  ) {
    let real = RealTime(source: source)
    let time = TimelineState(pace: pace, start: start, at: real.moment, age: age)
    self.real = real
    inside = Locked(Inside(time: time, timeZone: timeZone, locale: locale))
    wall = PublishedWallLine(time.wall)
  }

  deinit {
    inside.withLock { $0.wakeUp }?.cancel()
  }

  // MARK: Reading

  /// Wall time.
  @inline(__always)
  package var now: Date {
    // The hot path. In one piece and with no call but those to the machine's clocks, it does without a reference count,
    // which costs as much as all the rest.
    guard let line = wall.read(), real.source == nil else { return slowNow }
    return line.date(nanoseconds: RealTime.machineNanoseconds, machine: Date())
  }

  /// A writer that lost its processor between two words is not waited for: under the lock it is all there as well.
  @inline(never)
  private var slowNow: Date {
    let line = inside.withLock { $0.time.wall }
    return line.date(nanoseconds: real.nanoseconds, machine: real.date)
  }

  /// Monotonic time since counting began.
  package var uptime: Duration {
    inside.withLock { $0.time.uptime(at: real.moment) }
  }

  /// How many sleeps, timers and deadlines wait.
  package var sleeperCount: Int {
    inside.withLock { $0.sleepers.count }
  }

  /// Whether it is the machine's time, which nobody moves.
  var isSystem: Bool { inside.withLock { $0.time.pace == .system } }

  /// The zone in force.
  package var timeZone: TimeZone { inside.withLock { $0.timeZone } ?? .current }

  /// The region and language in force.
  package var locale: Locale { inside.withLock { $0.locale } ?? .current }

  // MARK: Changing

  /// Does the body under the lock; wakes those whose deadline has come by it; then, after the lock, does what there is
  /// to do.
  ///
  /// - Returns: what the body returns, and how many were woken.
  @discardableResult
  func update<Result, Failure: Error>(
    _ body: (inout Inside, Moment) throws(Failure) -> Result
  ) throws(Failure) -> (result: Result, woken: Int) {
    let (result, woken, delivers) = try inside.withLock {
      (inside: inout Inside) throws(Failure) -> (Result, Int, Bool) in
      let moment = real.moment
      let result = try body(&inside, moment)
      let woken = inside.settle(at: moment)
      setWakeUp(&inside, at: moment)
      let delivers = !inside.isDelivering && !inside.outbox.isEmpty
      if delivers { inside.isDelivering = true }
      return (result, woken, delivers)
    }
    if delivers { deliver() }
    return (result, woken)
  }

  /// Shows the readers without the lock what the time has become.
  func publish(_ inside: Inside) {
    wall.publish(inside.time.wall)
  }

  private func deliver() {
    while true {
      let actions = inside.withLock { inside in
        defer { inside.outbox = [] }
        inside.isDelivering = !inside.outbox.isEmpty
        return inside.outbox
      }
      if actions.isEmpty { return }
      for action in actions { action() }
    }
  }

  /// Sets the wake-up where the next deadline is before what it is set for; one that comes in vain does no harm.
  private func setWakeUp(_ inside: inout Inside, at moment: Moment) {
    let waits = inside.sleepers.firsts.compactMap { [time = inside.time] sleeper in
      time.realWait(for: sleeper.scale, until: sleeper.deadline, at: moment)
    }
    guard let wait = waits.min() else { return }
    let time = moment.nanoseconds + wait
    if let set = inside.wakeUpTime, set <= time { return }
    let wakeUp = inside.wakeUp ?? real.wakeUp { [weak self] in self?.wokenUp() }
    inside.wakeUp = wakeUp
    inside.wakeUpTime = time
    wakeUp.set(after: wait)
  }

  private func wokenUp() {
    update { inside, _ in inside.wakeUpTime = nil }
  }
}

extension Timeline.Inside {
  /// Ends what the time and the sleepers there are now put an end to.
  ///
  /// - Returns: how many sleepers were woken.
  mutating func settle(at moment: Moment) -> Int {
    let due = sleepers.takeDue(time, at: moment)
    for sleeper in due { then(sleeper.ending.end(.success(()))) }
    then(afterWakes.take())
    if let failure {
      for scale in [Sleeper.Scale.uptime, .wall] where time.isMovedByHandOnly(scale) {
        for sleeper in sleepers.removeAll(of: scale) { then(sleeper.ending.end(.failure(failure))) }
      }
    }
    if !waiters.isEmpty {
      let met = waiters.filter { $0.isMet(self) }
      waiters.removeAll { waiter in met.contains { $0 === waiter } }
      for waiter in met { then(waiter.ending.end(.success(()))) }
    }
    return due.count
  }

  /// Leaves something to be done after the lock.
  mutating func then(_ action: (@Sendable () -> Void)?) {
    if let action { outbox.append(action) }
  }
}
