public import Foundation

/// The app's time: wall time, monotonic time, time zone, calendar and locale together.
///
/// Live it is the machine's, at no cost. Under a launch contract it is what the test wants it to be: it stands, it runs
/// from some day in the past, it runs faster, it is moved by hand. Use it wherever the app would say `Date()`,
/// `Task.sleep` or `ContinuousClock`.
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
/// | frozen | stands | real | moves both | moves both | wall time alone |
/// | ticking | runs from its start | real | moves both | moves both | wall time alone |
/// | scaled | runs from its start at the rate | run at the rate | moves both | moves both | wall time alone |
/// | manual | stands | stand | moves both | moves both | wall time alone |
///
/// It is one rule: whatever a hand does to wall time it does to monotonic time, by the same amount, except that
/// monotonic time never goes back. A sleep for a duration or until an ``Instant`` waits for monotonic time, one until
/// a `Date` for wall time; each ends when its time gets there, by itself or by hand, whichever is first.
///
/// A move is one jump: those whose deadline lies within it are woken in the order of their deadlines, those with equal
/// deadlines in the order in which they began to sleep, and all of them find the clock at the end of the jump. One that
/// sleeps again when it is woken sleeps from there. To see every deadline by itself, go from one to the next:
/// ``run(_:)``.
///
/// In a unit test of the app's own code no contract is needed: ``manual(start:timeZone:locale:)`` and the others make
/// a clock that the test moves.
public struct DioramaClock: InstantClock {
  /// The time behind the clock; nil for the machine's.
  package let timeline: Timeline?
  /// When counting began, where the time is the machine's.
  let origin: ContinuousClock.Instant

  /// A clock that shows this time; several of one timeline are one clock.
  package init(_ timeline: Timeline) {
    self.timeline = timeline
    origin = .now
  }

  private init(since origin: ContinuousClock.Instant) {
    timeline = nil
    self.origin = origin
  }

  /// The machine's own time, which nobody can move.
  ///
  /// What ``AppControls/launch()`` gives an app without a launch contract. Its monotonic time counts from here.
  public static var live: DioramaClock { DioramaClock(since: .now) }

  // MARK: Wall time

  /// Wall time: what `Date()` is without a test. Reading it takes no lock.
  public var now: Date {
    guard let timeline else { return Date() }
    return timeline.now
  }

  /// The time zone that the app is in; follows the environment while the app runs.
  public var timeZone: TimeZone { timeline?.timeZone ?? .current }

  /// The region and language that the app is in; follows the environment while the app runs.
  public var locale: Locale { timeline?.locale ?? .current }

  /// The calendar of the locale, in the clock's time zone.
  public var calendar: Calendar {
    let locale = locale
    var calendar = locale.calendar
    calendar.locale = locale
    calendar.timeZone = timeZone
    return calendar
  }

  // MARK: Monotonic time

  /// Monotonic time, now: for measuring and for deadlines.
  public var instant: Instant { Instant(uptime) }

  /// Monotonic time since the app's world began; for measuring, since nobody sets it back.
  public var uptime: Duration {
    timeline?.uptime ?? origin.duration(to: .now)
  }

  /// The finest step: a nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }
}
