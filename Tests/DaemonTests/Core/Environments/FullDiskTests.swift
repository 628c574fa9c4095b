import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import PortLeases
import Testing

@testable import Daemon

@Suite("A manager whose disk is full", .timeLimit(.minutes(2)))
struct FullDiskTests {
  private let store = RefusingStore()

  private func refusal(_ body: () async throws -> Void) async -> DaemonError? {
    do { try await body() } catch { return error as? DaemonError }
    return nil
  }

  @Test("says so to who changes something, changes nothing, and goes on once there is room")
  func changes() async throws {
    let test = try TestManager(store: store)
    let id = try await test.manager.provision(.mock).id
    let before = try test.manager.report(id).clock.now
    store.leaveRoom(for: 0)
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .bool(true)]
    var move = ClockMoveRequest()
    move.advance = 90
    for number in 0..<3 {
      let error = await refusal {
        if number == 0 {
          _ = try await test.manager.patch(id, patch)
        } else {
          _ = try await test.manager.moveClock(id, move)
        }
      }
      #expect(error?.status == 507 && error?.kind == "cannotWrite")
      #expect(error?.detail.contains("nothing has changed") == true)
      #expect(error?.detail.hasSuffix("the disk of /some/state is full; make room on it") == true)
    }
    #expect(try test.manager.report(id).clock.now == before)
    #expect(try test.manager.environment(id).contract?.document?.toggles == [:])
    store.leaveRoom(for: .max)
    #expect(try await test.manager.moveClock(id, move).revision == 1)
    await test.stop()
  }

  @Test("acknowledges no lease, and gives none back")
  func leases() async throws {
    let test = try TestManager(store: store)
    let port = try #require(try await test.manager.leasePorts(PortsRequest(count: 1)).ports.first?.port)
    store.leaveRoom(for: 0)
    #expect(await refusal { _ = try await test.manager.leasePorts(PortsRequest(count: 1)) }?.status == 507)
    #expect(await refusal { try await test.manager.releasePort(UInt16(port)) }?.status == 507)
    #expect(test.manager.ports().ports.map(\.port) == [port])
    store.leaveRoom(for: .max)
    try await test.manager.releasePort(UInt16(port))
    #expect(try test.isEmpty)
    await test.stop()
  }

  @Test("leaves nothing of an environment that cannot be stored, wherever on its way that is seen", arguments: 0...2)
  func provisioning(writes: Int) async throws {
    let test = try TestManager(store: store)
    store.leaveRoom(for: writes)
    #expect(await refusal { _ = try await test.manager.provision(.mock) }?.status == 507)
    store.leaveRoom(for: .max)
    test.manager.tick()
    #expect(
      test.manager.environments().environments.isEmpty && test.manager.pool.leases.isEmpty && test.contracts.isEmpty)
    #expect(try store.load().environments.isEmpty)
    await test.stop()
  }

  @Test("ends an environment all the same, and takes it out of the store as soon as it can")
  func ending() async throws {
    let test = try TestManager(store: store)
    let id = try await test.manager.provision(.mock).id
    store.leaveRoom(for: 0)
    #expect(try await test.manager.end(id).ok)
    #expect(try store.load().environments.map(\.id) == [id])
    test.manager.tick()
    store.leaveRoom(for: .max)
    test.manager.tick()
    #expect(try store.load().environments.isEmpty)
    #expect(test.log.withLock { $0.filter { $0.contains("could not be taken out of the store") }.count } == 1)
    await test.stop()
  }

  @Test("is one of SQLite's, too: a change for which there is no room is not acknowledged")
  func database() async throws {
    let folder = try ScratchFolder()
    let store = try SQLiteStore(in: StateFolder(folder.state))
    let test = try TestManager(store: store)
    let id = try await test.manager.provision(.mock).id
    try store.limit(pages: 40)
    var patch = EnvironmentPatch()
    patch.values = ["large": .string(String(repeating: "x", count: 400_000))]
    let error = await refusal { _ = try await test.manager.patch(id, patch) }
    #expect(error?.status == 507)
    #expect(error?.detail.contains(folder.state) == true && error?.detail.contains("make room") == true)
    // With room it is stored by the next change, and with that.
    try store.limit(pages: 100_000)
    patch.values = ["small": .int(1)]
    #expect(try await test.manager.patch(id, patch).revision == 2)
    let stored = try #require(try store.load().environments.first).document
    #expect(stored.count > 400_000 && stored.range(of: Data("\"small\"")) != nil)
    _ = try await test.manager.end(id)
    #expect(try store.load().environments.isEmpty)
    await test.stop()
    store.close()
  }
}
