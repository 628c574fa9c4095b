import Foundation
import Testing

@testable import Diorama

@Suite("Waiting for sleepers", .timeLimit(.minutes(5)))
struct WaitingForSleepersTests {
  private let timeline = Timeline.scripted(.manual)
  private let names = Collected<String>()

  @Test("ends at once where so many sleep, else with the last of them")
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

  @Test("does not count those who need not wait")
  func past() async throws {
    let wait = timeline.whenSleepers(1) { [names] in names.add("one") }
    timeline.note("a", .after(.zero), in: names)
    #expect(names.values == ["a"])
    wait.cancel()
    timeline.note("b", .after(.seconds(1)), in: names)
    #expect(names.values == ["a"])
  }

  @Test("counts ticks and deadlines too")
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

  @Test("may move the clock from its own call: what is woken comes after it")
  func reentrant() {
    _ = timeline.whenSleepers(1) { [timeline, names] in
      _ = try? timeline.advance(by: .seconds(1))
      names.add("moved")
    }
    timeline.note("a", .after(.seconds(1)), in: names)
    #expect(names.values == ["moved", "a"])
  }

  @Test("is refused by a live clock, which counts nobody")
  func live() async {
    let error = await #expect(throws: DioramaError.self) { try await DioramaClock.live.waitForSleepers(1) }
    #expect(error?.kind == .clock)
  }
}
