import Foundation
import LaunchContract
import Testing

@testable import Diorama

@Suite("A clock whose environment is lost", .timeLimit(.minutes(5)))
struct FailingTests {
  private let time = ScriptedTime()
  private let names = Collected<String>()
  private let lost = DioramaError(.control, "the environment is gone")

  @Test("ends the sleeps that only a hand could have ended, in their order, now and later")
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

  @Test("leaves alone what real time ends")
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

  @Test("ends waits for sleepers, which may never come")
  func waiters() async throws {
    let timeline = Timeline.scripted(.manual, time)
    let task = Task { try await timeline.waitForSleepers(1) }
    timeline.fail(lost)
    await #expect(throws: DioramaError.self) { try await task.value }
    await #expect(throws: DioramaError.self) { try await timeline.waitForSleepers(1) }
    try await timeline.waitForSleepers(0)
  }

  @Test("ends work under a deadline, and the work hears of it")
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
