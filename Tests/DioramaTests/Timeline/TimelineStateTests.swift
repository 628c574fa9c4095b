import Foundation
import Testing

@testable import Diorama

@Suite("Clock kinds")
struct TimelineStateTests {
  private let start = autumnMorning
  private let beginning = Moment(nanoseconds: 5, date: Date(timeIntervalSince1970: 2_000_000_000))
  private var later: Moment { Moment(nanoseconds: 90_000_000_005, date: beginning.date + 91) }

  @Test(
    "show this wall time, monotonic time and length of a sleep after ninety real seconds",
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

  @Test("leave system time to the machine")
  func system() {
    let state = TimelineState(pace: .system, start: start, at: beginning)
    #expect(state.now(at: later) == later.date)
    #expect(state.uptime(at: later) == .seconds(90))
    let date = Duration(sinceReferenceDate: later.date + 10)
    #expect(state.realWait(for: .wall, until: date, at: later) == 10_000_000_000)
  }

  @Test(
    "let wall time come to a date by itself only where it runs",
    arguments: [(.frozen, nil), (.ticking, 10), (.scaled(10), 1), (.scaled(0.5), 20), (.manual, nil)]
      as [(Pace, Int64?)])
  func wallWaits(_ pace: Pace, _ seconds: Int64?) {
    let state = TimelineState(pace: pace, start: start, at: beginning)
    let date = Duration(sinceReferenceDate: start + 10)
    #expect(state.realWait(for: .wall, until: date, at: beginning) == seconds.map { $0 * 1_000_000_000 })
  }

  @Test("do not drift, however often they are moved", arguments: Pace.movable)
  func drift(_ pace: Pace) throws {
    var state = TimelineState(pace: pace, start: start, at: beginning)
    for _ in 0..<100_000 { try state.advance(by: .milliseconds(100), at: beginning) }
    #expect(state.now(at: beginning) == start + 10_000)
    #expect(state.uptime(at: beginning) == .seconds(10_000))
  }

  @Test("count on from when the environment began", arguments: [.ticking, .scaled(2)] as [Pace])
  func age(_ pace: Pace) {
    let state = TimelineState(pace: pace, start: start, at: beginning, age: 3_600_000_000_000)
    #expect(state.now(at: beginning) == start + 3_600 * pace.uptimeRate)
    #expect(state.uptime(at: beginning) == .seconds(3_600) * pace.uptimeRate)
  }

  @Test("bear rates and durations at the ends of what there is")
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
