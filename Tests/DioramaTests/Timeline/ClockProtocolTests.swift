@testable import Diorama
import Foundation
import Testing

@Suite("DioramaClock as a Clock", .timeLimit(.minutes(5)))
struct ClockProtocolTests {
  private let clock = DioramaClock.manual(start: autumnMorning)

  private func wait<C: Clock>(_ clock: C, _ duration: C.Duration) async throws -> C.Duration {
    let start = clock.now
    try await clock.sleep(until: start.advanced(by: duration), tolerance: nil)
    try await clock.sleep(for: duration)
    return start.duration(to: clock.now)
  }

  @Test("uses monotonic instants for now and for sleeps")
  func generic() async throws {
    let clock = clock
    let waited = try await clock.run { try await wait(clock, .seconds(30)) }
    #expect(waited == .seconds(60))
    let existential: any Clock<Duration> = clock
    try await clock.run { try await existential.sleep(for: .seconds(30)) }
    #expect(clock.uptime == .seconds(90))
  }

  @Test("measures the app's time")
  func measured() async throws {
    let clock = clock
    let took = try await clock.run { try await clock.measure { try await clock.sleep(for: .seconds(900)) } }
    #expect(took == .seconds(900))
  }

  @Test("has a separate wall time")
  func now() throws {
    let today: Date = clock.now
    #expect(today == autumnMorning)
    try clock.advance(by: .seconds(5))
    #expect(clock.instant.uptime == .seconds(5))
    #expect(clock.instant.description == "5.0 seconds")
  }

  @Test("has instants that do not overflow with any duration")
  func instants() {
    let instant = clock.instant
    let durations: [Duration] = [
      .seconds(1), .seconds(-1), .seconds(Int64.max), .seconds(Int64.min), Duration(attoseconds: .max),
      Duration(attoseconds: .min),
    ]
    for duration in durations {
      let other = instant.advanced(by: duration)
      #expect((other < instant) == (duration < .zero))
      #expect(instant.advanced(by: instant.duration(to: other)) == other)
      for further in durations { _ = other.advanced(by: further).duration(to: instant) }
    }
  }

  @Test("makes a clock of each kind, in the requested time zone only")
  func makings() throws {
    let zone = try #require(TimeZone(identifier: "Asia/Kathmandu"))
    let clocks: [DioramaClock] = [
      .manual(start: autumnMorning, timeZone: zone), .frozen(at: autumnMorning, timeZone: zone),
      .ticking(from: autumnMorning, timeZone: zone), try .scaled(from: autumnMorning, rate: 0.000_001, timeZone: zone),
    ]
    for clock in clocks {
      #expect(0..<60 ~= clock.now.timeIntervalSince(autumnMorning))
      #expect(clock.timeZone == zone)
      #expect(clock.locale.identifier == "en_US_POSIX")
    }
    #expect(DioramaClock.manual(start: autumnMorning).timeZone == .gmt)
    for rate in [0, -1, .nan, .infinity, 1e7] as [Double] {
      #expect(throws: DioramaError.self) { try DioramaClock.scaled(from: autumnMorning, rate: rate) }
    }
  }
}
