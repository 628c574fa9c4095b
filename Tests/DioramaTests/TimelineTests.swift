import Foundation
import Testing

@testable import Diorama

@Suite("Clock kinds")
struct TimelineTests {
  private let start = Date(timeIntervalSince1970: 1_538_989_200)
  private let machine = Date(timeIntervalSince1970: 2_000_000_000)

  @Test(
    "show this wall time, monotonic time and length of a sleep after ninety real seconds",
    arguments: [
      (.frozen, 0, 90, 10), (.ticking, 90, 90, 10), (.scaled(10), 900, 900, 1), (.scaled(0.5), 45, 45, 20),
      (.manual, 0, 0, nil),
    ] as [(Timeline.Pace, Double, Double, Double?)])
  func table(_ pace: Timeline.Pace, _ wall: Double, _ monotonic: Double, _ sleep: Double?) {
    let timeline = Timeline(pace: pace, start: start)
    #expect(timeline.now(elapsed: .seconds(90), machine: machine) == start + wall)
    #expect(timeline.uptime(elapsed: .seconds(90)) == .seconds(monotonic))
    #expect(timeline.realDuration(of: .seconds(10)) == sleep.map { .seconds($0) })
  }

  @Test("leave system time to the machine")
  func system() {
    let timeline = Timeline(pace: .system, start: start)
    #expect(timeline.now(elapsed: .seconds(90), machine: machine) == machine)
    #expect(timeline.uptime(elapsed: .seconds(90)) == .seconds(90))
    #expect(timeline.realDuration(of: .seconds(10)) == .seconds(10))
  }
}
