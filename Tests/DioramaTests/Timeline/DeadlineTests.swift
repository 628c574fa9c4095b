import Foundation
import Testing

@testable import Diorama

@Suite("Work under a deadline", .timeLimit(.minutes(5)))
struct DeadlineTests {
  private let clock = DioramaClock.manual(start: autumnMorning)
  private let names = Collected<String>()

  @Test("returns what it has when it is done in time, and leaves no sleeper")
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

  @Test("is cancelled when its time is over")
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
    #expect(error?.description == "the work was not done within 30.0 seconds")
    #expect(names.values == ["CancellationError()"])
    #expect(clock.sleeperCount == 0)
  }

  @Test("shares a deadline with other work; the earlier registration is woken first")
  func shared() async throws {
    let clock = clock
    let deadline = clock.instant.advanced(by: .seconds(10))
    let late = DioramaError(.deadline, "the work was not done by 10.0 seconds of the app's time")
    // Registered before the work's own sleep, the deadline of the same instant comes first.
    await #expect(throws: late) {
      try await clock.run { try await clock.withDeadline(at: deadline) { try await clock.sleep(until: deadline) } }
    }
    await #expect(throws: late) { try await clock.withDeadline(at: deadline) { Issue.record("begun too late") } }
  }

  @Test("is not begun without any time", arguments: [.live, .manual(start: autumnMorning)] as [DioramaClock])
  func nothing(_ clock: DioramaClock) async {
    for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      await #expect(throws: DioramaError.self) {
        try await clock.withDeadline(in: duration) { Issue.record("begun too late") }
      }
    }
  }

  @Test("throws what it throws", arguments: [.live, .manual(start: autumnMorning)] as [DioramaClock])
  func failure(_ clock: DioramaClock) async {
    let own = DioramaError(.invalidRequest, "no")
    await #expect(throws: own) { try await clock.withDeadline(in: .seconds(3_600)) { throw own } }
    #expect(clock.sleeperCount == 0)
  }

  @Test("is cancelled with its task, and says so itself")
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
