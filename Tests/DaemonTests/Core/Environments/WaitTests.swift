import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Waits of a manager", .timeLimit(.minutes(2)))
struct WaitTests {
  /// A manager on which one may wait.
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

  @Test("on a journal, for sleepers and for apps are counted together, and one too many is refused")
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

  @Test("for a state have a limit of their own, for all environments together")
  func states() async throws {
    let test = try manager()
    let asked = try await test.manager.provision(.mock)
    let other = try await test.manager.provision(.mock)
    let first = try await onThread { try RawClient(port: UInt16(asked.port)) }
    try first.send(try Self.question(of: asked))
    try await until { test.manager.counters().stateWaiting == 1 }
    // Whoever does not wait is answered; calls are not counted with these.
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
