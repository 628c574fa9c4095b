import Foundation
import Testing

@testable import Diorama

/// The table of ``DioramaClock``, line by line.
@Suite("Wall time and monotonic time")
struct OneRuleTests {
  private let time = ScriptedTime()

  private func clock(_ pace: Pace) -> DioramaClock { DioramaClock(.scripted(pace, time)) }

  @Test("are moved by the same amount", arguments: Pace.movable)
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

  @Test("are set forward by the same amount", arguments: Pace.movable)
  func forward(_ pace: Pace) throws {
    let clock = clock(pace)
    time.pass(.seconds(4))
    let (now, instant) = (clock.now, clock.instant)
    try clock.set(to: now + 3_600.1)
    #expect(clock.now == now + 3_600.1)
    #expect(instant.duration(to: clock.instant) == .milliseconds(3_600_100))
  }

  @Test("part when wall time is set back: monotonic time never goes back", arguments: Pace.movable)
  func back(_ pace: Pace) throws {
    let clock = clock(pace)
    time.pass(.seconds(4))
    let (now, instant) = (clock.now, clock.instant)
    try clock.set(to: now - 3_600)
    #expect(clock.now == now - 3_600)
    #expect(clock.instant == instant)
  }

  @Test("go on at their own rates after a move", arguments: Pace.movable)
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

  @Test("are the machine's in a system clock, which refuses to be moved and says which kinds can be")
  func system() throws {
    for clock in [clock(.system), .live] {
      let now = clock.now
      for move in [
        { try clock.advance(by: .seconds(1)) }, { try clock.advance(to: now + 1) }, { try clock.set(to: now) },
        { try clock.run() },
      ] as [() throws -> Int] {
        let error = #expect(throws: DioramaError.self) { try move() }
        #expect(error?.kind == .clock)
        #expect(error?.description.contains("frozen, ticking, scaled and manual clocks can be moved") == true)
      }
    }
    let clock = clock(.system)
    time.pass(.seconds(90))
    #expect(clock.now == Date(timeIntervalSince1970: 2_000_000_090))
    #expect(clock.uptime == .seconds(90))
  }

  @Test("refuse to be moved where nothing goes", arguments: Pace.movable)
  func refused(_ pace: Pace) throws {
    let clock = clock(pace)
    try clock.advance(by: .zero)
    for (words, move) in [
      ("time only goes on", { try clock.advance(by: .seconds(-5)) }),
      ("time only goes on", { try clock.advance(by: Duration(attoseconds: .min)) }),
      ("the year 9999", { try clock.advance(by: .seconds(Int64.max)) }),
      ("the year 9999", { try clock.advance(by: Duration(attoseconds: .max)) }),
      ("to go back, set it", { try clock.advance(to: autumnMorning - 1) }),
      ("year 0 to 9999", { try clock.set(to: Date(timeIntervalSinceReferenceDate: .nan)) }),
      ("year 0 to 9999", { try clock.set(to: Date(timeIntervalSinceReferenceDate: .infinity)) }),
      ("year 0 to 9999", { try clock.set(to: Date(timeIntervalSinceReferenceDate: 1e15)) }),
    ] as [(String, () throws -> Int)] {
      let error = #expect(throws: DioramaError.self) { try move() }
      #expect(error?.kind == .clock)
      #expect(error?.description.contains(words) == true)
    }
    #expect(clock.now == autumnMorning)
    #expect(clock.uptime == .zero)
  }
}
