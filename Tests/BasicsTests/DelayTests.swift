import Basics
import Testing

@Suite("A delay", .timeLimit(.minutes(1)))
struct DelayTests {
  /// Signals when it is deallocated.
  private final class Held: Sendable {
    let isGone: AsyncStream<Never>.Continuation

    init(_ isGone: AsyncStream<Never>.Continuation) { self.isGone = isGone }

    deinit { isGone.finish() }
  }

  @Test("calls when it is due")
  func calls() async {
    let start = ContinuousClock.now
    let time = start + .milliseconds(20)
    let called = await withCheckedContinuation { continuation in
      let delay = Guarded<Delay?>(nil)
      let made = Delay(until: time) {
        continuation.resume(returning: ContinuousClock.now)
        delay.withLock { $0 = nil }
      }
      delay.withLock { $0 = made }
    }
    #expect(called >= time)
  }

  @Test("leaves nothing behind when it is released")
  func dropped() async {
    let (gone, isGone) = AsyncStream.makeStream(of: Never.self)
    do {
      let held = Held(isGone)
      let delay = Delay(until: .now + .seconds(3600)) { withExtendedLifetime(held) {} }
      withExtendedLifetime(delay) {}
    }
    for await _ in gone {}
  }

  @Test("ends a sleep when it is due, and at once when the task is cancelled")
  func sleep() async throws {
    let time = ContinuousClock.now + .milliseconds(20)
    try await Delay.sleep(until: time)
    #expect(ContinuousClock.now >= time)
    let sleeping = Task { try await Delay.sleep(until: .now + .seconds(1e9)) }
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
  }
}
