import Basics
import Dispatch
public import Foundation

/// The app's time: wall time, monotonic time, time zone, calendar and locale.
///
/// Without a contract it is the machine's time, at no cost. Under a launch contract the test controls it: it can stand
/// still, start on a past day, run faster, or move on command. Use it in place of `Date()`, `Task.sleep` and
/// `ContinuousClock`.
///
/// ```swift
/// let slots = all.filter { $0.start > controls.clock.now }
/// try await controls.clock.sleep(for: .seconds(900))
/// ```
///
/// ## Wall time and monotonic time
///
/// | kind | wall time (``now``) | monotonic time (``instant``), sleeps | `advance` | `set` forward | `set` back |
/// |---|---|---|---|---|---|
/// | system | the machine's | real | refused | refused | refused |
/// | frozen | stands still | real | moves both | moves both | wall time only |
/// | ticking | runs from its start | real | moves both | moves both | wall time only |
/// | scaled | runs from its start at the rate | run at the rate | moves both | moves both | wall time only |
/// | manual | stands still | stand still | moves both | moves both | wall time only |
///
/// Every move changes wall time and monotonic time by the same amount, except that monotonic time never goes back. A
/// sleep for a duration or until an ``Instant`` waits for monotonic time; a sleep until a `Date` waits for wall time.
/// Each ends when its time arrives, by itself or by a move.
///
/// A move is one jump. It wakes the sleeps whose deadlines it passes, in the order of their deadlines, then of their
/// registration. All of them see the clock at the end of the jump, and a new sleep starts from there. To stop at each
/// deadline, use ``run(_:)``.
///
/// Unit tests of the app's own code need no contract: create a clock with ``manual(start:timeZone:locale:)`` or one of
/// the similar functions, and move it.
public struct DioramaClock: InstantClock {
  /// The timeline of the clock; nil for the machine's time.
  package let timeline: Timeline?
  /// The start of monotonic time, if the time is the machine's.
  let origin: ContinuousClock.Instant

  /// A clock that shows a timeline. Clocks of the same timeline always agree.
  package init(_ timeline: Timeline) {
    self.timeline = timeline
    origin = .now
  }

  private init(since origin: ContinuousClock.Instant) {
    timeline = nil
    self.origin = origin
  }

  /// The machine's time, which cannot be moved.
  ///
  /// The clock of an app without a launch contract. Its monotonic time starts at zero.
  public static var live: DioramaClock { DioramaClock(since: .now) }

  // MARK: Wall time

  /// Wall time, in place of `Date()`. Reading it takes no lock.
  public var now: Date {
    guard let timeline else { return Date() }
    return timeline.now
  }

  /// The app's time zone. The environment may change it while the app runs.
  public var timeZone: TimeZone { timeline?.timeZone ?? .current }

  /// The app's region and language. The environment may change them while the app runs.
  public var locale: Locale { timeline?.locale ?? .current }

  /// The locale's calendar, in the clock's time zone.
  public var calendar: Calendar {
    let locale = locale
    var calendar = locale.calendar
    calendar.locale = locale
    calendar.timeZone = timeZone
    return calendar
  }

  // MARK: Monotonic time

  /// The current instant of monotonic time, for measuring and for deadlines.
  public var instant: Instant { Instant(uptime) }

  /// Monotonic time since the clock's start; it never goes back.
  public var uptime: Duration {
    timeline?.uptime ?? origin.duration(to: .now)
  }

  /// The finest step: one nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }
}

extension DioramaClock {
  /// A point in the app's monotonic time.
  ///
  /// Use it for measuring and for deadlines: it never goes back, and time zones and daylight saving do not affect it.
  ///
  /// ```swift
  /// let start = clock.instant
  /// // …
  /// if start.duration(to: clock.instant) > .seconds(900) { lock() }
  /// ```
  ///
  /// Do not compare instants of different clocks. Instants end about 36,000,000,000 years from the clock's start; adding
  /// a longer duration gives the last instant.
  public struct Instant: InstantProtocol {
    /// Monotonic time since the clock's start.
    public let uptime: Duration

    init(_ uptime: Duration) {
      self.uptime = uptime.bounded
    }

    /// The instant after a duration; before it for a negative duration.
    public func advanced(by duration: Duration) -> Instant {
      Instant(uptime + duration.bounded)
    }

    /// The duration to another instant; negative if that is earlier.
    public func duration(to other: Instant) -> Duration {
      other.uptime - uptime
    }

    /// Whether an instant is before another.
    public static func < (one: Instant, other: Instant) -> Bool {
      one.uptime < other.uptime
    }
  }
}

extension DioramaClock.Instant: CustomStringConvertible {
  /// The uptime, such as `900.0 seconds`.
  public var description: String { uptime.description }
}

/// A clock whose own `now` is not its instant.
///
/// The `now` of ``DioramaClock`` is a `Date`, which apps need most. Generic code that takes any `Clock` gets its
/// monotonic `instant`.
///
/// ```swift
/// let took = try await controls.clock.measure { try await load() }   // monotonic time of the app
/// let today: Date = controls.clock.now                               // wall time of the app
/// ```
public protocol InstantClock: Clock {
  /// The current instant of monotonic time.
  var instant: Instant { get }
}

extension InstantClock {
  /// The current instant of monotonic time, for code that takes any clock.
  public var now: Instant { instant }
}

// Clocks for unit tests of an app's own code. Time zone and locale have fixed defaults, so that a test gives the same
// result on every machine.
extension DioramaClock {
  /// A clock that stands still until it is moved.
  ///
  /// ```swift
  /// let clock = DioramaClock.manual(start: start)
  /// let session = Session(clock: clock)
  /// try await clock.waitForSleepers(1)        // waits until the session's time-out is registered
  /// try clock.advance(by: .seconds(900))
  /// ```
  ///
  /// - Parameters:
  ///   - start: the wall time at the start.
  ///   - timeZone: the app's time zone.
  ///   - locale: the app's region and language.
  /// - Returns: an independent clock.
  public static func manual(
    start: Date, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) -> DioramaClock {
    DioramaClock(Timeline(pace: .manual, start: start, timeZone: timeZone, locale: locale))
  }

  /// A clock whose wall time stands still until it is moved, while sleeps take real time.
  ///
  /// Use it for code that reads the date and also waits for real events.
  ///
  /// - Parameters:
  ///   - instant: the wall time.
  ///   - timeZone: the app's time zone.
  ///   - locale: the app's region and language.
  /// - Returns: an independent clock.
  public static func frozen(
    at instant: Date, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) -> DioramaClock {
    DioramaClock(Timeline(pace: .frozen, start: instant, timeZone: timeZone, locale: locale))
  }

  /// A clock that runs from a date at the speed of real time, and can also be moved.
  ///
  /// - Parameters:
  ///   - start: the wall time at the start.
  ///   - timeZone: the app's time zone.
  ///   - locale: the app's region and language.
  /// - Returns: an independent clock.
  public static func ticking(
    from start: Date, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) -> DioramaClock {
    DioramaClock(Timeline(pace: .ticking, start: start, timeZone: timeZone, locale: locale))
  }

  /// A clock that runs from a date faster or slower than real time, and can also be moved.
  ///
  /// - Parameters:
  ///   - start: the wall time at the start.
  ///   - rate: the app's seconds for each real second, from 0.000001 to 1,000,000.
  ///   - timeZone: the app's time zone.
  ///   - locale: the app's region and language.
  /// - Returns: an independent clock.
  /// - Throws: ``DioramaError`` if the rate is out of range.
  public static func scaled(
    from start: Date, rate: Double, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) throws(DioramaError) -> DioramaClock {
    let pace = Pace.scaled(try Pace.checked(rate, .clock))
    return DioramaClock(Timeline(pace: pace, start: start, timeZone: timeZone, locale: locale))
  }
}

extension DioramaClock {
  /// Advances wall time and monotonic time by a duration, in one jump.
  ///
  /// ```swift
  /// try clock.advance(by: .seconds(900))
  /// ```
  ///
  /// When it returns, the sleeps that ended have been resumed, in the order of deadline and registration; their tasks run
  /// when they are scheduled. In an app under a launch contract this moves only the app's clock; a test moves the clock
  /// of its environment.
  ///
  /// - Parameter duration: a duration of the app's time.
  /// - Returns: the number of sleeps, ticks and deadlines that ended.
  /// - Throws: ``DioramaError`` of kind `clock` for a negative duration, beyond the year 9999, and for a system clock.
  @discardableResult
  public func advance(by duration: Duration) throws(DioramaError) -> Int {
    try movable("advance").advance(by: duration)
  }

  /// Advances the clock to a date.
  ///
  /// - Parameter date: a date not before ``now``.
  /// - Returns: the number of sleeps, ticks and deadlines that ended.
  /// - Throws: ``DioramaError`` of kind `clock` for a date before ``now``, beyond the year 9999, and for a system clock.
  @discardableResult
  public func advance(to date: Date) throws(DioramaError) -> Int {
    try movable("advance").advance(to: date)
  }

  /// Sets wall time forward or back, as a user may do on a phone.
  ///
  /// Setting it forward is an advance. Setting it back does not change monotonic time or sleeps for a duration.
  ///
  /// - Parameter date: the new value of ``now``.
  /// - Returns: the number of sleeps, ticks and deadlines that ended.
  /// - Throws: ``DioramaError`` of kind `clock` outside the years 0 to 9999, and for a system clock.
  @discardableResult
  public func set(to date: Date) throws(DioramaError) -> Int {
    try movable("set").set(to: date)
  }

  func movable(_ what: String) throws(DioramaError) -> Timeline {
    guard let timeline else { throw .unmovable(what) }
    return timeline
  }

  // MARK: Sleepers

  /// The number of sleeps, ticks and deadlines that wait for the clock. A live clock does not count them.
  public var sleeperCount: Int { timeline?.sleeperCount ?? 0 }

  /// Waits until a number of sleeps, ticks and deadlines wait for the clock.
  ///
  /// Use it before a move, so that the move is not too early: a sleep is counted from the moment it waits.
  ///
  /// ```swift
  /// try await clock.waitForSleepers(1)
  /// try clock.advance(by: .seconds(900))
  /// ```
  ///
  /// - Parameter count: the minimum number.
  /// - Throws: `CancellationError` if the task is cancelled; ``DioramaError`` if the environment is lost, and for a live
  ///   clock.
  public func waitForSleepers(_ count: Int) async throws {
    try await movable("count the sleepers of").waitForSleepers(count)
  }
}

extension DioramaClock {
  /// Moves from deadline to deadline until no sleeper is left.
  ///
  /// It does not wait for the tasks it wakes: a task that sleeps again may or may not be included. Use it to empty a clock
  /// at the end of a test; to complete work, use ``run(_:)``. Sleeps without an end remain: a duration such as
  /// `.seconds(Int64.max)`, `Date.distantFuture`, anything after the year 9999.
  ///
  /// - Returns: the number of sleeps, ticks and deadlines that ended.
  /// - Throws: ``DioramaError`` of kind `clock` for a system clock.
  @discardableResult
  public func run() throws(DioramaError) -> Int {
    let timeline = try movable("run")
    var woken = 0
    while case .woke(let count) = try timeline.step() { woken += count }
    return woken
  }

  /// Runs work to its end, and moves to the next deadline whenever all of the work waits.
  ///
  /// Hours of the app's time pass in milliseconds, one deadline after the other: a task that wakes sees the clock at its
  /// own deadline, and may sleep again.
  ///
  /// ```swift
  /// let log = try await clock.run {
  ///   async let reminder: Void = remind(after: .seconds(600))
  ///   try await lock(after: .seconds(900))
  ///   …
  /// }
  /// ```
  ///
  /// The work and its child tasks run serially, on a thread of this call, which detects when all of them wait. Tasks
  /// outside (in a `Task { }` or on the main actor) run as usual: their sleeps end like those of the work, but the clock
  /// may move while they compute.
  ///
  /// - Parameter work: the work to run.
  /// - Returns: the result of the work.
  /// - Throws: the error of the work; ``DioramaError`` of kind `clock` for a system clock.
  public func run<Output: Sendable>(
    _ work: @escaping @Sendable @concurrent () async throws -> Output
  ) async throws -> Output {
    let timeline = try movable("run")
    guard !timeline.isSystem else { throw DioramaError.unmovable("run") }
    let executor = RunExecutor(timeline)
    defer { executor.end() }
    return try await withTaskExecutorPreference(executor) { try await work() }
  }
}

/// Runs the tasks of a ``DioramaClock/run(_:)`` serially, and moves the timeline when none can continue.
///
/// All jobs run on one serial queue. A task that waits for the clock has no job here. So when the last job ends, all
/// tasks wait, and the next event must be a deadline.
final class RunExecutor: TaskExecutor, @unchecked Sendable {
  private struct State {
    /// The number of jobs that have not ended.
    var jobs = 0
    var isOver = false
    var wait: SleeperWait?
  }

  private let queue = DispatchQueue(label: "diorama.run")
  private let state = Guarded(State())
  private let timeline: Timeline

  init(_ timeline: Timeline) {
    self.timeline = timeline
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs += 1 }
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      state.withLock { $0.jobs -= 1 }
      moveIfIdle()
    }
  }

  /// Ends the run and leaves the clock as it is.
  func end() {
    state.withLock { state in
      state.isOver = true
      return state.wait.take()
    }?.cancel()
  }

  private var isIdle: Bool { state.withLock { $0.jobs == 0 && !$0.isOver } }

  private func moveIfIdle() {
    guard isIdle else { return }
    let next: @Sendable () -> Void = { [weak self] in
      guard let self else { return }
      queue.async { self.moveIfIdle() }
    }
    // Checks again after the tasks have resumed: if they belong to other executors, they enqueue nothing here.
    guard case .nothing(let registrations) = try? timeline.step(then: next) else { return }
    let wait = timeline.whenRegistered(after: registrations, next)
    let old = state.withLock { state in
      if state.isOver { return Optional(wait) }
      defer { state.wait = wait }
      return state.wait
    }
    old?.cancel()
  }
}
