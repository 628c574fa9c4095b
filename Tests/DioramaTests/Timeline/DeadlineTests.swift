@testable import Diorama
import Foundation
import Testing

@Suite("Work with a deadline", .timeLimit(.minutes(5)))
struct DeadlineTests {
  private let clock = DioramaClock.manual(start: autumnMorning)
  private let names = Collected<String>()

  @Test("returns its result if it ends in time, and leaves no sleeper")
  func done() async throws {
    let clock = clock
    let value = try await clock.run {
      try await clock.withDeadline(in: .seconds(30)) {
        try await clock.sleep(for: .seconds(29))
        return 7
      }
    }
    #expect(value == 7)
    #expect(clock.uptime == .seconds(29))
    #expect(clock.sleeperCount == 0)
  }

  @Test("is cancelled when the deadline passes")
  func late() async throws {
    let (clock, names) = (clock, names)
    let task = Task {
      try await clock.withDeadline(in: .seconds(30)) {
        do {
          try await clock.sleep(for: .seconds(31))
        } catch {
          names.add("\(error)")
        }
        return "too late"
      }
    }
    try await clock.waitForSleepers(2)
    #expect(try clock.advance(by: .seconds(30)) == 1)
    let error = await #expect(throws: DioramaError.self) { try await task.value }
    #expect(error?.kind == .deadline)
    #expect(error?.description == "the work did not end within 30.0 seconds")
    #expect(names.values == ["CancellationError()"])
    #expect(clock.sleeperCount == 0)
  }

  @Test("shares a deadline with other work; the earlier registration wakes first")
  func shared() async throws {
    let clock = clock
    let deadline = clock.instant.advanced(by: .seconds(10))
    let late = DioramaError(.deadline, "the work did not end by 10.0 seconds of the app's time")
    // The deadline is registered before the work's own sleep, and so wakes first.
    await #expect(throws: late) {
      try await clock.run { try await clock.withDeadline(at: deadline) { try await clock.sleep(until: deadline) } }
    }
    await #expect(throws: late) { try await clock.withDeadline(at: deadline) { Issue.record("begun too late") } }
  }

  @Test("does not begin without time", arguments: [.live, .manual(start: autumnMorning)] as [DioramaClock])
  func nothing(_ clock: DioramaClock) async {
    for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      await #expect(throws: DioramaError.self) {
        try await clock.withDeadline(in: duration) { Issue.record("begun too late") }
      }
    }
  }

  @Test("throws the error of the work", arguments: [.live, .manual(start: autumnMorning)] as [DioramaClock])
  func failure(_ clock: DioramaClock) async {
    let own = DioramaError(.invalidRequest, "no")
    await #expect(throws: own) { try await clock.withDeadline(in: .seconds(3_600)) { throw own } }
    #expect(clock.sleeperCount == 0)
  }

  @Test("is cancelled with its task, and throws its own error")
  func cancelled() async throws {
    let clock = clock
    let task = Task {
      try await clock.withDeadline(in: .seconds(30)) {
        try? await clock.sleep(for: .seconds(20))
        return Task.isCancelled
      }
    }
    try await clock.waitForSleepers(2)
    task.cancel()
    #expect(try await task.value)
    #expect(clock.sleeperCount == 0)
  }
}

@Suite("Timers", .timeLimit(.minutes(5)))
struct TicksTests {
  @Test("tick at fixed deadlines, however long the handling of a tick takes")
  func fixed() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    let seen = try await clock.run {
      var seen: [Duration] = []
      for try await tick in try clock.ticks(every: .milliseconds(100)) {
        #expect(tick.count == 1)
        seen.append(clock.uptime)
        try await clock.sleep(for: .milliseconds(99))
        if seen.count == 10 { break }
      }
      return seen
    }
    #expect(seen == (1...10).map { .milliseconds(100 * $0) })
  }

  @Test("combine all deadlines that a move passes in one tick")
  func missed() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    try clock.advance(by: .seconds(5))
    let ticks = try clock.ticks(every: .seconds(10))
    try clock.advance(by: .seconds(35))
    var iterator = ticks.makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first.deadline.uptime == .seconds(35))
    #expect(first.count == 3)
    try clock.advance(by: .seconds(5))
    let second = try #require(try await iterator.next())
    #expect(second.deadline.uptime == .seconds(45))
    #expect(second.count == 1)
    #expect(clock.sleeperCount == 0)
  }

  @Test("tick once for each advance by an interval")
  func advanced() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    let task = Task {
      var count = 0
      for try await tick in try clock.ticks(every: .seconds(1)) {
        count += 1
        #expect(tick.deadline.uptime == .seconds(count))
        if count == 100 { break }
      }
    }
    for _ in 0..<100 {
      try await clock.waitForSleepers(1)
      #expect(try clock.advance(by: .seconds(1)) == 1)
    }
    try await task.value
  }

  @Test("reject an interval that is not positive", arguments: [.zero, .seconds(-1)] as [Duration])
  func refused(_ interval: Duration) {
    let error = #expect(throws: DioramaError.self) { try DioramaClock.live.ticks(every: interval) }
    #expect(error?.kind == .clock)
  }

  @Test("support an endless interval")
  func forever() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    let task = Task { for try await _ in try clock.ticks(every: .seconds(Int64.max)) {} }
    try await clock.waitForSleepers(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
