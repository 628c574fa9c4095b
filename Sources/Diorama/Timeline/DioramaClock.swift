public import Foundation

/// The app's time: wall time, monotonic time, time zone and locale together.
///
/// Live it is the machine's. Under a launch contract it is what the test wants it to be: it stands, it runs from some
/// day in the past, it runs faster.
///
/// ```swift
/// let slots = all.filter { $0.start > controls.clock.now }
/// ```
public struct DioramaClock: Sendable {
  /// The time zone that the app is in.
  public let timeZone: TimeZone
  /// The region and language that the app is in.
  public let locale: Locale

  private let timeline: Timeline
  /// When counting began, in real time.
  private let origin: ContinuousClock.Instant

  init(timeline: Timeline, origin: ContinuousClock.Instant, timeZone: TimeZone, locale: Locale) {
    self.timeline = timeline
    self.origin = origin
    self.timeZone = timeZone
    self.locale = locale
  }

  /// The machine's own time.
  static var live: DioramaClock {
    DioramaClock(
      timeline: Timeline(pace: .system, start: Date()), origin: .now, timeZone: .current, locale: .current)
  }

  /// Wall time: what `Date()` is without a test.
  public var now: Date {
    timeline.now(elapsed: elapsed, machine: Date())
  }

  /// Monotonic time since the app's world began; for measuring, since nobody sets it back.
  public var uptime: Duration {
    timeline.uptime(elapsed: elapsed)
  }

  /// The calendar of the locale, in the clock's time zone.
  public var calendar: Calendar {
    var calendar = locale.calendar
    calendar.locale = locale
    calendar.timeZone = timeZone
    return calendar
  }

  /// Waits for so much monotonic time of the app: a scaled clock makes it shorter or longer.
  ///
  /// - Parameter duration: how long; nothing is waited for below zero.
  /// - Throws: `CancellationError` when the task is cancelled; ``DioramaError`` of kind `clock` under a manual clock,
  ///   which this version cannot move: waiting would never end.
  public func sleep(for duration: Duration) async throws {
    guard let real = timeline.realDuration(of: duration) else {
      throw DioramaError(
        .clock,
        "cannot sleep for \(duration): the clock is manual, and this version has no means to move it while the app "
          + "runs; give the environment a frozen, ticking or scaled clock")
    }
    try await Task.sleep(for: real)
  }

  private var elapsed: Duration { origin.duration(to: .now) }
}
