import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import TestSupport
import Testing
import class Daemon.EnvironmentManager

@testable import Daemon

@Suite("Ending environments", .timeLimit(.minutes(2)))
struct EndingTests {
  /// Waits for an end that a tick has begun.
  private static func waitForEnd(of id: String, _ manager: EnvironmentManager) async {
    // Joins the end if it is running; otherwise throws, since it is over.
    _ = try? await manager.end(id)
  }

  @Test("ends an environment when its time is up, not before")
  func time() async throws {
    let test = try TestManager()
    var request = ProvisioningRequest.mock
    request.ttlSeconds = 100
    let environment = try await test.manager.provision(request)
    #expect(environment.endsAt != nil)
    test.manager.tick(now: Date(timeIntervalSinceNow: 50))
    #expect(try test.manager.environment(environment.id).state == "ready")
    test.manager.tick(now: Date(timeIntervalSinceNow: 101))
    await Self.waitForEnd(of: environment.id, test.manager)
    #expect(test.manager.counters().ended["time"] == 1)
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("ends an environment with its owner, which may be any process")
  func owner() async throws {
    let test = try TestManager()
    let child = try await onThread {
      try Child([Array("/bin/sleep".utf8), Array("1000".utf8)], environment: [:])
    }
    var request = ProvisioningRequest.mock
    request.owner = Owner(pid: child.pid)
    let environment = try await test.manager.provision(request)
    #expect(environment.endsAt == nil)
    #expect(environment.owner == Owner(pid: child.pid))
    test.manager.tick()
    #expect(try test.manager.environment(environment.id).state == "ready")
    child.send(SIGKILL)
    _ = try await onThread { child.waitForEnd() }
    test.manager.tick()
    await Self.waitForEnd(of: environment.id, test.manager)
    #expect(test.manager.counters().ended["owner"] == 1)
    #expect(try test.isEmpty)
    #expect(try test.manager.report(environment.id).ok)
    // An environment whose owner has exited isn't provisioned.
    await #expect(throws: DaemonError.self) { try await test.manager.provision(request) }
    await test.stop()
  }

  @Test("ends all environments with the manager, and refuses new ones")
  func stop() async throws {
    let test = try TestManager()
    for _ in 0..<5 { _ = try await test.manager.provision(.mock) }
    await test.stop()
    #expect(test.manager.counters().ended["stop"] == 5)
    #expect(try test.isEmpty)
    await #expect(throws: DaemonError.self) { try await test.manager.provision(.mock) }
  }

  @Test("keeps a recording aside unless a client ends its environment", arguments: [EndCause.time, .stop, .owner])
  func aside(cause: EndCause) async throws {
    let cassettes = try ScratchFolder()
    let location = CassetteLocation(cassettes.path + "/one")
    let test = try TestManager()
    var request = ProvisioningRequest.mock
    request.mode = "record"
    request.cassette = location.base
    request.ttlSeconds = 100
    let draw = Array(#"{"key": "email"}"#.utf8)
    let first = try await test.manager.provision(request).id
    #expect(try await test.manager.strings(first, body: draw).status == 200)
    #expect(try await test.manager.end(first).recording?.outcome == .written)
    let good = try Data(contentsOf: URL(fileURLWithPath: location.har))

    let child = try await onThread {
      try Child([Array("/bin/sleep".utf8), Array("1000".utf8)], environment: [:])
    }
    if cause == .owner { (request.owner, request.ttlSeconds) = (Owner(pid: child.pid), nil) }
    let second = try await test.manager.provision(request).id
    #expect(try await test.manager.strings(second, body: draw).status == 200)
    child.send(SIGKILL)
    _ = try await onThread { child.waitForEnd() }
    if cause != .stop {
      test.manager.tick(now: Date(timeIntervalSinceNow: cause == .time ? 101 : 0))
      await Self.waitForEnd(of: second, test.manager)
      #expect(try test.manager.report(second).recording?.outcome == .aside)
    }
    await test.stop()
    #expect(try Data(contentsOf: URL(fileURLWithPath: location.har)) == good)
    #expect(location.failed?.exists == true)
  }

  @Test("stores the end before it begins")
  func storedFirst() async throws {
    let test = try TestManager()
    let environment = try await test.manager.provision(.mock)
    let (hosted, _) = try test.manager.hosted(environment.id)
    try hosted.saveEnding(hasSucceeded: true)
    // A late change doesn't revert the state.
    try hosted.save()
    let document = try #require(try test.store.load().environments.first).document
    #expect(try JSONDecoder().decode(EnvironmentRecord.self, from: document).state == .ending)
    hosted.saveNothingMore()
    test.manager.removeFromStore(environment.id)
    try hosted.save()
    #expect(try test.store.load().environments.isEmpty)
    await test.stop()
  }
}
