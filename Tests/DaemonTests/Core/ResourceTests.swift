import Basics
import ControlAPI
import EnvironmentConfiguration
import Fleet
import Foundation
import TestSupport
import Testing

@testable import Daemon

@Suite("Environments with resources", .timeLimit(.minutes(2)))
struct ResourceTests {
  private static var request: ProvisioningRequest {
    var request = ProvisioningRequest.mock
    request.mode = "proxy"
    request.configuration.resources = ["patient": .init(pool: "patients", where: ["plan": "premium"], waitSeconds: 30)]
    return request
  }

  /// A manager with a pool of one premium account.
  private static func manager(
    _ configure: (inout DaemonConfiguration) -> Void = { _ in }, cleans: Bool = false
  ) async throws -> TestManager {
    let test = try TestManager(hasPools: true, configure)
    test.manager.startFleet()
    try await test.fleet?.perform { database throws(CodedError) in
      try database.createPool(PoolSettings(name: "patients", cleans: cleans, maximumFailures: 2))
      _ = try database.importResources(
        [
          PoolResource(name: "anna", attributes: ["plan": "premium"], secrets: ["password": "s3cret"]),
          PoolResource(name: "ben", attributes: ["plan": "free"]),
        ], into: "patients")
    }
    return test
  }

  private static func state(_ test: TestManager, _ name: String = "anna") async throws -> String? {
    try await test.fleet?.perform { database throws(CodedError) in
      try database.resources(of: "patients").first { $0.name == name }?.state
    }
  }

  @Test("get them before they are provisioned, and return them at their end")
  func life() async throws {
    let test = try await Self.manager()
    let first = try await test.manager.provision(Self.request)
    #expect(first.resources?["patient"]?.secrets == ["password": "s3cret"])
    #expect(first.contract?.environment["DIORAMA_RESOURCE_PATIENT"] == "anna")
    #expect(test.manager.environments().environments.first?.resources == nil)
    #expect(try await test.manager.leases().leases.map(\.environment) == [first.id])
    let second = Task { try await test.manager.provision(Self.request) }
    while try await test.manager.leases().leases.count < 2 { await Task.yield() }
    // A lease or a request that belongs to an environment cannot be ended on its own.
    for lease in try await test.manager.leases().leases {
      let error = await #expect(throws: DaemonError.self) { try await test.manager.endLease(lease.id) }
      #expect(error?.status == 409)
    }
    #expect(try await test.manager.end(first.id).resources == ["patient = patients/anna, fence 1"])
    #expect(try await second.value.resources?["patient"]?.name == "anna")
    #expect(try await Self.state(test) == "leased")
    await test.stop()
  }

  @Test("are refused with the reason; nothing stays leased")
  func refused() async throws {
    let test = try await Self.manager()
    var request = Self.request
    request.configuration.resources["patient"]?.pool = "doctors"
    let unknown = try await #require(throws: DaemonError.self) { try await test.manager.provision(request) }
    #expect(unknown.status == 422 && unknown.detail.hasPrefix("no pool 'doctors'"))
    // It gets its resource, but cannot be provisioned.
    request = Self.request
    request.configuration.cassette = "/nowhere/a"
    request.mode = "record"
    request.configuration.upstreams = [:]
    await #expect(throws: DaemonError.self) { try await test.manager.provision(request) }
    while try await Self.state(test) != "free" { await Task.yield() }
    // Its client disconnects while it waits.
    let holder = try await test.manager.provision(Self.request)
    let waiting = Task { try await test.manager.provision(Self.request) }
    while try await test.manager.leases().leases.count < 2 { await Task.yield() }
    waiting.cancel()
    await #expect(throws: DaemonError.self) { try await waiting.value }
    while try await test.manager.leases().leases.count > 1 { await Task.yield() }
    _ = try await test.manager.end(holder.id)
    #expect(test.manager.environments().environments.isEmpty)
    await test.stop()
  }

  @Test("keep them over a restart of the daemon")
  func restored() async throws {
    let first = try await Self.manager()
    let environment = try await first.manager.provision(Self.request)
    var gone = Self.request
    gone.configuration.resources = ["x": .init(pool: "patients", where: ["plan": "free"])]
    let other = try await first.manager.provision(gone)
    let next = try await first.die()
    try next.remove(environment: other.id)
    await first.fleet?.stop()
    let second = try TestManager(store: next, folder: first.folder, hasPools: true)
    try await second.manager.restore()
    second.manager.startFleet()
    while try await Self.state(second, "ben") != "free" { await Task.yield() }
    #expect(try await Self.state(second) == "leased")
    #expect(try second.manager.environment(environment.id).resources?["patient"]?.secrets == ["password": "s3cret"])
    _ = try await second.manager.end(environment.id)
    while try await Self.state(second) != "free" { await Task.yield() }
    await second.stop()
  }

  @Test("are cleaned by the command of a host, and quarantined if it fails twice")
  func cleaned() async throws {
    let folder = try ScratchFolder()
    let script = "cat >>\(folder.path)/seen; test -e \(folder.path)/works || { echo 'no server'; exit 3; }"
    let test = try await Self.manager({ $0.cleanUp = ["patients": ["/bin/sh", "-c", script]] }, cleans: true)
    let works = URL(fileURLWithPath: folder.path + "/works")
    try Data().write(to: works)
    let environment = try await test.manager.provision(Self.request)
    _ = try await test.manager.end(environment.id)
    while try await Self.state(test) != "free" {
      test.manager.tick()
      await Task.yield()
    }
    let seen = try JSONDecoder().decode(
      LeasedResource.self, from: Data(contentsOf: URL(fileURLWithPath: folder.path + "/seen")))
    #expect(seen.name == "anna" && seen.secrets == ["password": "s3cret"] && seen.fence == 2)
    try FileManager.default.removeItem(at: works)
    _ = try await test.manager.end(try await test.manager.provision(Self.request).id)
    while try await Self.state(test) != "quarantined" {
      test.manager.tick()
      await Task.yield()
    }
    let reason = try await test.fleet?.perform { database throws(CodedError) in
      try database.resources(of: "patients").first?.reason
    }
    #expect(reason == "exit status 3: no server")
    await test.stop()
  }

  @Test("leave no secret in the output of a clean-up command")
  func redacted() {
    let resource = LeasedResource(
      pool: "p", name: "anna", attributes: [:], secrets: ["a": "s3\"cret/1", "b": "geheim", "c": ""], fence: 1)
    let text = #"{"a": "s3\"cret/1"} s3"cret/1 geheim Z2VoZWlt s3%22cret%2F1 anna"#
    let redacted = Cleaner.redacted(text, resource)
    #expect(!redacted.contains("cret") && !redacted.contains("geheim") && !redacted.contains("Z2Vo"))
    #expect(redacted.hasSuffix(" anna"))
  }

  @Test("belong to one program on another machine")
  func remote() async throws {
    let test = try await Self.manager()
    let (one, two) = (test.manager.serving("one"), test.manager.serving("two"))
    let request = LeaseRequest(resources: ["a": .init(pool: "patients")])
    let lease = try await one.lease(request)
    #expect(try await one.leases().leases.map(\.id) == [lease.id])
    let theirs = try await two.leases()
    #expect(theirs.leases.isEmpty && theirs.store == nil)
    let refused = try await #require(throws: DaemonError.self) { try await two.endLease(lease.id) }
    #expect(refused.status == 404)
    var foreign = request
    foreign.owner = Owner(pid: 1)
    await #expect(throws: DaemonError.self) { try await one.lease(foreign) }
    _ = try await two.lease(request)
    await test.manager.endAll(of: "two")
    while try await test.manager.leases().leases.count > 1 { await Task.yield() }
    try await one.endLease(lease.id)
    await test.stop()
  }
}
