import Foundation
import Testing

@testable import Diorama

@Suite("Sleepers", .timeLimit(.minutes(5)))
struct SleepingTests {
  private let time = ScriptedTime()
  private let names = Collected<String>()

  @Test("are woken in the order of their deadlines, and of their registration where these are equal")
  func order() throws {
    let timeline = Timeline.scripted(.manual, time)
    timeline.note("c", .after(.seconds(20)), in: names)
    timeline.note("a", .uptime(.seconds(10)), in: names)
    timeline.note("d", .wall(autumnMorning + 20), in: names)
    timeline.note("b", .wall(autumnMorning + 10), in: names)
    timeline.note("e", .after(.seconds(20)), in: names)
    timeline.note("f", .after(.seconds(21)), in: names)
    #expect(timeline.sleeperCount == 6)
    #expect(try timeline.advance(by: .seconds(20)) == 5)
    #expect(names.values == ["a", "b", "c", "d", "e"])
    #expect(timeline.sleeperCount == 1)
  }

  @Test("share a deadline that is a fraction, by whichever time they count")
  func fractions() throws {
    let timeline = Timeline(pace: .manual, start: autumnMorning + 0.123, real: time)
    timeline.note("a", .wall(timeline.now + 0.1), in: names)
    timeline.note("b", .after(.milliseconds(100)), in: names)
    timeline.note("c", .wall(timeline.now + 0.1), in: names)
    try timeline.set(to: timeline.now + 0.1)
    #expect(names.values == ["a", "b", "c"])
  }

  @Test(
    "are ended by real time, at the kind's own rate",
    arguments: [.frozen, .ticking, .scaled(10), .scaled(0.5)] as [Pace])
  func real(_ pace: Pace) {
    let timeline = Timeline.scripted(pace, time)
    let unit = Duration.seconds(1) * pace.uptimeRate
    timeline.note("a", .after(unit * 10), in: names)
    timeline.note("b", .after(unit * 5), in: names)
    time.pass(.milliseconds(4_999))
    #expect(names.values == [])
    time.pass(.milliseconds(1))
    #expect(names.values == ["b"])
    time.pass(.seconds(5))
    #expect(names.values == ["b", "a"])
  }

  @Test("are ended by a hand before real time, which then ends the others when it gets there", arguments: Pace.movable)
  func hand(_ pace: Pace) throws {
    let timeline = Timeline.scripted(pace, time)
    timeline.note("a", .after(.seconds(900)), in: names)
    timeline.note("b", .after(.seconds(1_000)), in: names)
    #expect(try timeline.advance(by: .seconds(900)) == 1)
    #expect(names.values == ["a"])
    // What is left is a hundred seconds of the timeline.
    time.pass(.milliseconds(99_999) / max(pace.uptimeRate, 0.1))
    #expect(names.values == ["a"])
    time.pass(.milliseconds(1) / max(pace.uptimeRate, 0.1))
    #expect(names.values == (pace == .manual ? ["a"] : ["a", "b"]))
  }

  @Test("until a date wait for wall time: where it stands, for a hand", arguments: Pace.movable + [.system])
  func dates(_ pace: Pace) throws {
    let timeline = Timeline.scripted(pace, time)
    let date = timeline.now + 60
    timeline.note("a", .wall(date), in: names)
    time.pass(.seconds(3_600))
    #expect(names.values == (pace == .frozen || pace == .manual ? [] : ["a"]))
    if names.values.isEmpty { try timeline.set(to: date) }
    #expect(names.values == ["a"])
    #expect(timeline.now >= date)
  }

  @Test("until a date sleep longer when the clock is set back; the others do not")
  func setBack() throws {
    let timeline = Timeline.scripted(.ticking, time)
    timeline.note("date", .wall(autumnMorning + 60), in: names)
    timeline.note("duration", .after(.seconds(60)), in: names)
    try timeline.set(to: autumnMorning - 3_600)
    time.pass(.seconds(60))
    #expect(names.values == ["duration"])
    time.pass(.seconds(3_600))
    #expect(names.values == ["duration", "date"])
  }

  @Test("with nothing to wait for are woken at once, after those whose deadline was before", arguments: Pace.movable)
  func past(_ pace: Pace) async throws {
    let clock = DioramaClock(.scripted(pace, time))
    try await clock.sleep(for: .zero)
    try await clock.sleep(for: .seconds(-5))
    try await clock.sleep(for: Duration(attoseconds: .min))
    try await clock.sleep(until: clock.instant)
    try await clock.sleep(until: clock.now)
    try await clock.sleep(until: .distantPast)
    #expect(clock.sleeperCount == 0)
    #expect(time.wakeUps == 0)
  }

  @Test("sleep beyond all time without an overflow, and without a wake-up", arguments: Pace.movable)
  func forever(_ pace: Pace) throws {
    let timeline = Timeline.scripted(pace, time)
    try timeline.advance(by: .seconds(86_400))
    for duration in [Duration.seconds(Int64.max), Duration(attoseconds: .max)] {
      timeline.note("duration", .after(duration), in: names)
      timeline.note("instant", .uptime(DioramaClock(timeline).instant.advanced(by: duration).uptime), in: names)
    }
    timeline.note("date", .wall(Date(timeIntervalSinceReferenceDate: .infinity)), in: names)
    timeline.note("no date", .wall(Date(timeIntervalSinceReferenceDate: .nan)), in: names)
    time.pass(.seconds(1_000_000_000))
    try timeline.advance(by: .seconds(86_400 * 365))
    #expect(try DioramaClock(timeline).run() == 0)
    #expect(names.values == [])
    #expect(timeline.sleeperCount == 6)
    #expect(time.wakeUps == 0)
  }

  @Test("find the clock at the end of the jump that wakes them, and sleep again from there")
  func again() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    let task = Task {
      try await clock.sleep(for: .seconds(10))
      let first = clock.now
      try await clock.sleep(for: .seconds(10))
      return (first, clock.now)
    }
    try await clock.waitForSleepers(1)
    try clock.advance(by: .seconds(60))
    try await clock.waitForSleepers(1)
    #expect(try clock.advance(by: .milliseconds(9_999)) == 0)
    #expect(try clock.advance(by: .milliseconds(1)) == 1)
    let (first, second) = try await task.value
    #expect(first == autumnMorning + 60)
    #expect(second == autumnMorning + 70)
  }

  @Test("need one wake-up, however many they are, set again only for an earlier deadline")
  func oneWakeUp() {
    let timeline = Timeline.scripted(.ticking, time)
    for seconds in [30, 20, 40, 20] { timeline.note("\(seconds)", .after(.seconds(seconds)), in: names) }
    #expect(time.wakeUps == 1)
    time.pass(.seconds(40))
    #expect(names.values == ["20", "20", "30", "40"])
    #expect(time.wakeUps == 0)
  }
}
