@testable import Diorama
import Foundation
import Testing

@Suite("Clock kinds")
struct TimelineStateTests {
  private let start = autumnMorning
  private let beginning = Moment(nanoseconds: 5, date: Date(timeIntervalSince1970: 2_000_000_000))
  private var later: Moment { Moment(nanoseconds: 90_000_000_005, date: beginning.date + 91) }

  @Test(
    "show the expected wall time, monotonic time and sleep after ninety real seconds",
    arguments: [
      (.frozen, 0, 90, 10), (.ticking, 90, 90, 10), (.scaled(10), 900, 900, 1), (.scaled(0.5), 45, 45, 20),
      (.manual, 0, 0, nil),
    ] as [(Pace, Double, Int64, Int64?)])
  func table(_ pace: Pace, _ wall: Double, _ uptime: Int64, _ sleep: Int64?) {
    let state = TimelineState(pace: pace, start: start, at: beginning)
    #expect(state.now(at: later) == start + wall)
    #expect(state.uptime(at: later) == .seconds(uptime))
    let wait = state.realWait(for: .uptime, until: .seconds(uptime + 10), at: later)
    #expect(wait == sleep.map { $0 * 1_000_000_000 })
  }

  @Test("follow the machine's time if system")
  func system() {
    let state = TimelineState(pace: .system, start: start, at: beginning)
    #expect(state.now(at: later) == later.date)
    #expect(state.uptime(at: later) == .seconds(90))
    let date = Duration(sinceReferenceDate: later.date + 10)
    #expect(state.realWait(for: .wall, until: date, at: later) == 10_000_000_000)
  }

  @Test(
    "reach a date without a move only if wall time runs",
    arguments: [(.frozen, nil), (.ticking, 10), (.scaled(10), 1), (.scaled(0.5), 20), (.manual, nil)]
      as [(Pace, Int64?)])
  func wallWaits(_ pace: Pace, _ seconds: Int64?) {
    let state = TimelineState(pace: pace, start: start, at: beginning)
    let date = Duration(sinceReferenceDate: start + 10)
    #expect(state.realWait(for: .wall, until: date, at: beginning) == seconds.map { $0 * 1_000_000_000 })
  }

  @Test("do not drift after many moves", arguments: Pace.movable)
  func drift(_ pace: Pace) throws {
    var state = TimelineState(pace: pace, start: start, at: beginning)
    for _ in 0..<100_000 { try state.advance(by: .milliseconds(100), at: beginning) }
    #expect(state.now(at: beginning) == start + 10_000)
    #expect(state.uptime(at: beginning) == .seconds(10_000))
  }

  @Test("count from the start of the environment", arguments: [.ticking, .scaled(2)] as [Pace])
  func age(_ pace: Pace) {
    let state = TimelineState(pace: pace, start: start, at: beginning, age: 3_600_000_000_000)
    #expect(state.now(at: beginning) == start + 3_600 * pace.uptimeRate)
    #expect(state.uptime(at: beginning) == .seconds(3_600) * pace.uptimeRate)
  }

  @Test("support the limits of rates and durations")
  func extremes() throws {
    for rate in [0.000_001, 1_000_000] {
      let state = TimelineState(pace: .scaled(rate), start: start, at: beginning)
      let century = Moment(nanoseconds: 3_155_760_000_000_000_000, date: beginning.date)
      #expect(state.uptime(at: century) > .zero)
      for deadline in [Duration.seconds(1), .seconds(Int64.max), .forever, .zero - .forever] {
        let wait = state.realWait(for: .uptime, until: deadline.bounded, at: century)
        #expect(wait ?? 0 >= 0)
      }
    }
    #expect(Duration(secondsComponent: .max, attosecondsComponent: 0).bounded == .forever)
    #expect(Duration(attoseconds: .max).seconds == Duration.forever.seconds)
    #expect(Duration(attoseconds: .min).bounded == .zero - .forever)
  }
}

/// The table in the documentation of ``DioramaClock``, row by row.
@Suite("Wall time and monotonic time")
struct OneRuleTests {
  private let time = ScriptedTime()

  private func clock(_ pace: Pace) -> DioramaClock { DioramaClock(.scripted(pace, time)) }

  @Test("move by the same amount", arguments: Pace.movable)
  func advance(_ pace: Pace) throws {
    let clock = clock(pace)
    time.pass(.seconds(4))
    let (now, instant) = (clock.now, clock.instant)
    try clock.advance(by: .milliseconds(1_500))
    #expect(clock.now == now + 1.5)
    #expect(instant.duration(to: clock.instant) == .milliseconds(1_500))
    try clock.advance(to: clock.now + 60)
    #expect(clock.now == now + 61.5)
    #expect(instant.duration(to: clock.instant) == .milliseconds(61_500))
  }

  @Test("move by the same amount when the clock is set forward", arguments: Pace.movable)
  func forward(_ pace: Pace) throws {
    let clock = clock(pace)
    time.pass(.seconds(4))
    let (now, instant) = (clock.now, clock.instant)
    try clock.set(to: now + 3_600.1)
    #expect(clock.now == now + 3_600.1)
    #expect(instant.duration(to: clock.instant) == .milliseconds(3_600_100))
  }

  @Test("differ after wall time is set back, because monotonic time never goes back", arguments: Pace.movable)
  func back(_ pace: Pace) throws {
    let clock = clock(pace)
    time.pass(.seconds(4))
    let (now, instant) = (clock.now, clock.instant)
    try clock.set(to: now - 3_600)
    #expect(clock.now == now - 3_600)
    #expect(clock.instant == instant)
  }

  @Test("continue at their own rates after a move", arguments: Pace.movable)
  func afterwards(_ pace: Pace) throws {
    let clock = clock(pace)
    time.pass(.seconds(4))
    try clock.set(to: autumnMorning - 86_400)
    try clock.advance(by: .seconds(900))
    let (now, instant) = (clock.now, clock.instant)
    time.pass(.seconds(20))
    #expect(clock.now == now + 20 * (pace.wallRate ?? 1))
    #expect(instant.duration(to: clock.instant) == .seconds(20) * pace.uptimeRate)
  }

  @Test("follow the machine in a system clock, which cannot be moved")
  func system() throws {
    for clock in [clock(.system), .live] {
      let now = clock.now
      for move in [
        { try clock.advance(by: .seconds(1)) }, { try clock.advance(to: now + 1) }, { try clock.set(to: now) },
        { try clock.run() },
      ] as [() throws -> Int] {
        let error = #expect(throws: DioramaError.self) { try move() }
        #expect(error?.kind == .clock)
        #expect(
          error?.description.contains("use a frozen, ticking, scaled or manual clock for the environment") == true)
      }
    }
    let clock = clock(.system)
    time.pass(.seconds(90))
    #expect(clock.now == Date(timeIntervalSince1970: 2_000_000_090))
    #expect(clock.uptime == .seconds(90))
  }

  @Test("cannot be moved beyond their limits", arguments: Pace.movable)
  func refused(_ pace: Pace) throws {
    let clock = clock(pace)
    try clock.advance(by: .zero)
    for (words, move) in [
      ("must not be negative", { try clock.advance(by: .seconds(-5)) }),
      ("must not be negative", { try clock.advance(by: Duration(attoseconds: .min)) }),
      ("the year 9999", { try clock.advance(by: .seconds(Int64.max)) }),
      ("the year 9999", { try clock.advance(by: Duration(attoseconds: .max)) }),
      ("to go back, use set", { try clock.advance(to: autumnMorning - 1) }),
      ("years 0 to 9999", { try clock.set(to: Date(timeIntervalSinceReferenceDate: .nan)) }),
      ("years 0 to 9999", { try clock.set(to: Date(timeIntervalSinceReferenceDate: .infinity)) }),
      ("years 0 to 9999", { try clock.set(to: Date(timeIntervalSinceReferenceDate: 1e15)) }),
    ] as [(String, () throws -> Int)] {
      let error = #expect(throws: DioramaError.self) { try move() }
      #expect(error?.kind == .clock)
      #expect(error?.description.contains(words) == true)
    }
    #expect(clock.now == autumnMorning)
    #expect(clock.uptime == .zero)
  }
}
