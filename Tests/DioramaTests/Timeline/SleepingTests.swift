@testable import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Sleepers", .timeLimit(.minutes(5)))
struct SleepingTests {
  private let time = ScriptedTime()
  private let names = Collected<String>()

  @Test("wake in the order of their deadlines, then of their registration")
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

  @Test("share a fractional deadline, in monotonic time and in wall time")
  func fractions() throws {
    let timeline = Timeline(pace: .manual, start: autumnMorning + 0.123, real: time)
    timeline.note("a", .wall(timeline.now + 0.1), in: names)
    timeline.note("b", .after(.milliseconds(100)), in: names)
    timeline.note("c", .wall(timeline.now + 0.1), in: names)
    try timeline.set(to: timeline.now + 0.1)
    #expect(names.values == ["a", "b", "c"])
  }

  @Test(
    "are ended by real time, at the rate of the clock",
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

  @Test("are ended by a move before real time, which later ends the others", arguments: Pace.movable)
  func hand(_ pace: Pace) throws {
    let timeline = Timeline.scripted(pace, time)
    timeline.note("a", .after(.seconds(900)), in: names)
    timeline.note("b", .after(.seconds(1_000)), in: names)
    #expect(try timeline.advance(by: .seconds(900)) == 1)
    #expect(names.values == ["a"])
    // A hundred seconds of the timeline are left.
    time.pass(.milliseconds(99_999) / max(pace.uptimeRate, 0.1))
    #expect(names.values == ["a"])
    time.pass(.milliseconds(1) / max(pace.uptimeRate, 0.1))
    #expect(names.values == (pace == .manual ? ["a"] : ["a", "b"]))
  }

  @Test(
    "until a date wait for wall time, and for a move if wall time stands still", arguments: Pace.movable + [.system])
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

  @Test("until a date sleep longer after the clock is set back; others do not")
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

  @Test("with a past deadline wake at once, after those with earlier deadlines", arguments: Pace.movable)
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

  @Test("sleep endlessly without an overflow and without a wake-up", arguments: Pace.movable)
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

  @Test("see the clock at the end of the jump that wakes them, and sleep again from there")
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

  @Test("share one wake-up, which is set again only for an earlier deadline")
  func oneWakeUp() {
    let timeline = Timeline.scripted(.ticking, time)
    for seconds in [30, 20, 40, 20] { timeline.note("\(seconds)", .after(.seconds(seconds)), in: names) }
    #expect(time.wakeUps == 1)
    time.pass(.seconds(40))
    #expect(names.values == ["20", "20", "30", "40"])
    #expect(time.wakeUps == 0)
  }
}

@Suite("Cancellation of sleeps", .timeLimit(.minutes(5)))
struct CancellationTests {
  @Test("ends a sleep with a CancellationError and removes it", arguments: Pace.movable)
  func sleeping(_ pace: Pace) async throws {
    let clock = DioramaClock(.scripted(pace))
    let task = Task { try await clock.sleep(for: .seconds(3_600)) }
    try await clock.waitForSleepers(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeperCount == 0)
    #expect(try clock.advance(by: .seconds(3_600)) == 0)
  }

  @Test(
    "ends a later sleep, even one with a past deadline",
    arguments: [.live, .manual(start: autumnMorning)] as [DioramaClock])
  func before(_ clock: DioramaClock) async throws {
    for duration in [Duration.seconds(3_600), .zero, .seconds(-1), .seconds(Int64.max)] {
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await clock.sleep(for: duration)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(clock.sleeperCount == 0)
  }

  @Test("of one sleep keeps the order of the others")
  func others() throws {
    let timeline = Timeline.scripted(.manual)
    let names = Collected<String>()
    let sleepers = (0..<100).map { timeline.note("\($0)", .after(.seconds($0 * 37 % 50 + 1)), in: names) }
    for sleeper in sleepers where sleeper.registration.map({ $0 % 3 == 0 }) == true { timeline.cancel(sleeper) }
    let cancelled = names.values
    #expect(cancelled.count == 33)
    try timeline.advance(by: .seconds(50))
    let left = (0..<100).filter { ($0 + 1) % 3 != 0 }.sorted { ($0 * 37 % 50, $0) < ($1 * 37 % 50, $1) }
    #expect(Array(names.values.dropFirst(33)) == left.map(String.init))
  }

  @Test("ends a wait for sleepers")
  func waiting() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    let task = Task { try await clock.waitForSleepers(1) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}

@Suite("Clock with a lost environment", .timeLimit(.minutes(5)))
struct FailingTests {
  private let time = ScriptedTime()
  private let names = Collected<String>()
  private let lost = DioramaError(.control, "the environment is gone")

  @Test("ends the sleeps that only a move could end, in order, now and later")
  func manual() async throws {
    let timeline = Timeline.scripted(.manual, time)
    timeline.note("b", .after(.seconds(20)), in: names)
    timeline.note("a", .after(.seconds(10)), in: names)
    timeline.fail(lost)
    #expect(names.values == ["a: \(lost)", "b: \(lost)"])
    let error = await #expect(throws: DioramaError.self) { try await DioramaClock(timeline).sleep(for: .seconds(1)) }
    #expect(error == lost)
    try await DioramaClock(timeline).sleep(for: .zero)
  }

  @Test("keeps sleeps that real time ends")
  func frozen() {
    let timeline = Timeline.scripted(.frozen, time)
    timeline.note("duration", .after(.seconds(10)), in: names)
    timeline.note("date", .wall(autumnMorning + 10), in: names)
    timeline.fail(lost)
    #expect(names.values == ["date: \(lost)"])
    timeline.note("later", .after(.seconds(10)), in: names)
    time.pass(.seconds(10))
    #expect(names.values == ["date: \(lost)", "duration", "later"])
  }

  @Test("ends waits for sleepers")
  func waiters() async throws {
    let timeline = Timeline.scripted(.manual, time)
    let task = Task { try await timeline.waitForSleepers(1) }
    timeline.fail(lost)
    await #expect(throws: DioramaError.self) { try await task.value }
    await #expect(throws: DioramaError.self) { try await timeline.waitForSleepers(1) }
    try await timeline.waitForSleepers(0)
  }

  @Test("ends work with a deadline and cancels it")
  func deadline() async throws {
    let timeline = Timeline.scripted(.manual, time)
    let clock = DioramaClock(timeline)
    let task = Task {
      try await clock.withDeadline(in: .seconds(10)) { [names] in
        do { try await Task.sleep(for: .seconds(3_600)) } catch { names.add("\(error)") }
      }
    }
    try await clock.waitForSleepers(1)
    timeline.fail(lost)
    await #expect(throws: lost) { try await task.value }
    #expect(names.values.allSatisfy { $0 == "CancellationError()" })
  }
}

@Suite("Waiting for sleepers", .timeLimit(.minutes(5)))
struct WaitingForSleepersTests {
  private let timeline = Timeline.scripted(.manual)
  private let names = Collected<String>()

  @Test("ends at once if enough tasks sleep, otherwise with the last of them")
  func count() {
    _ = timeline.whenSleepers(0) { [names] in names.add("none") }
    #expect(names.values == ["none"])
    _ = timeline.whenSleepers(2) { [names] in names.add("two") }
    timeline.note("a", .after(.seconds(1)), in: names)
    #expect(names.values == ["none"])
    timeline.note("b", .after(.seconds(1)), in: names)
    #expect(names.values == ["none", "two"])
    _ = timeline.whenSleepers(2) { [names] in names.add("two again") }
    #expect(names.values == ["none", "two", "two again"])
  }

  @Test("does not count sleeps with a past deadline")
  func past() async throws {
    let wait = timeline.whenSleepers(1) { [names] in names.add("one") }
    timeline.note("a", .after(.zero), in: names)
    #expect(names.values == ["a"])
    wait.cancel()
    timeline.note("b", .after(.seconds(1)), in: names)
    #expect(names.values == ["a"])
  }

  @Test("counts ticks and deadlines")
  func everything() async throws {
    let clock = DioramaClock(timeline)
    let ticks = Task { for try await _ in try clock.ticks(every: .seconds(1)) {} }
    let work = Task { try await clock.withDeadline(in: .seconds(9)) { try await clock.sleep(until: .distantFuture) } }
    try await clock.waitForSleepers(3)
    ticks.cancel()
    work.cancel()
    await #expect(throws: CancellationError.self) { try await ticks.value }
    await #expect(throws: CancellationError.self) { try await work.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test("may move the clock in its callback; the woken sleepers follow the callback")
  func reentrant() {
    _ = timeline.whenSleepers(1) { [timeline, names] in
      _ = try? timeline.advance(by: .seconds(1))
      names.add("moved")
    }
    timeline.note("a", .after(.seconds(1)), in: names)
    #expect(names.values == ["moved", "a"])
  }

  @Test("throws for a live clock, which does not count sleepers")
  func live() async {
    let error = await #expect(throws: DioramaError.self) { try await DioramaClock.live.waitForSleepers(1) }
    #expect(error?.kind == .clock)
  }
}
