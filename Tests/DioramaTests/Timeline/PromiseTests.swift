@testable import Diorama
import Foundation
import LaunchContract
import Testing
import TestSupport

/// Guarantees that hold in any interleaving of threads, repeated to cover many of them.
///
/// A lost step hangs its test until the time limit.
@Suite("Timeline with several threads", .timeLimit(.minutes(30)))
struct PromiseTests {
  private func manual() -> DioramaClock { .manual(start: autumnMorning) }

  @Test("an advance before, during or after a registration is not lost")
  func registration() async throws {
    for round in 0..<rounds {
      let clock = manual()
      let deadline = clock.instant.advanced(by: .seconds(10))
      if round % 3 == 0 { try clock.advance(by: .seconds(10)) }
      let sleeper = Task.detached { try await clock.sleep(until: deadline) }
      if round % 3 == 1 { try clock.advance(by: .seconds(10)) }
      if round % 3 == 2 {
        try await clock.waitForSleepers(1)
        #expect(try clock.advance(by: .seconds(10)) == 1)
      }
      try await sleeper.value
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("all sleepers wake if many register while other threads advance")
  func crowd() async throws {
    for _ in 0..<rounds {
      let clock = manual()
      try await withThrowingTaskGroup { group in
        for seconds in 1...16 {
          group.addTask { try await clock.sleep(until: DioramaClock.Instant(.seconds(seconds))) }
          group.addTask { _ = try clock.advance(by: .seconds(1)) }
        }
        try await group.waitForAll()
      }
      #expect(clock.sleeperCount == 0)
      #expect(clock.uptime == .seconds(16))
    }
  }

  @Test("sleepers with equal deadlines wake in the order of registration, also if several threads advance")
  func equal() async throws {
    for _ in 0..<rounds {
      let timeline = Timeline.scripted(.manual)
      let names = Collected<String>()
      for index in 0..<8 { timeline.note("\(index)", .uptime(.seconds(index / 4 * 5 + 5)), in: names) }
      async let one = Task.detached { try timeline.advance(by: .seconds(5)) }.value
      async let other = Task.detached { try timeline.advance(by: .seconds(5)) }.value
      #expect(try await one + other == 8)
      // Each thread may leave its actions to the other one.
      #expect(names.values == (0..<8).map(String.init))
    }
  }

  @Test("tasks with equal deadlines continue in the order of registration")
  func tasks() async throws {
    for _ in 0..<rounds {
      let clock = manual()
      let names = Collected<Int>()
      try await clock.run {
        try await withThrowingTaskGroup { group in
          for index in 0..<10 {
            group.addTask {
              try await clock.sleep(for: .seconds(index))
              try await clock.sleep(until: DioramaClock.Instant(.seconds(100)))
              names.add(index)
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(names.values == Array(0..<10))
    }
  }

  @Test("a sleep ends once, by cancellation or by waking")
  func cancellation() async throws {
    var woken = 0
    for round in 0..<rounds {
      let clock = manual()
      let sleeper = Task.detached { try await clock.sleep(for: .seconds(10)) }
      if round % 2 == 0 { try await clock.waitForSleepers(1) }
      let mover = Task.detached { try clock.advance(by: .seconds(10)) }
      sleeper.cancel()
      let count = try await mover.value
      do {
        try await sleeper.value
        woken += 1
        #expect(count == 1)
      } catch {
        #expect(error is CancellationError)
        #expect(count == 0)
      }
      #expect(clock.sleeperCount == 0)
    }
    #expect(woken <= rounds)
  }

  @Test("a task that sleeps again after waking is never lost")
  func again() async throws {
    let clock = manual()
    let rounds = rounds
    let sleeper = Task.detached {
      for round in 1...rounds {
        try await clock.sleep(for: .seconds(10))
        #expect(clock.now == autumnMorning + Double(round) * 10)
      }
    }
    for _ in 0..<rounds {
      try await clock.waitForSleepers(1)
      #expect(try clock.advance(by: .seconds(10)) == 1)
    }
    try await sleeper.value
    #expect(clock.uptime == .seconds(10 * rounds))
  }

  @Test("a sleep ends once, by real time or by a move")
  func real() async throws {
    for _ in 0..<rounds {
      let time = ScriptedTime()
      let clock = DioramaClock(.scripted(.frozen, time))
      let sleeper = Task.detached { try await clock.sleep(until: DioramaClock.Instant(.seconds(10))) }
      let hand = Task.detached { try clock.advance(by: .seconds(6)) }
      time.pass(.seconds(4))
      _ = try await hand.value
      try await sleeper.value
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("the machine's timer wakes each of many sleepers")
  func machine() async throws {
    for _ in 0..<rounds {
      let clock = DioramaClock.frozen(at: autumnMorning)
      try await withThrowingTaskGroup { group in
        for index in 0..<8 { group.addTask { try await clock.sleep(for: .microseconds(index * 20)) } }
        try await group.waitForAll()
      }
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("a change of the clock loses no sleeper")
  func change() async throws {
    for _ in 0..<rounds {
      let timeline = Timeline.scripted(.system)
      let sleeper = Task.detached { try await timeline.sleep(.uptime(.seconds(10))) }
      let change = Task.detached {
        try timeline.change(to: .init(kind: .manual, start: "2018-10-08T09:00:00Z"))
        try timeline.advance(by: .seconds(10))
      }
      try await change.value
      try await sleeper.value
    }
  }

  @Test("work with a deadline ends once, in time or late")
  func deadline() async throws {
    for _ in 0..<rounds {
      let clock = manual()
      let work = Task.detached {
        try await clock.withDeadline(in: .seconds(10)) {
          try await clock.sleep(until: DioramaClock.Instant(.seconds(5)))
        }
      }
      // The sleepers of the deadline, the work, or both: none of them ends before the move.
      try await clock.waitForSleepers(1)
      let hand = Task.detached { _ = try clock.advance(by: .seconds(5)) }
      try clock.advance(by: .seconds(5))
      try await hand.value
      do { try await work.value } catch { #expect((error as? DioramaError)?.kind == .deadline) }
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("a lost environment ends every sleep, earlier or later")
  func failure() async throws {
    let lost = DioramaError(.control, "gone")
    for _ in 0..<rounds {
      let timeline = Timeline.scripted(.manual)
      let sleeper = Task.detached { try await timeline.sleep(.after(.seconds(10))) }
      let waiter = Task.detached { try await timeline.waitForSleepers(2) }
      timeline.fail(lost)
      await #expect(throws: lost) { try await sleeper.value }
      await #expect(throws: lost) { try await waiter.value }
    }
  }
}

@Suite("Reading the clock while it moves", .timeLimit(.minutes(30)))
struct ReadingTests {
  @Test("returns one state or the other, never a mixture")
  func published() async throws {
    final class Box: Sendable {
      let line = PublishedWallLine(WallLine(shown: 0, anchor: 0, rate: 0))
    }
    let box = Box()
    let rounds = rounds * 10
    let readers = (0..<2).map { _ in
      Task.detached { () -> WallLine? in
        var last = 0.0
        while last < Double(rounds) {
          guard let line = box.line.read() else { continue }
          guard line.shown == Double(line.anchor), line.rate == line.shown, line.shown >= last else { return line }
          last = line.shown
        }
        return nil
      }
    }
    try await onThread {
      for round in 1...rounds {
        box.line.publish(WallLine(shown: Double(round), anchor: Int64(round), rate: Double(round)))
      }
    }
    for reader in readers { #expect(await reader.value == nil) }
  }

  @Test("never goes back while the clock only advances")
  func monotonic() async throws {
    let clock = DioramaClock.ticking(from: autumnMorning)
    let rounds = rounds
    let reader = Task.detached { () -> String? in
      var last = (clock.now, clock.instant)
      while last.1.uptime < .seconds(rounds) {
        let next = (clock.now, clock.instant)
        guard next.0 >= last.0, next.1 >= last.1 else { return "\(last) then \(next)" }
        last = next
      }
      return nil
    }
    for _ in 0..<rounds { try clock.advance(by: .seconds(1)) }
    #expect(await reader.value == nil)
  }
}
