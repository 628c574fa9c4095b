import Foundation

/// What a timeline shows at any moment, and how a hand moves it: pure arithmetic, nothing is asked of the machine.
///
/// Each time is a line over real time, held by one point and a rate. Moving shifts the point; nothing is read off and
/// written back, so that neither time drifts, however often it is moved.
struct TimelineState: Sendable {
  private(set) var pace: Pace

  /// Shown at `wallAnchor`, but for what was `moved` since.
  private var shown: Date
  private var moved = Duration.zero
  private var wallAnchor: Int64

  /// Counted at `uptimeAnchor`.
  private var counted = Duration.zero
  private var uptimeAnchor: Int64

  /// - Parameters:
  ///   - pace: how it goes on.
  ///   - start: wall time when counting began.
  ///   - moment: now.
  ///   - age: nanoseconds since counting began.
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

  /// Monotonic time since counting began.
  func uptime(at moment: Moment) -> Duration {
    let elapsed = Duration.nanoseconds(moment.nanoseconds - uptimeAnchor)
    switch pace.uptimeRate {
    case 0: return counted
    case 1: return (counted + elapsed).bounded
    case let rate: return (counted + elapsed * rate).bounded
    }
  }

  /// Moves both times on.
  ///
  /// - Throws: ``DioramaError`` when the clock is the machine's, or would go back, or past the year 9999.
  mutating func advance(by duration: Duration, at moment: Moment) throws(DioramaError) {
    try refuseSystem("advance")
    guard duration >= .zero else {
      throw DioramaError(
        .clock,
        "cannot advance the clock by \(duration): time only goes on; to show an earlier wall time, set the clock to it")
    }
    let end = now(at: moment).timeIntervalSinceReferenceDate + duration.seconds
    guard end <= Self.limits.upperBound else {
      throw DioramaError(.clock, "cannot advance the clock by \(duration): its time ends with the year 9999")
    }
    moved += duration
    counted = (counted + duration).bounded
  }

  /// Shows this wall time; moves monotonic time on as far, or leaves it alone where the wall clock is set back.
  ///
  /// - Throws: ``DioramaError`` when the clock is the machine's, or for what is no date from the year 0 to 9999.
  mutating func set(to date: Date, at moment: Moment) throws(DioramaError) {
    try refuseSystem("set")
    guard Self.limits.contains(date.timeIntervalSinceReferenceDate) else {
      // Not the date itself: Foundation can neither compare nor describe one that is not a number.
      let seconds = date.timeIntervalSince1970
      throw DioramaError(
        .clock, "cannot set the clock to \(seconds) seconds after 1970: its time goes from the year 0 to 9999")
    }
    counted = (counted + max(.zero, Duration(from: now(at: moment), to: date))).bounded
    shown = date
    moved = .zero
    wallAnchor = moment.nanoseconds
  }

  /// Goes on at another pace; monotonic time goes on from where it is.
  ///
  /// - Parameters:
  ///   - pace: how it goes on.
  ///   - start: the wall time of `age` nanoseconds ago; nil for going on from what is shown.
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

  /// In seconds since the reference date, all that RFC 3339 can write: what is said of a clock is said in it.
  private static let limits =
    -62_167_219_200 - Date.timeIntervalBetween1970AndReferenceDate...253_402_300_799.999
    - Date.timeIntervalBetween1970AndReferenceDate
}

extension DioramaError {
  /// The machine's time is not ours to move.
  static func unmovable(_ what: String) -> DioramaError {
    DioramaError(
      .clock,
      "cannot \(what) the clock: a system clock shows the machine's time; frozen, ticking, scaled and manual clocks can "
        + "be moved, so give the environment one of them")
  }
}
