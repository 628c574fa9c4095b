import Diorama
import EnvironmentConfiguration
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("The pace of a replayed stream")
struct StreamWaitTests {
  @Test(
    "is written as on the command line, and read back",
    arguments: [
      ("instant", StreamPace.instant), ("recorded", .recorded), ("timeline", .timeline), ("scaled:2.5", .scaled(2.5)),
    ])
  func words(text: String, pace: StreamPace) {
    #expect(StreamPace(rawValue: text) == pace)
    #expect(pace.rawValue == text)
  }

  @Test(
    "is refused with what there is to choose from",
    arguments: ["", "fast", "scaled", "scaled:", "scaled:0", "scaled:nan", "scaled:-1", "scaled:1e9", "instant:2"])
  func refused(text: String) {
    #expect(StreamPace(rawValue: text) == nil)
    #expect(EnvironmentConfiguration.problem(withPace: text)?.contains("scaled:") == true)
  }

  @Test("recorded: a part leaves no earlier than it came; scaled: no earlier than its share of that")
  func real() async throws {
    let timeline = try Timeline(LaunchContract.Clock(kind: .system))
    for (pace, least) in [(StreamPace.recorded, Duration.milliseconds(60)), (.scaled(3), .milliseconds(20))] {
      let start = ContinuousClock.now
      let wait = StreamWait(pace, timeline: timeline)
      try await wait.wait(0)
      try await wait.wait(60)
      #expect(start.duration(to: .now) >= least)
    }
  }

  @Test(
    "timeline: a part leaves when a hand has moved the clock as far, and not before",
    arguments: [LaunchContract.Clock.Kind.frozen, .manual])
  func moved(kind: LaunchContract.Clock.Kind) async throws {
    let timeline = try Timeline(LaunchContract.Clock(kind: kind, start: "2018-10-08T09:00:00Z"))
    let wait = StreamWait(.timeline, timeline: timeline)
    try await wait.wait(0)
    let waiting = Task { try await wait.wait(30_000) }
    let clock = DioramaClock(timeline)
    try await clock.waitForSleepers(1)
    #expect(try clock.advance(by: .milliseconds(29_999)) == 0)
    #expect(try clock.advance(by: .milliseconds(1)) == 1)
    try await waiting.value
    // Counted from the beginning of the stream, not of the wait.
    try await wait.wait(20_000)
  }
}
