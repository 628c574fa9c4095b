import Basics
package import Foundation
package import LaunchContract

/// An environment's time: wall time, monotonic time, time zone, locale, and everything that waits for it.
///
/// The app's ``DioramaClock`` and the environment both use it, and so agree. One lock guards all state except the wall
/// time for readers, and nothing is called under it. Sleepers wake in the order of deadline and registration, even if
/// several threads move the time: the actions of all operations go through one queue.
package final class Timeline: Sendable {
  /// The state guarded by the lock.
  struct Inside {
    var time: TimelineState
    /// Nil for the machine's.
    var timeZone: TimeZone?
    /// Nil for the machine's.
    var locale: Locale?
    var sleepers = SleeperQueue()
    var waiters: [SleeperWaiter] = []
    /// The error that the timeline failed with. No moves follow it.
    var failure: DioramaError?
    /// The number of sleeps so far.
    var registrations: UInt64 = 0
    var wakeUp: (any WakeUp)?
    /// The real time that the wake-up is set for.
    var wakeUpTime: Int64?
    /// Actions to perform after the lock, in order.
    var outbox: [@Sendable () -> Void] = []
    /// An action to perform after the current step has woken its sleepers.
    var afterWakes: (@Sendable () -> Void)?
    /// Whether a thread is performing the actions of the outbox.
    var isDelivering = false
  }

  let real: RealTime
  private let inside: Guarded<Inside>
  private let wall: PublishedWallLine

  init(
    pace: Pace, start: Date, age: Int64 = 0, timeZone: TimeZone? = nil, locale: Locale? = nil,
    real source: (any RealTimeSource)? = nil
  ) {
    let real = RealTime(source: source)
    let time = TimelineState(pace: pace, start: start, at: real.moment, age: age)
    self.real = real
    inside = Guarded(Inside(time: time, timeZone: timeZone, locale: locale))
    wall = PublishedWallLine(time.wall)
  }

  deinit {
    inside.withLock { $0.wakeUp }?.cancel()
  }

  // MARK: Reading

  /// Wall time.
  @inline(__always)
  package var now: Date {
    // The hot path. It only calls the machine's clocks and needs no reference counting, which would double its cost.
    guard let line = wall.read(), real.source == nil else { return slowNow }
    return line.date(nanoseconds: RealTime.machineNanoseconds, machine: Date())
  }

  /// Reads under the lock, for a test's clock or while a writer is preempted in the middle of an update.
  @inline(never)
  private var slowNow: Date {
    let line = inside.withLock { $0.time.wall }
    return line.date(nanoseconds: real.nanoseconds, machine: real.date)
  }

  /// Monotonic time since the timeline's start.
  package var uptime: Duration {
    inside.withLock { $0.time.uptime(at: real.moment) }
  }

  /// The number of sleeps, timers and deadlines that wait.
  package var sleeperCount: Int {
    inside.withLock { $0.sleepers.count }
  }

  /// Whether this is the machine's time, which cannot be moved.
  var isSystem: Bool { inside.withLock { $0.time.pace == .system } }

  /// The current time zone.
  package var timeZone: TimeZone { inside.withLock { $0.timeZone } ?? .current }

  /// The current region and language.
  package var locale: Locale { inside.withLock { $0.locale } ?? .current }

  // MARK: Changing

  /// Runs the body under the lock, wakes the sleepers that are due, and performs the actions after the lock.
  ///
  /// - Returns: the result of the body, and the number of sleepers woken.
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

  /// Publishes the wall time for readers without the lock.
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

  /// Sets the wake-up if the next deadline is earlier than the current setting. A superfluous wake-up is harmless.
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
  /// Ends the sleeps and waits that are due.
  ///
  /// - Returns: the number of sleepers woken.
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

  /// Adds an action to perform after the lock.
  mutating func then(_ action: (@Sendable () -> Void)?) {
    if let action { outbox.append(action) }
  }
}

extension Timeline {
  /// Advances both times in one jump.
  ///
  /// - Parameter duration: zero or more of the timeline's time.
  /// - Returns: the number of sleepers woken.
  /// - Throws: ``DioramaError`` for a system clock or a negative duration.
  @discardableResult
  package func advance(by duration: Duration) throws(DioramaError) -> Int {
    try update { (inside, moment) throws(DioramaError) in
      try inside.time.advance(by: duration, at: moment)
      publish(inside)
    }.woken
  }

  /// Sets wall time. Monotonic time advances by the same amount, but never goes back.
  ///
  /// - Returns: the number of sleepers woken.
  /// - Throws: ``DioramaError`` for a system clock, or outside the years 0 to 9999.
  @discardableResult
  package func set(to date: Date) throws(DioramaError) -> Int {
    try update { (inside, moment) throws(DioramaError) in
      try inside.time.set(to: date, at: moment)
      publish(inside)
    }.woken
  }

  /// Advances to a date that is not past.
  ///
  /// - Throws: as ``set(to:)``, and for a date before the current one.
  func advance(to date: Date) throws(DioramaError) -> Int {
    try update { (inside, moment) throws(DioramaError) in
      let now = inside.time.now(at: moment)
      guard inside.time.pace == .system || date >= now else {
        throw DioramaError(
          .clock,
          "cannot advance the clock to \(RFC3339.format(date)): it shows \(RFC3339.format(now)); to go back, use set")
      }
      try inside.time.set(to: date, at: moment)
      publish(inside)
    }.woken
  }

  /// The result of a step to the next deadline.
  enum Step {
    /// The number of sleepers woken.
    case woke(Int)
    /// No sleeper has a deadline that can be reached. The number of registrations so far.
    case nothing(registrations: UInt64)
  }

  /// Moves to the next deadline and wakes all sleepers that are due.
  ///
  /// - Parameter completion: called after they have resumed; not called if no sleeper is due.
  /// - Returns: the result of the step.
  /// - Throws: ``DioramaError`` for a system clock.
  func step(then completion: (@Sendable () -> Void)? = nil) throws(DioramaError) -> Step {
    let (standstill, woken) = try update { (inside, moment) throws(DioramaError) -> UInt64? in
      if inside.time.pace == .system { throw .unmovable("run") }
      guard let (sleeper, remaining) = inside.sleepers.next(inside.time, at: moment), !sleeper.isForever else {
        return inside.registrations
      }
      do {
        if case .wall(let date) = sleeper.alarm {
          // To the exact date, because the remaining time is rounded. An overdue date must not set the clock back.
          if date > inside.time.now(at: moment) { try inside.time.set(to: date, at: moment) }
        } else {
          try inside.time.advance(by: max(.zero, remaining), at: moment)
        }
      } catch {
        // Beyond the year 9999.
        return inside.registrations
      }
      publish(inside)
      inside.afterWakes = completion
      return nil
    }
    if let standstill { return .nothing(registrations: standstill) }
    return .woke(woken)
  }
}

extension Sleeper {
  /// Whether the sleeper waits for a time that is never reached.
  var isForever: Bool {
    switch scale {
    case .uptime: deadline >= .forever
    case .wall: deadline >= Duration(sinceReferenceDate: .distantFuture)
    }
  }
}

// Not conditional, because environments also use it in release builds.
extension Timeline {
  /// The timeline of a contract.
  ///
  /// - Throws: ``DioramaError`` for an unknown time zone, an invalid date, or a rate that is not between 0.000001 and
  ///   1,000,000.
  package convenience init(_ clock: LaunchContract.Clock) throws(DioramaError) {
    let pace = try Pace(clock)
    let start = try clock.startDate
    guard start != nil || pace == .system else { throw LaunchContract.Clock.noInstant(nil, "start") }
    self.init(
      pace: pace, start: start ?? Date(), age: try clock.age(at: Date()), timeZone: try clock.zone,
      locale: clock.locale.map(Locale.init(identifier:)))
  }

  /// Replaces the clock while it runs; monotonic time continues.
  ///
  /// Sleepers whose dates are past on the new clock wake; the others wait for their deadlines at the new pace.
  ///
  /// - Parameter clock: the complete clock. Without `start`, wall time continues. With `provisioned`, the clock showed
  ///   `start` at that time, so that all apps of an environment agree.
  /// - Throws: ``DioramaError`` for an invalid clock; nothing is changed in this case.
  package func change(to clock: LaunchContract.Clock) throws(DioramaError) {
    let pace = try Pace(clock)
    let start = try clock.startDate
    let zone = try clock.zone
    let age = try clock.age(at: real.date)
    update { inside, moment in
      inside.time.change(to: pace, start: start, age: age, at: moment)
      inside.timeZone = zone
      inside.locale = clock.locale.map(Locale.init(identifier:))
      publish(inside)
    }
  }
}

extension Pace {
  fileprivate init(_ clock: LaunchContract.Clock) throws(DioramaError) {
    switch clock.kind {
    case .system: self = .system
    case .frozen: self = .frozen
    case .ticking: self = .ticking
    case .scaled: self = .scaled(try Pace.checked(clock.rate, .contract))
    case .manual: self = .manual
    }
  }

  /// - Throws: ``DioramaError`` if the rate is not between 0.000001 and 1,000,000.
  static func checked(_ rate: Double, _ kind: DioramaError.Kind) throws(DioramaError) -> Double {
    guard 0.000_001...1_000_000 ~= rate else {
      throw DioramaError(kind, "clock.rate: \(rate) is not between 0.000001 and 1000000")
    }
    return rate
  }
}

extension LaunchContract.Clock {
  fileprivate var startDate: Date? {
    get throws(DioramaError) {
      guard kind != .system, let start else { return nil }
      return try Self.instant(start, "start")
    }
  }

  /// The nanoseconds since the clock showed its start.
  ///
  /// An app that starts after its environment so gets the same time.
  fileprivate func age(at date: Date) throws(DioramaError) -> Int64 {
    guard let provisioned else { return 0 }
    let seconds = date.timeIntervalSince(try Self.instant(provisioned, "provisioned"))
    // An environment is never older than thirty years.
    return Int64(min(max(0, seconds), 1e9) * 1e9)
  }

  fileprivate var zone: TimeZone? {
    get throws(DioramaError) {
      guard let timeZone else { return nil }
      guard let zone = TimeZone(identifier: timeZone) else {
        throw DioramaError(
          .contract,
          "clock.timeZone: '\(timeZone)' is not a time zone on this machine; expected, for example, Europe/London")
      }
      return zone
    }
  }

  private static func instant(_ text: String, _ field: String) throws(DioramaError) -> Date {
    guard let date = RFC3339.parse(text) else { throw noInstant(text, field) }
    return date
  }

  fileprivate static func noInstant(_ text: String?, _ field: String) -> DioramaError {
    DioramaError(.contract, "clock.\(field): '\(text ?? "")' is not an instant such as 2018-10-08T09:00:00Z")
  }
}
