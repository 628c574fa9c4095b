import Basics
import Cassettes
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The state for a restart")
struct ChangedTests {
  /// Stores the snapshot as a daemon does.
  private final class Store: Sendable {
    let environment = Guarded<Environment?>(nil)
    let snapshots = Guarded<[EnvironmentSnapshot]>([])
    /// The number of saves before the store is full.
    let room = Guarded(Int.max)

    func save() throws(CodedError) {
      let isFull = room.withLock { room in
        room -= 1
        return room < 0
      }
      if isFull { throw CodedError(.cannotWrite, "the disk is full; make room on it") }
      guard let environment = environment.withLock({ $0 }) else { return }
      let snapshot = environment.snapshot()
      snapshots.withLock { $0.append(snapshot) }
    }

    var last: EnvironmentSnapshot? { snapshots.withLock { $0.last } }
    var count: Int { snapshots.withLock { $0.count } }
  }

  private func withStore(
    _ body: (Environment, Store) async throws -> Void
  ) async throws {
    try await withService { fixture in
      let store = Store()
      var specification = EnvironmentSpecification(name: "a test", mode: .mock)
      specification.clock.kind = "manual"
      specification.toggles = ["a": .bool(true)]
      let environment = try fixture.service.provision(
        specification,
        hooks: EnvironmentHooks(
          id: "its-id", token: "its-token", changed: { () throws(CodedError) in try store.save() })
      )
      store.environment.withLock { $0 = environment }
      try await body(environment, store)
      store.environment.withLock { $0 = nil }
    }
  }

  @Test("is stored before a change is acknowledged, and before an app receives it")
  func before() async throws {
    try await withStore { environment, store in
      #expect(environment.id == "its-id")
      #expect(environment.token == "its-token")
      let app = PlainFollower(environment)
      try await app.appear()
      #expect(store.last == nil)
      let question = try await app.ask(after: 0)
      try await environment.untilAsked()
      async let revision = environment.update(toggles: ["a": .bool(false)], timeout: .seconds(30))
      let told = try await onThread { try question.receiveAnswer() }
      #expect(try told.json["revision"]?.int == 1)
      #expect(store.last?.progress.live.revision == 1)
      #expect(store.last?.progress.live.toggles == ["a": .bool(false)])
      try await app.acknowledge("\"revision\": 1")
      #expect(try await revision == 1)
    }
  }

  @Test("is stored before a change is made: if that fails, nothing changes")
  func refused() async throws {
    try await withStore { environment, store in
      store.room.withLock { $0 = 0 }
      let before = environment.now
      for _ in 0..<2 {
        let error = await #expect(throws: CodedError.self) {
          try await environment.moveClock(.advance(.seconds(90)), afterSleepers: nil, timeout: .zero)
        }
        #expect(error?.kind == .cannotWrite)
        #expect(error?.message.hasPrefix("nothing has changed") == true && error?.message.contains("make room") == true)
      }
      #expect(environment.now == before)
      store.room.withLock { $0 = .max }
      let moved = try await environment.moveClock(.advance(.seconds(90)), afterSleepers: nil, timeout: .zero)
      #expect(moved.revision == 1 && store.last?.progress.live.revision == 1)
    }
  }

  @Test("is stored later if there was no space for the change, which is not acknowledged then")
  func refusedLater() async throws {
    try await withStore { environment, store async throws in
      // Enough space for the check, but not for the change.
      store.room.withLock { $0 = 1 }
      let error = await #expect(throws: CodedError.self) {
        try await environment.update(toggles: ["a": .bool(false)], timeout: .zero)
      }
      #expect(error?.kind == .cannotWrite && error?.message.hasPrefix("the change was made but not stored") == true)
      store.room.withLock { $0 = .max }
      #expect(try await environment.update(values: ["v": .int(1)], timeout: .zero) == 2)
      #expect(store.last?.progress.live.toggles == ["a": .bool(false)])
    }
  }

  @Test("keeps an ordinal from being returned as long as it cannot be stored")
  func refusedOrdinal() async throws {
    try await withStore { environment, store in
      store.room.withLock { $0 = 0 }
      for _ in 0..<2 {
        let answer = try await environment.control("/strings", #"{"key": "k"}"#)
        #expect(answer.status == 507)
        #expect(answer.text.contains("make room"))
      }
      store.room.withLock { $0 = .max }
      #expect(try await environment.control("/strings", #"{"key": "k"}"#).json["ordinal"]?.int == 0)
      #expect(store.last?.progress.strings.next == ["k": 1])
    }
  }

  @Test("is stored before an ordinal is returned, and after a failure")
  func ordinals() async throws {
    try await withStore { environment, store in
      for ordinal in 0..<3 {
        #expect(try await environment.control("/strings", #"{"key": "k"}"#).json["ordinal"]?.int == ordinal)
        #expect(store.last?.progress.strings.next == ["k": ordinal + 1])
      }
      #expect(store.count == 3)
      // A program that counts its own uses changes nothing.
      _ = try await environment.control("/strings", #"{"key": "k", "ordinal": 7}"#)
      #expect(store.count == 3)
      environment.fail("broken")
      #expect(store.last?.progress.failures == ["broken"])
    }
  }

  @Test("is stored once for concurrent changes, and contains each of them")
  func atOnce() async throws {
    try await withStore { environment, store in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          group.addTask {
            let revision = try await environment.update(values: ["v\(number)": .int(number)], timeout: .seconds(30))
            let stored = store.snapshots.withLock { $0.contains { $0.progress.live.revision >= revision } }
            #expect(stored)
          }
        }
        try await group.waitForAll()
      }
      #expect(store.last?.progress.live.values.count == 50)
      #expect(store.count <= 100)
    }
  }

  @Test("has no more steps than following apps can have missed")
  func bounded() async throws {
    try await withStore { environment, store in
      for _ in 0..<300 {
        _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .zero)
      }
      let live = try #require(store.last?.progress.live)
      #expect(live.revision == 300)
      #expect(live.steps.map(\.revision) == Array(45...300))
      let large = JSON.string(String(repeating: "x", count: 300_000))
      for _ in 0..<5 { try await environment.update(values: ["v": large], timeout: .zero) }
      #expect(store.last?.progress.live.steps.count == 3)
    }
  }
}
