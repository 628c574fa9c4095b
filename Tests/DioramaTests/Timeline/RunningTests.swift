import Foundation
import Testing

@testable import Diorama

@Suite("Running a clock to the end", .timeLimit(.minutes(5)))
struct RunningTests {
  private let clock = DioramaClock.manual(start: autumnMorning)
  private let names = Collected<String>()

  private func note(_ name: String) {
    names.add("\(name) \(clock.uptime.components.seconds)")
  }

  @Test("moves from deadline to deadline until no sleeper is left")
  func empty() throws {
    let timeline = try #require(clock.timeline)
    let (clock, names) = (clock, names)
    for (name, seconds) in [("c", 30), ("a", 10), ("b", 10)] {
      timeline.register(Sleeper(.after(.seconds(seconds)))) { _ in
        names.add("\(name) \(clock.uptime.components.seconds)")
      }
    }
    timeline.register(Sleeper(.wall(autumnMorning + 20))) { _ in
      names.add("date \(clock.now.timeIntervalSince(autumnMorning))")
    }
    timeline.note("beyond the year 9999", .after(.seconds(300_000_000_000)), in: names)
    timeline.note("distant future", .wall(.distantFuture), in: names)
    #expect(try clock.run() == 4)
    #expect(names.values == ["a 10", "b 10", "date 20.0", "c 30"])
    #expect(try clock.run() == 0)
    #expect(clock.sleeperCount == 2)
  }

  @Test("includes a sleeper that sleeps again when it wakes")
  func again() throws {
    let timeline = try #require(clock.timeline)
    @Sendable func sleep(_ left: Int) {
      timeline.register(Sleeper(.after(.seconds(10)))) { [names] _ in
        names.add("\(timeline.uptime.components.seconds)")
        if left > 1 { sleep(left - 1) }
      }
    }
    sleep(5)
    #expect(try clock.run() == 5)
    #expect(names.values == ["10", "20", "30", "40", "50"])
  }

  @Test("runs work to its end, with the clock at the deadline of each sleeper in order")
  func work() async throws {
    let result = try await clock.run { [self] in
      try await withThrowingTaskGroup { group in
        group.addTask { try await sleeper("a", every: 30, times: 3) }
        group.addTask { try await sleeper("b", every: 20, times: 4) }
        group.addTask { try await sleeper("c", every: 60, times: 1) }
        try await group.waitForAll()
      }
      return "done"
    }
    #expect(result == "done")
    #expect(names.values == ["b 20", "a 30", "b 40", "c 60", "a 60", "b 60", "b 80", "a 90"])
    #expect(clock.now == autumnMorning + 90)
  }

  @Sendable private func sleeper(_ name: String, every seconds: Int, times: Int) async throws {
    for _ in 0..<times {
      try await clock.sleep(for: .seconds(seconds))
      note(name)
    }
  }

  @Test("passes hours of ticks quickly, and respects a deadline")
  func hours() async throws {
    let clock = clock
    await #expect(throws: DioramaError.self) {
      try await clock.run { [names] in
        try await clock.withDeadline(in: .seconds(86_400)) {
          for try await tick in try clock.ticks(every: .seconds(60)) { names.add("\(tick.deadline)") }
        }
      }
    }
    // The last tick coincides with the deadline, wakes after it, and is handled before the cancellation.
    #expect(names.values.count == 1_440)
    #expect(clock.uptime == .seconds(86_400))
  }

  @Test("also moves for unstructured tasks that the work starts")
  func unstructured() async throws {
    let clock = clock
    let uptime = try await clock.run {
      try await Task.detached {
        for _ in 0..<100 { try await clock.sleep(for: .seconds(10)) }
        return clock.uptime
      }.value
    }
    #expect(uptime == .seconds(1_000))
  }

  @Test("throws the error of the work, and leaves the clock there")
  func failure() async throws {
    let clock = clock
    await #expect(throws: CancellationError.self) {
      try await clock.run {
        try await clock.sleep(for: .seconds(5))
        throw CancellationError()
      }
    }
    #expect(clock.uptime == .seconds(5))
    clock.timeline?.note("later", .after(.seconds(5)), in: names)
    #expect(clock.sleeperCount == 1)
  }

  @Test("throws for a system clock", arguments: [.live, DioramaClock(.scripted(.system))])
  func system(_ clock: DioramaClock) async {
    let error = await #expect(throws: DioramaError.self) { try await clock.run { Issue.record("begun") } }
    #expect(error?.kind == .clock)
  }
}
