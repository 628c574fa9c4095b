import ControlAPI
import Basics
import Foundation
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The clock of a restored environment")
struct RestoredClockTests {
  @Test("shows the same time as before if it does not run", arguments: ["frozen", "manual"])
  func stands(kind: String) async throws {
    try await withService { fixture in
      try await fixture.twoLives(.mock) {
        $0.clock.kind = kind
        $0.clock.start = beginning
        $0.clock.timeZone = "Asia/Tokyo"
      } before: { environment async throws in
        _ = try await environment.moveClock(.advance(.milliseconds(1500)), afterSleepers: nil, timeout: .zero)
      } after: { environment async throws in
        #expect(environment.now == beginning.addingTimeInterval(1.5))
        #expect(environment.contract.clock.timeZone == "Asia/Tokyo")
        #expect(environment.report().clock.start == "2018-10-08T09:00:00Z")
      }
    }
  }

  @Test("has moved on by the time that has passed if it runs", arguments: [("ticking", 1.0), ("scaled", 100.0)])
  func runs(kind: String, rate: Double) async throws {
    try await withService { fixture in
      let seen = Guarded((Date.distantPast, Date.distantPast))
      try await fixture.twoLives(.mock) {
        $0.clock.kind = kind
        $0.clock.rate = rate
        $0.clock.start = beginning
      } before: { environment async throws in
        _ = try await environment.moveClock(.advance(.seconds(3600)), afterSleepers: nil, timeout: .zero)
        let now = (Date(), environment.now)
        seen.withLock { $0 = now }
      } after: { environment async throws in
        let (real, shown) = seen.withLock { $0 }
        let expected = shown.addingTimeInterval(Date().timeIntervalSince(real) * rate)
        #expect(abs(environment.now.timeIntervalSince(expected)) < 0.05 * rate)
      }
    }
  }

  @Test("has the kind that it was changed to")
  func changed() async throws {
    try await withService { fixture in
      try await fixture.twoLives(.mock) {
        $0.clock.start = beginning
      } before: { environment async throws in
        try await environment.update(clock: .init(kind: .scaled, rate: 60), timeout: .zero)
      } after: { environment async throws in
        #expect(environment.contract.clock.kind == .scaled)
        #expect(environment.contract.clock.rate == 60)
      }
    }
  }
}
