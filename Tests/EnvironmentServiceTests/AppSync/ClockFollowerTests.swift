import Basics
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("A follower of the clock")
struct ClockFollowerTests {
  @Test("gets what the clock shows at once, and after each change")
  func follows() async throws {
    try await withService { fixture in
      let start = Date(timeIntervalSince1970: 1_538_989_200)
      let environment = try fixture.provision(.mock) {
        $0.clock.kind = "frozen"
        $0.clock.start = start
      }
      let readings = Guarded<[Environment.ClockReading]>([])
      environment.followClock { reading in readings.withLock { $0.append(reading) } }
      _ = try await environment.moveClock(.advance(.seconds(90)), afterSleepers: nil, timeout: .seconds(60))
      try await environment.update(clock: .init(kind: .scaled, rate: 60), timeout: .seconds(60))
      let all = readings.withLock { $0 }
      #expect(all.map(\.kind) == [.frozen, .frozen, .scaled])
      #expect(all.prefix(2).map(\.date) == [start, start + 90])
      #expect(all.last?.rate == 60 && (all.last?.date ?? start) >= start + 90)
      _ = await environment.end()
    }
  }
}
