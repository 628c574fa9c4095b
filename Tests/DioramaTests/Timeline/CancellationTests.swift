import Foundation
import Testing

@testable import Diorama

@Suite("Cancelling", .timeLimit(.minutes(5)))
struct CancellationTests {
  @Test("ends a sleep with a CancellationError, and counts it no more", arguments: Pace.movable)
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
    "ends a sleep that begins later, even one with nothing to wait for",
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

  @Test("one sleep leaves the others in their order")
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
