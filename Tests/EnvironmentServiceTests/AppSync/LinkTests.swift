import ControlAPI
import Basics
import Diorama
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

extension Toggle<Int> {
  fileprivate static let level = Toggle("level", default: -1)
}

@Suite("An app with a live link")
struct LinkTests {
  /// The number of steps: `DIORAMA_ROUNDS`, for a long run.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 1_000

  @Test("has its toggles and values changed by the time the change returns")
  func updates() async throws {
    try await withService { fixture in
      let environment = try fixture.manual {
        $0.toggles = ["level": .int(1)]
        $0.values = ["place": .object(["x": .int(1), "y": .int(2)])]
      }
      let app = try await FollowingFixture(environment.contract)
      #expect(app.controls.toggles[.level] == 1)
      let revision = try await environment.update(
        toggles: ["level": .int(2)], values: ["place": .object(["x": .null, "z": .int(3)])], timeout: .seconds(60))
      #expect(revision == 1)
      #expect(app.controls.toggles[.level] == 2)
      #expect(app.controls.values["place"] == #"{"y":2,"z":3}"#)
      try await environment.update(toggles: ["level": nil], values: ["place": nil], timeout: .seconds(60))
      #expect(app.controls.toggles[.level] == -1)
      #expect(app.controls.values["place"] == nil)
      #expect(app.warnings == [])
    }
  }

  @Test("has its clock moved and set, and shows exactly the environment's time")
  func moves() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await FollowingFixture(environment.contract)
      for duration in [Duration.seconds(900), .milliseconds(100), .nanoseconds(1), .seconds(3) / 7] {
        let moved = try await environment.moveClock(.advance(duration), afterSleepers: nil, timeout: .seconds(60))
        #expect(app.controls.clock.now == environment.now)
        #expect(moved.now == environment.now)
      }
      let early = beginning - 0.123_456_789
      let moved = try await environment.moveClock(.set(early), afterSleepers: nil, timeout: .seconds(60))
      #expect(app.controls.clock.now == early)
      #expect(moved.now == early)
      #expect(environment.report().clock.now == RFC3339.format(early))
    }
  }

  @Test("has its clock's kind, rate, time zone and locale changed")
  func changesClock() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.clock.timeZone = "Europe/London" }
      let app = try await FollowingFixture(environment.contract)
      try await environment.update(
        clock: .init(kind: .frozen, start: beginning + 60, timeZone: "Asia/Kathmandu", locale: "ne_NP"),
        timeout: .seconds(60))
      #expect(app.controls.clock.now == beginning + 60)
      #expect(app.controls.clock.timeZone.identifier == "Asia/Kathmandu")
      #expect(app.controls.clock.locale.identifier == "ne_NP")
      try await environment.update(clock: .init(kind: .manual), timeout: .seconds(60))
      #expect(app.controls.clock.now == beginning + 60)
      #expect(environment.contract.clock.kind == .manual)
      #expect(environment.contract.clock.timeZone == "Asia/Kathmandu")
      try await environment.update(clock: .init(kind: .system), timeout: .seconds(60))
      #expect(abs(app.controls.clock.now.timeIntervalSinceNow) < 60)
      #expect(environment.report().clock.kind == "system")
    }
  }

  @Test("applies a thousand steps in order, each exactly once, and acknowledges each")
  func thousand() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["level": .int(0)] }
      let app = try await FollowingFixture(environment.contract)
      var woken = 0
      for round in 1...Self.rounds {
        async let slept: Void = app.controls.clock.sleep(for: .seconds(1))
        let moved: Environment.Moved
        do {
          moved = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: 1, timeout: .seconds(60))
        } catch {
          // It may have lost its link for a reason that it names.
          Issue.record("round \(round): the app wrote \(app.warnings)")
          throw error
        }
        try await slept
        woken += moved.woken
        #expect(moved.revision == 2 * round - 1)
        #expect(app.controls.clock.now == beginning + Double(round))
        try await environment.update(toggles: ["level": .int(round)], timeout: .seconds(60))
        #expect(app.controls.toggles[.level] == round)
      }
      #expect(woken == Self.rounds)
      #expect(app.controls.clock.uptime >= .seconds(Self.rounds))
      let acknowledged = environment.live { live, _ in live.followers.values.map(\.revision) }
      #expect(acknowledged == [2 * Self.rounds])
      #expect(app.warnings == [])
    }
  }

  @Test("applies steps that several tasks make concurrently, in the order of their numbers")
  func concurrent() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["level": .int(0)] }
      let app = try await FollowingFixture(environment.contract)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...100 {
          group.addTask {
            if number % 2 == 0 {
              try await environment.update(toggles: ["t\(number)": .int(number)], timeout: .seconds(60))
            } else {
              _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .seconds(60))
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(app.controls.clock.now == beginning + 50)
      #expect(environment.contract.toggles.count == 51)
      #expect(environment.live { live, _ in live.followers.values.map(\.revision) } == [100])
    }
  }

  @Test("lets threads read toggles while they change, and no thread sees an older value again")
  func readers() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["level": .int(0)] }
      let app = try await FollowingFixture(environment.contract)
      let (level, last) = (Toggle<Int>.level, 100)
      // Stops the threads, so that the test fails instead of hanging if a toggle cannot be switched.
      let isOver = Guarded(false)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        defer { isOver.withLock { $0 = true } }
        for _ in 0..<4 {
          group.addTask {
            try await onThread {
              var seen = 0
              while seen < last, !isOver.withLock({ $0 }) {
                for _ in 0..<16 {
                  let read = app.controls.toggles[level]
                  guard read >= seen else { return false }
                  seen = read
                }
                // Without a pause the threads keep the runtime's locks from everyone else, above all under a sanitizer.
                usleep(200)
              }
              return true
            }
          }
        }
        for level in 1...last { try await environment.update(toggles: ["level": .int(level)], timeout: .seconds(60)) }
        for try await isInOrder in group { #expect(isInOrder) }
      }
    }
  }

  @Test("has reported what it read before a step, once that step is acknowledged")
  func readings() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["first": .bool(true)] }
      let app = try await FollowingFixture(environment.contract)
      for round in 1...50 {
        // The first is sent at once; those read in the meantime have to wait.
        let names = (1...5).map { "round \(round) toggle \($0)" }
        for name in names { _ = app.controls.toggles[Toggle(name, default: round)] }
        _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .seconds(60))
        let read = environment.report().toggles.read
        for name in names { #expect(read[name] == .int(round)) }
      }
    }
  }

  @Test("has reported what it read before it slept, once the environment knows that it sleeps")
  func readingsBeforeSleep() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await FollowingFixture(environment.contract)
      for round in 1...50 {
        let names = (1...5).map { "round \(round) toggle \($0)" }
        async let slept: Void = {
          for name in names { _ = app.controls.toggles[Toggle(name, default: round)] }
          try await app.controls.clock.sleep(for: .seconds(1))
        }()
        _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: 1, timeout: .seconds(60))
        let read = environment.report().toggles.read
        for name in names { #expect(read[name] == .int(round)) }
        try await slept
      }
    }
  }

  @Test("can be moved and waited for without a limit")
  func unlimited() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await FollowingFixture(environment.contract)
      for timeout in [Duration.seconds(Int64.max), .seconds(1 << 60)] {
        _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: timeout)
      }
      #expect(app.controls.clock.now == beginning + 2)
      for far in [Duration.seconds(Int64.max), .seconds(Int64.min), .seconds(1 << 62)] {
        await #expect(throws: CodedError.self) {
          try await environment.moveClock(.advance(far), afterSleepers: nil, timeout: .seconds(60))
        }
      }
      await #expect(throws: CodedError.self) {
        try await environment.moveClock(.set(.distantFuture + 1e300), afterSleepers: nil, timeout: .seconds(60))
      }
      #expect(app.controls.clock.now == beginning + 2)
    }
  }

  @Test("accepts values nested up to the maximum depth, and no deeper")
  func deep() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await FollowingFixture(environment.contract)
      var value = JSON.string("ground")
      for depth in 0..<JSON.maximumDecodedDepth { value = depth % 2 == 0 ? .array([value]) : .object(["a": value]) }
      try await environment.update(toggles: ["deep": value], values: ["deep": value], timeout: .seconds(60))
      #expect(try await FollowingFixture(environment.contract).controls.values["deep"]?.contains("ground") == true)
      let deeper = JSON.array([value])
      await #expect(throws: CodedError.self) {
        try await environment.update(toggles: ["deep": deeper], timeout: .seconds(60))
      }
      #expect(throws: CodedError.self) { try fixture.manual { $0.toggles = ["deep": deeper] } }
      #expect(throws: CodedError.self) { try fixture.manual { $0.values = ["deep": deeper] } }
      #expect(throws: CodedError.self) { try fixture.manual { $0.defaults = ["deep": deeper] } }
      let null = #expect(throws: CodedError.self) { try fixture.manual { $0.defaults = ["x": .array([.null])] } }
      #expect(null?.message.hasPrefix("the default 'x'.0: user defaults cannot hold null") == true)
      #expect(app.controls.values["deep"]?.contains("ground") == true)
      #expect(app.warnings == [])
    }
  }

  @Test("that starts late has all changes, by its contract or its link")
  func late() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["level": .int(0)] }
      let old = environment.contract
      try await environment.update(toggles: ["level": .int(1)], timeout: .seconds(60))
      _ = try await environment.moveClock(.advance(.milliseconds(900_100)), afterSleepers: nil, timeout: .seconds(60))
      let new = environment.contract
      #expect(new.control?.revision == 2)
      #expect(new.toggles == ["level": .int(1)])
      #expect(new.clock.start == "2018-10-08T09:15:00.100Z")
      for contract in [old, new] {
        // The launch returns when everything is there.
        let app = try await FollowingFixture(contract)
        #expect(app.controls.toggles[.level] == 1)
        #expect(app.controls.clock.now == environment.now)
      }
      try await environment.until { $0.followers.values.allSatisfy { $0.revision == 2 } }
    }
  }

  @Test("is one of several, which have all changed by the time the change returns")
  func several() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      var apps: [FollowingFixture] = []
      for _ in 0..<16 { apps.append(try await FollowingFixture(environment.contract)) }
      for round in 1...20 {
        let moved = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .seconds(60))
        #expect(moved.revision == round)
        for app in apps { #expect(app.controls.clock.now == beginning + Double(round)) }
      }
      let clocks = apps.map(\.controls.clock)
      async let slept: Void = withThrowingTaskGroup(of: Void.self) { group in
        for clock in clocks { group.addTask { try await clock.sleep(for: .seconds(5)) } }
        try await group.waitForAll()
      }
      let moved = try await environment.moveClock(.advance(.seconds(5)), afterSleepers: 16, timeout: .seconds(60))
      #expect(moved.woken == 16)
      try await slept
    }
  }

  @Test("learns of the end at once: its endless waits fail with a clear error, without a warning")
  func end() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await FollowingFixture(environment.contract)
      let sleep = Task { try await app.controls.clock.sleep(for: .seconds(1)) }
      try await app.controls.clock.waitForSleepers(1)
      _ = await environment.end()
      let error = await #expect(throws: DioramaError.self) { try await sleep.value }
      #expect(error?.kind == .control)
      #expect(error?.description.contains("the environment has ended") == true)
      #expect(app.warnings == [])
      let late = await #expect(throws: CodedError.self) {
        try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .seconds(60))
      }
      #expect(late?.kind == .unanswered)
    }
  }

  @Test("does not follow a contract without a revision, and does not start after the end")
  func none() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      var contract = environment.contract
      contract.control?.revision = nil
      _ = try await FollowingFixture(contract)
      #expect(environment.live { live, _ in live.followers.isEmpty })
      contract = environment.contract
      _ = await environment.end()
      let error = await #expect(throws: DioramaError.self) { try await FollowingFixture(contract) }
      #expect(error?.kind == .control)
    }
  }
}
