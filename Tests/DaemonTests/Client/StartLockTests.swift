@testable import DaemonClient
import Foundation
import TestSupport
import Testing

@Suite("The right to start a daemon", .timeLimit(.minutes(2)))
struct StartLockTests {
  private let folder: ScriptedHome

  init() throws {
    folder = try ScriptedHome()
  }

  @Test("goes to the next when it is given up")
  func next() async throws {
    let home = folder.home
    var first: StartLock? = try StartLock(home, patience: .seconds(60))
    let second = Task { try await onThread { try StartLock(home, patience: .seconds(60)) } }
    _ = first
    first = nil
    withExtendedLifetime(try await second.value) {}
  }

  @Test("is not waited for any longer than is told, and whoever waited in vain does not keep it later")
  func impatient() async throws {
    let home = folder.home
    var first: StartLock? = try StartLock(home, patience: .seconds(60))
    let error = await #expect(throws: DaemonClientError.self) {
      _ = try await onThread { try StartLock(home, patience: .milliseconds(10)) }
    }
    #expect(error?.message.contains("another program has been starting the daemon") == true)
    _ = first
    first = nil
    withExtendedLifetime(try await onThread { try StartLock(home, patience: .seconds(60)) }) {}
  }
}
