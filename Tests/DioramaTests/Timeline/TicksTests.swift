import Foundation
import Testing

@testable import Diorama

@Suite("A timer", .timeLimit(.minutes(5)))
struct TicksTests {
  @Test("ticks at fixed deadlines, however long each tick takes to be dealt with")
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

  @Test("stands for all the deadlines that one move has passed")
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

  @Test("is woken by one advance for each interval")
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

  @Test("refuses an interval of nothing", arguments: [.zero, .seconds(-1)] as [Duration])
  func refused(_ interval: Duration) {
    let error = #expect(throws: DioramaError.self) { try DioramaClock.live.ticks(every: interval) }
    #expect(error?.kind == .clock)
  }

  @Test("bears an interval beyond all time")
  func forever() async throws {
    let clock = DioramaClock.manual(start: autumnMorning)
    let task = Task { for try await _ in try clock.ticks(every: .seconds(Int64.max)) {} }
    try await clock.waitForSleepers(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
