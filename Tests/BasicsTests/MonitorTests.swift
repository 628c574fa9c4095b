import Basics
import Testing

@Suite("A monitor", .timeLimit(.minutes(1)))
struct MonitorTests {
  private static var far: ContinuousClock.Instant { .now + .seconds(1e9) }

  private func until(_ count: Int, waitFor monitor: Monitor<Int>) async {
    while monitor.waiting != count { await Task.yield() }
  }

  @Test("does not wait if the condition holds, even after the deadline")
  func holds() async throws {
    let monitor = Monitor(1)
    #expect(try await monitor.wait { $0 == 1 })
    #expect(try await monitor.wait(until: .now - .seconds(1)) { $0 == 1 })
    #expect(await monitor.waitIgnoringCancellation { $0 == 1 })
    #expect(monitor.waiting == 0)
  }

  @Test("wakes only the tasks whose condition holds after a change, also one that throws")
  func wakes() async throws {
    struct Failure: Error {}
    let monitor = Monitor(0)
    let first = Task { try await monitor.wait { $0 >= 1 } }
    let second = Task { try await monitor.wait(until: Self.far) { $0 >= 2 } }
    await until(2, waitFor: monitor)
    monitor.withLock { $0 = 1 }
    #expect(monitor.waiting == 1)
    #expect(try await first.value)
    #expect(throws: Failure.self) {
      try monitor.withLock { value throws(Failure) in
        value = 2
        throw Failure()
      }
    }
    #expect(monitor.waiting == 0)
    #expect(try await second.value)
  }

  @Test("wakes tasks in the order in which they began to wait")
  @MainActor func order() async throws {
    let monitor = Monitor(0)
    var woken: [Int] = []
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<20 {
      // The main actor runs them in the order in which they are resumed.
      tasks.append(
        Task {
          try await monitor.wait { $0 == 1 }
          woken.append(number)
        })
      await until(number + 1, waitFor: monitor)
    }
    monitor.withLock { $0 = 1 }
    for task in tasks { try await task.value }
    #expect(woken == Array(0..<20))
  }

  @Test("gives up at the deadline")
  func deadline() async throws {
    let monitor = Monitor(0)
    let time = ContinuousClock.now + .milliseconds(20)
    #expect(try await !monitor.wait(until: time) { $0 == 1 })
    #expect(ContinuousClock.now >= time)
    #expect(await !monitor.waitIgnoringCancellation(until: .now - .seconds(1)) { $0 == 1 })
    #expect(monitor.waiting == 0)
  }

  @Test("ends a wait when the task is or was cancelled")
  func cancelled() async throws {
    let monitor = Monitor(0)
    let waiting = Task { try await monitor.wait(until: Self.far) { $0 == 1 } }
    await until(1, waitFor: monitor)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await monitor.wait { $0 == 1 }
    }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(monitor.waiting == 0)
  }

  @Test("continues a wait that ignores cancellation")
  func ignoresCancellation() async {
    let monitor = Monitor(0)
    let waiting = Task {
      while !Task.isCancelled { await Task.yield() }
      return await monitor.waitIgnoringCancellation { $0 == 1 }
    }
    waiting.cancel()
    await until(1, waitFor: monitor)
    monitor.withLock { $0 = 1 }
    #expect(await waiting.value)
  }

  @Test("misses no change, cancellation or deadline of many tasks")
  func races() async {
    let monitor = Monitor(0)
    let met = await withTaskGroup(of: Bool.self) { group in
      for number in 1...400 {
        group.addTask {
          let deadline = number.isMultiple(of: 3) ? ContinuousClock.now : Self.far
          let task = Task { try await monitor.wait(until: deadline) { $0 >= number } }
          if number.isMultiple(of: 5) { task.cancel() }
          monitor.withLock { $0 += 1 }
          return (try? await task.value) ?? false
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(monitor.waiting == 0)
    // All that were neither cancelled nor too late.
    #expect(met >= (1...400).count { !$0.isMultiple(of: 3) && !$0.isMultiple(of: 5) })
  }
}
