import Foundation
import TestSupport
import Testing

@testable import Diorama

@Suite("Reading the clock while it is moved", .timeLimit(.minutes(30)))
struct ReadingTests {
  @Test("gives one line or the other, never a mixture")
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

  @Test("never goes back while it only goes on")
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
