import ControlAPI
import EnvironmentService
import Foundation
import HTTPClient
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Waiting calls", .timeLimit(.minutes(2)))
struct WaitTests {
  /// A manager that allows one waiting call.
  private func manager() throws -> TestManager {
    try TestManager {
      $0.limits.waits = 1
      $0.limits.stateWaits = 1
    }
  }

  private func advance(after sleepers: Int? = nil) -> ClockMoveRequest {
    var move = ClockMoveRequest()
    move.advance = 1
    move.sleepers = sleepers
    move.timeoutSeconds = 60
    return move
  }

  @Test("share one limit for journals, sleepers and apps")
  func calls() async throws {
    let test = try manager()
    let id = try await test.manager.provision(.mock).id
    let waiting = Task {
      try await test.manager.followJournal(id).next(after: 0, limit: 1, timeout: .seconds(60))
    }
    try await until { test.manager.counters().waiting == 1 }
    let move = advance()
    let refused = await #expect(throws: DaemonError.self) { try await test.manager.moveClock(id, move) }
    #expect(refused?.status == 429)
    #expect(refused?.detail.contains("limits.waits") == true)
    await #expect(throws: DaemonError.self) { try await test.manager.patch(id, EnvironmentPatch()) }
    waiting.cancel()
    _ = await waiting.result
    #expect(test.manager.counters().waiting == 0)

    let sleeping = advance(after: 1)
    let moving = Task { try await test.manager.moveClock(id, sleeping) }
    try await until { test.manager.counters().waiting == 1 }
    let late = #expect(throws: DaemonError.self) { try test.manager.followJournal(id) }
    #expect(late?.status == 429)
    moving.cancel()
    _ = await moving.result
    #expect(try await test.manager.moveClock(id, move).revision == 1)
    await test.stop()
  }

  @Test("have a separate limit for state requests of all environments")
  func states() async throws {
    let test = try manager()
    let asked = try await test.manager.provision(.mock)
    let other = try await test.manager.provision(.mock)
    let first = try await onThread { try RawClient(port: UInt16(asked.port)) }
    try first.send(try Self.question(of: asked))
    try await until { test.manager.counters().stateWaiting == 1 }
    // Requests that don't wait are answered. State requests don't count as calls.
    #expect(try await Self.status(of: other, wait: 0) == 200)
    #expect(try await Self.status(of: other, wait: 60) == 429)
    #expect(test.manager.counters().waiting == 0)
    _ = try await test.manager.end(asked.id)
    try await until { test.manager.counters().stateWaiting == 0 }
    await test.stop()
  }

  private static func question(of environment: ProvisionedEnvironment, wait: Int = 60) throws -> [UInt8] {
    let token = try #require(environment.contract?.document?.control?.token.revealed)
    let target = "/__diorama/state?after=0&wait=\(wait)"
    return Array(
      "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(environment.port)\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
  }

  private static func status(of environment: ProvisionedEnvironment, wait: Int) async throws -> Int {
    let question = try question(of: environment, wait: wait)
    return try await onThread {
      let client = try RawClient(port: UInt16(environment.port))
      try client.send(question)
      return try client.receiveAnswer().status
    }
  }
}

@Suite("Following a journal", .timeLimit(.minutes(2)))
struct FollowingTests {
  @Test("returns all entries even after the environment has ended, and then the end")
  func end() async throws {
    let test = try TestManager()
    let client = try HTTPClient(.init())
    let environment = try await test.manager.provision(.mock)
    let endpoint = try #require(environment.endpoints["api"])
    let follower = try test.manager.followJournal(environment.id)
    _ = await status(of: endpoint, client: client)
    let first = try #require(try await follower.next(after: 0, limit: 10, timeout: .seconds(60)))
    #expect(first.entries.map(\.number) == [1])
    for _ in 0..<3 { _ = await status(of: endpoint, client: client) }
    _ = try await test.manager.end(environment.id)
    let rest = try #require(try await follower.next(after: 1, limit: 2, timeout: .zero))
    #expect(rest.entries.map(\.number) == [2, 3])
    #expect(try await follower.next(after: 3, limit: 2, timeout: .zero)?.entries.map(\.number) == [4])
    #expect(try await follower.next(after: 4, limit: 2, timeout: .seconds(600)) == nil)
    await test.stop()
  }

  @Test("returns an empty page on timeout, and the end while waiting")
  func waiting() async throws {
    let test = try TestManager()
    let id = try await test.manager.provision(.mock).id
    let follower = try test.manager.followJournal(id)
    #expect(try await follower.next(after: 0, limit: 1, timeout: .zero)?.entries.isEmpty == true)
    async let last = follower.next(after: 0, limit: 1, timeout: .seconds(600))
    _ = try await test.manager.end(id)
    #expect(try await last == nil)
    await test.stop()
  }

  @Test("counts as a waiting call while the follower is retained")
  func places() async throws {
    let test = try TestManager { $0.limits.waits = 1 }
    let id = try await test.manager.provision(.mock).id
    try {
      let follower = try test.manager.followJournal(id)
      let error = #expect(throws: DaemonError.self) { try test.manager.followJournal(id) }
      #expect(error?.status == 429)
      #expect(test.manager.counters().waiting == 1)
      withExtendedLifetime(follower) {}
    }()
    #expect(test.manager.counters().waiting == 0)
    _ = try test.manager.followJournal(id)
    await test.stop()
  }
}
