import Foundation
import Synchronization

/// The arithmetic of a timeline: its times at any moment, and its moves. It does not read the machine's clocks.
///
/// Each time is a line over real time, defined by a point and a rate. A move shifts the point without reading the clock,
/// so that repeated moves cause no drift.
struct TimelineState: Sendable {
  private(set) var pace: Pace

  /// Wall time at `wallAnchor`, without the duration `moved` since.
  private var shown: Date
  private var moved = Duration.zero
  private var wallAnchor: Int64

  /// Monotonic time at `uptimeAnchor`.
  private var counted = Duration.zero
  private var uptimeAnchor: Int64

  /// - Parameters:
  ///   - pace: how the times follow real time.
  ///   - start: wall time at the timeline's start.
  ///   - moment: now.
  ///   - age: nanoseconds since the timeline's start.
  init(pace: Pace, start: Date, at moment: Moment, age: Int64 = 0) {
    self.pace = pace
    shown = start
    wallAnchor = moment.nanoseconds - age
    uptimeAnchor = moment.nanoseconds - age
  }

  /// Wall time, for readers without the lock.
  var wall: WallLine {
    WallLine(
      shown: shown.timeIntervalSinceReferenceDate + moved.seconds, anchor: wallAnchor, rate: pace.wallRate)
  }

  /// Wall time.
  func now(at moment: Moment) -> Date {
    wall.date(nanoseconds: moment.nanoseconds, machine: moment.date)
  }

  /// Monotonic time since the timeline's start.
  func uptime(at moment: Moment) -> Duration {
    let elapsed = Duration.nanoseconds(moment.nanoseconds - uptimeAnchor)
    switch pace.uptimeRate {
    case 0: return counted
    case 1: return (counted + elapsed).bounded
    case let rate: return (counted + elapsed * rate).bounded
    }
  }

  /// Advances both times.
  ///
  /// - Throws: ``DioramaError`` for a system clock, a negative duration, or beyond the year 9999.
  mutating func advance(by duration: Duration, at moment: Moment) throws(DioramaError) {
    try refuseSystem("advance")
    guard duration >= .zero else {
      throw DioramaError(
        .clock,
        "cannot advance the clock by \(duration): a duration must not be negative; to go back, set the clock")
    }
    let end = now(at: moment).timeIntervalSinceReferenceDate + duration.seconds
    guard end <= Self.limits.upperBound else {
      throw DioramaError(.clock, "cannot advance the clock by \(duration): its range ends with the year 9999")
    }
    moved += duration
    counted = (counted + duration).bounded
  }

  /// Sets wall time, and advances monotonic time by the same amount; setting it back leaves monotonic time unchanged.
  ///
  /// - Throws: ``DioramaError`` for a system clock, or outside the years 0 to 9999.
  mutating func set(to date: Date, at moment: Moment) throws(DioramaError) {
    try refuseSystem("set")
    guard Self.limits.contains(date.timeIntervalSinceReferenceDate) else {
      // Not as a date, because Foundation can neither compare nor describe a date that is not a number.
      let seconds = date.timeIntervalSince1970
      throw DioramaError(
        .clock, "cannot set the clock to \(seconds) seconds after 1970: its range is the years 0 to 9999")
    }
    counted = (counted + max(.zero, Duration(from: now(at: moment), to: date))).bounded
    shown = date
    moved = .zero
    wallAnchor = moment.nanoseconds
  }

  /// Continues at another pace. Monotonic time continues from its current value.
  ///
  /// - Parameters:
  ///   - pace: how the times follow real time.
  ///   - start: the wall time `age` nanoseconds ago; nil to continue from the current wall time.
  ///   - age: nanoseconds.
  ///   - moment: now.
  mutating func change(to pace: Pace, start: Date?, age: Int64, at moment: Moment) {
    counted = uptime(at: moment)
    shown = start ?? now(at: moment)
    moved = .zero
    uptimeAnchor = moment.nanoseconds
    wallAnchor = moment.nanoseconds - (start == nil ? 0 : age)
    self.pace = pace
  }

  private func refuseSystem(_ what: String) throws(DioramaError) {
    guard pace == .system else { return }
    throw .unmovable(what)
  }

  /// The range of RFC 3339, in which clocks are reported, in seconds since the reference date.
  private static let limits =
    -62_167_219_200 - Date.timeIntervalBetween1970AndReferenceDate...253_402_300_799.999
    - Date.timeIntervalBetween1970AndReferenceDate
}

extension DioramaError {
  /// The error for moving the machine's time.
  static func unmovable(_ what: String) -> DioramaError {
    DioramaError(
      .clock,
      "cannot \(what) the clock: a system clock shows the machine's time; use a frozen, ticking, scaled or manual clock "
        + "for the environment")
  }
}

extension TimelineState {
  /// The current time of a scale.
  func reading(of scale: Sleeper.Scale, at moment: Moment) -> Duration {
    switch scale {
    case .uptime: uptime(at: moment)
    case .wall: Duration(sinceReferenceDate: now(at: moment))
    }
  }

  /// Real nanoseconds until a deadline, rounded up; nil if only a move can reach it.
  func realWait(for scale: Sleeper.Scale, until deadline: Duration, at moment: Moment) -> Int64? {
    guard !isMovedByHandOnly(scale), deadline < .forever else { return nil }
    let remaining = (deadline - reading(of: scale, at: moment)).seconds / realRate(of: scale)
    // At most a year, to stay within the range of timers; a longer wait is checked again then.
    return Int64((min(max(remaining, 0), 31_536_000) * 1e9).rounded(.up))
  }

  /// Whether only a move can end a sleep of this scale.
  func isMovedByHandOnly(_ scale: Sleeper.Scale) -> Bool { realRate(of: scale) == 0 }

  private func realRate(of scale: Sleeper.Scale) -> Double {
    switch scale {
    case .uptime: pace.uptimeRate
    case .wall: pace.wallRate ?? 1
    }
  }
}

/// How the times of a timeline follow real time.
package enum Pace: Sendable, Equatable {
  /// The machine's time.
  case system
  /// Wall time stands still; monotonic time is real.
  case frozen
  /// Both run in real time; wall time starts at another instant.
  case ticking
  /// Both run at the rate.
  case scaled(Double)
  /// Both stand still until they are moved.
  case manual

  /// Seconds of wall time for each real second; nil for the machine's own wall time.
  var wallRate: Double? {
    switch self {
    case .system: nil
    case .frozen, .manual: 0
    case .ticking: 1
    case .scaled(let rate): rate
    }
  }

  /// Seconds of monotonic time for each real second.
  var uptimeRate: Double {
    switch self {
    case .system, .frozen, .ticking: 1
    case .scaled(let rate): rate
    case .manual: 0
    }
  }
}

extension Duration {
  /// The end of time, after about 36,000,000,000 years: a deadline that is never reached.
  ///
  /// Small enough that the sum of two does not overflow.
  static let forever = Duration.seconds(1 << 60)

  /// The duration, limited to ``forever``, so that sums do not overflow.
  var bounded: Duration { min(max(self, .zero - .forever), .forever) }

  /// The duration in seconds, limited to ``forever``.
  var seconds: Double {
    let (seconds, attoseconds) = bounded.components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The duration between dates, to the nearest microsecond. A `Date` of this century has a resolution of a tenth of a
  /// microsecond; the rounding makes a tenth of a second exact.
  init(from start: Date, to end: Date) {
    let microseconds = (end.timeIntervalSince(start) * 1e6).rounded()
    guard !microseconds.isNaN else {
      self = .forever
      return
    }
    self = .microseconds(Int64(min(max(microseconds, -9e18), 9e18)))
  }

  /// The duration since the reference date; unlimited for dates that are infinite.
  init(sinceReferenceDate date: Date) {
    let seconds = date.timeIntervalSinceReferenceDate
    self = abs(seconds) < 0x1p60 ? .seconds(seconds) : seconds < 0 ? .zero - .forever : .forever
  }
}

/// Wall time as a line over real time: everything ``DioramaClock/now`` needs.
struct WallLine: Sendable, Equatable {
  /// Wall time at the anchor, in seconds since the reference date.
  var shown: Double
  /// Nanoseconds of real time.
  var anchor: Int64
  /// Seconds for each real second; nil for the machine's own wall time.
  var rate: Double?

  @inline(__always)
  func date(nanoseconds: @autoclosure () -> Int64, machine: @autoclosure () -> Date) -> Date {
    guard let rate else { return machine() }
    guard rate != 0 else { return Date(timeIntervalSinceReferenceDate: shown) }
    return Date(timeIntervalSinceReferenceDate: shown + Double(nanoseconds() - anchor) / 1e9 * rate)
  }
}

/// A ``WallLine`` that many threads read without a lock, while a holder of the timeline's lock writes it.
///
/// A sequence lock: the sequence is odd during a write, and different afterwards. All words are atomic, stored with
/// release and loaded with acquire, so that a reader that sees a new word also sees a new sequence.
struct PublishedWallLine: ~Copyable {
  private let sequence = Atomic<UInt64>(0)
  private let shown: Atomic<UInt64>
  private let anchor: Atomic<Int64>
  /// NaN for the machine's own wall time.
  private let rate: Atomic<UInt64>

  init(_ line: WallLine) {
    shown = Atomic(line.shown.bitPattern)
    anchor = Atomic(line.anchor)
    rate = Atomic((line.rate ?? .nan).bitPattern)
  }

  /// Call it only under the timeline's lock.
  func publish(_ line: WallLine) {
    let before = sequence.load(ordering: .relaxed)
    sequence.store(before + 1, ordering: .relaxed)
    shown.store(line.shown.bitPattern, ordering: .releasing)
    anchor.store(line.anchor, ordering: .releasing)
    rate.store((line.rate ?? .nan).bitPattern, ordering: .releasing)
    sequence.store(before + 2, ordering: .releasing)
  }

  /// Nil during a write.
  @inline(__always)
  func read() -> WallLine? {
    let before = sequence.load(ordering: .acquiring)
    let shown = Double(bitPattern: shown.load(ordering: .acquiring))
    let anchor = anchor.load(ordering: .acquiring)
    let rate = Double(bitPattern: rate.load(ordering: .acquiring))
    guard before & 1 == 0, sequence.load(ordering: .relaxed) == before else { return nil }
    return WallLine(shown: shown, anchor: anchor, rate: rate.isNaN ? nil : rate)
  }
}
