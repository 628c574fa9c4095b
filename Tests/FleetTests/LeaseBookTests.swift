import Basics
import ChildProcesses
import ControlAPI
import Databases
import EnvironmentConfiguration
import Foundation
import PortLeases
import TestSupport
import Testing

@testable import Fleet

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The daemon's way to the store: many tasks, one thread, a database that may be away.
@Suite("Lease book", .timeLimit(.minutes(3)))
struct LeaseBookTests {
  typealias Engine = FleetConformanceTests.Engine

  /// A daemon's book with what it reported.
  private final class Daemon: Sendable {
    let book: LeaseBook
    let events = Monitor<[LeaseBook.Event]>([])

    init(
      _ store: FleetAddress, _ name: String = "one", key: StoreKey?, patience: Double = 30, isOptional: Bool = false,
      holding: [String] = [], isKept: @escaping @Sendable (ResourceLease) -> Bool = { _ in true }
    ) throws {
      let events = events
      let host = FleetHost(id: name, instance: UUID().uuidString, name: name, version: "1", patience: patience)
      book = try LeaseBook(store, host: host, key: key, isOptional: isOptional) { event in
        events.withLock { $0.append(event) }
      }
      book.start(holding: holding, isKept: isKept)
    }

    func waitFor(_ fits: @escaping @Sendable (LeaseBook.Event) -> Bool) async throws {
      #expect(try await events.wait(until: .now + .seconds(30)) { $0.contains(where: fits) })
    }
  }

  private static func request(_ plan: String? = nil, wait: Double = 30, id: String? = nil) -> LeaseRequest {
    let query = ResourceQuery(pool: "patients", where: plan.map { ["plan": $0] } ?? [:])
    return LeaseRequest(id: id, resources: ["patient": query], waitSeconds: wait)
  }

  private static func error(_ body: () async throws -> Void) async throws -> CodedError {
    do { try await body() } catch let error as CodedError { return error }
    throw CodedError(.usage, "nothing was thrown")
  }

  @Test("gives a resource to one task at a time, and serves all tasks", arguments: Engine.allCases)
  func exclusive(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    try store.fill(try store.connect(), ["anna": "a", "ben": "b", "cleo": "c"])
    // Only PostgreSQL is shared.
    let daemons = try (engine == .postgreSQL ? ["a", "b", "c"] : ["a"]).map {
      try Daemon(store.address, $0, key: store.key)
    }
    let holders = Guarded<[String: Int]>([:])
    let fences = Guarded<[String: [Int]]>([:])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<24 {
        let book = daemons[task % daemons.count].book
        group.addTask {
          for _ in 0..<8 {
            let lease = try await book.checkOut(Self.request())
            let resource = try #require(lease.resources["patient"])
            #expect(resource.secrets == ["password": "\(resource.name)-s3cret"])
            #expect(holders.withLock { $0.updateValue(task, forKey: resource.name) } == nil)
            fences.withLock { $0[resource.name, default: []].append(resource.fence) }
            await Task.yield()
            #expect(holders.withLock { $0.removeValue(forKey: resource.name) } == task)
            book.end(lease.id)
          }
        }
      }
      try await group.waitForAll()
    }
    let all = fences.withLock { $0 }
    #expect(all.values.map(\.count).reduce(0, +) == 24 * 8)
    for list in all.values { #expect(list == Array(1...list.count)) }
    for daemon in daemons { await daemon.book.stop() }
    #expect(try store.connect("later").leases().isEmpty)
  }

  @Test(
    "withdraws the request of a cancelled task, and gives the same lease to a repeated one", arguments: Engine.allCases)
  func cancelled(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a"])
    let daemon = try Daemon(store.address, key: store.key)
    let id = UUID().uuidString.lowercased()
    let lease = try await daemon.book.checkOut(Self.request(id: id))
    #expect(try await daemon.book.checkOut(Self.request(id: id)) == lease)
    let waiting = Task { try await daemon.book.checkOut(Self.request()) }
    while try other.leases().count < 2 { await Task.yield() }
    #expect(daemon.book.counts == (1, 1))
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    while try other.leases().count > 1 { await Task.yield() }
    #expect(try await daemon.book.endAndWait(id))
    #expect(try await !daemon.book.endAndWait(id))
    #expect(!daemon.book.isInUse)
    await daemon.book.stop()
    let late = try await Self.error { _ = try await daemon.book.checkOut(Self.request()) }
    #expect(late.message.contains("the daemon is stopping"))
  }

  @Test("says why a request was not served in time, and serves one after an import", arguments: Engine.allCases)
  func late(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    try store.fill(try store.connect("other"), ["anna": "a"])
    let daemon = try Daemon(store.address, key: store.key)
    _ = try await daemon.book.checkOut(Self.request())
    let error = try await Self.error { _ = try await daemon.book.checkOut(Self.request("a", wait: 0.01)) }
    #expect(error.kind == .unanswered)
    #expect(error.message.contains("pool 'patients' with plan=a: 1 leased (by one)"), "\(error.message)")
    let waiting = Task { try await daemon.book.checkOut(Self.request()) }
    let added = PoolResource(name: "ben", attributes: ["plan": "b"])
    _ = try await daemon.book.perform { database throws(CodedError) in
      try database.importResources([added], into: "patients").added
    }
    #expect(try await waiting.value.resources["patient"]?.name == "ben")
    let byName = LeaseRequest(
      resources: ["x": ResourceQuery(pool: "patients", where: ["name": "nina"])], waitSeconds: 1)
    let unknown = try await Self.error { _ = try await daemon.book.checkOut(byName) }
    #expect(unknown.message.contains("no resource with name=nina in pool 'patients'"), "\(unknown.message)")
    await daemon.book.stop()
  }

  @Test(
    "returns the lease of a process that has ended, and of an environment that was not restored",
    arguments: Engine.allCases)
  func owners(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a", "ben": "b", "cleo": "c"])
    let daemon = try Daemon(store.address, key: store.key, patience: 0.6)
    // Not `Process`, whose end is not noticed while other threads start processes.
    let process = try Spawn(arguments: ["/bin/sleep", "600"].map { Array($0.utf8) }, environment: []).start()
    let owner = LeaseOwner(process: PortOwner(pid: process))
    let owned = try await daemon.book.checkOut(Self.request("a"), owner: owner)
    #expect(daemon.book.owner(of: owned.id) == owner)
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
    while try other.leases().contains(where: { $0.id == owned.id }) { await Task.yield() }

    let kept = try await daemon.book.checkOut(
      Self.request("b", id: "11111111-0000-0000-0000-000000000000"), environment: "kept",
      owner: LeaseOwner(client: "ci"))
    let left = try await daemon.book.checkOut(Self.request("c"), environment: "left")
    await daemon.book.stop()
    let next = try Daemon(store.address, key: store.key, isKept: { $0.environment == "kept" })
    while try other.leases().contains(where: { $0.id == left.id }) { await Task.yield() }
    while next.book.environment(of: kept.id) == nil { await Task.yield() }
    #expect(next.book.leases(of: "ci") == [kept.id])
    #expect(next.book.held.map(\.resources["patient"]?.secrets) == [nil])
    #expect(try await next.book.endAndWait(kept.id))
    await next.book.stop()
  }

  @Test("says which restored environments have lost their resources", arguments: Engine.allCases)
  func lostBefore(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a", "ben": "b"])
    let daemon = try Daemon(store.address, key: store.key)
    let ids = ["11111111-0000-0000-0000-000000000001", "11111111-0000-0000-0000-000000000002"]
    for id in ids { _ = try await daemon.book.checkOut(Self.request(id: id), environment: id) }
    await daemon.book.stop()
    // As another host does after this one has sent no heartbeat for too long.
    _ = try other.exchange { .init(ending: [ids[0]]) }
    let next = try Daemon(store.address, key: store.key, holding: ids)
    try await next.waitFor { if case .lost(let lease) = $0 { lease.environment == ids[0] } else { false } }
    let lost = next.events.withLock { $0.count { if case .lost = $0 { true } else { false } } }
    #expect(lost == 1 && next.book.held.map(\.id) == [ids[1]])
    // A repeated request gets the secrets again.
    #expect(try await next.book.checkOut(Self.request(id: ids[1])).resources["patient"]?.secrets?.count == 1)
    await next.book.stop()
  }

  @Test("keeps a repeated request when its first connection is cut", arguments: Engine.allCases)
  func repeated(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    try store.fill(try store.connect("other"), ["anna": "a"])
    let daemon = try Daemon(store.address, key: store.key)
    let holder = try await daemon.book.checkOut(Self.request())
    let id = UUID().uuidString.lowercased()
    let first = Task { try await daemon.book.checkOut(Self.request(id: id)) }
    while daemon.book.counts.waiting < 1 { await Task.yield() }
    let second = Task { try await daemon.book.checkOut(Self.request(id: id)) }
    while daemon.book.callers(of: id) < 2 { await Task.yield() }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    daemon.book.end(holder.id)
    #expect(try await second.value.resources["patient"]?.name == "anna")
    await daemon.book.stop()
  }

  @Test("does not reuse the lease of a withdrawn request when its id is requested again")
  func withdrawn() async throws {
    let store = try FleetConformanceTests.Store(.postgreSQL)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a"])
    let daemon = try Daemon(store.address, key: store.key)
    let id = "11111111-0000-0000-0000-000000000001"
    // The daemon's transaction with the same id waits for this one, after it has taken the request.
    try other.connection.execute(
      "BEGIN; INSERT INTO diorama_leases (id, host, state, request, asked_at) VALUES ('\(id)', 'other', 'waiting', '{}', 0)"
    )
    let first = Task { try await daemon.book.checkOut(Self.request(id: id)) }
    let observer = try store.connect("observer")
    while try observer.connection.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid' AND query LIKE '%INSERT INTO diorama_leases%'"
    ).isEmpty { await Task.yield() }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    let second = Task { try await daemon.book.checkOut(Self.request(id: id)) }
    while daemon.book.counts.waiting < 1 { await Task.yield() }
    try other.connection.execute("ROLLBACK")
    #expect(try await second.value.resources["patient"]?.fence == 2)
    await daemon.book.stop()
  }

  @Test("ends leases whose return has failed", arguments: Engine.allCases)
  func failedReturn(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a"])
    let daemon = try Daemon(store.address, key: store.key, patience: 0.6)
    let lease = try await daemon.book.checkOut(Self.request())
    // Returns fail for a while, as when a database becomes read-only.
    try other.connection.execute("ALTER TABLE diorama_resources RENAME COLUMN label TO away")
    #expect(try await !daemon.book.endAndWait(lease.id))
    try other.connection.execute("ALTER TABLE diorama_resources RENAME COLUMN away TO label")
    #expect(try await daemon.book.checkOut(Self.request()).resources["patient"]?.fence == 2)
    await daemon.book.stop()
  }

  @Test("is notified of what another host has served, and does not have to ask")
  func notified() async throws {
    let store = try FleetConformanceTests.Store(.postgreSQL)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a"])
    // By themselves, they ask every ten minutes.
    let daemons = try ["one", "two"].map { try Daemon(store.address, $0, key: store.key, patience: 3600) }
    for daemon in daemons { while !daemon.book.isNotified { await Task.yield() } }
    let lease = try await daemons[0].book.checkOut(Self.request())
    let waiting = Task { try await daemons[1].book.checkOut(Self.request(wait: 600)) }
    while try other.leases().count < 2 { await Task.yield() }
    daemons[0].book.end(lease.id)
    #expect(try await waiting.value.resources["patient"]?.name == "anna")
    for daemon in daemons { await daemon.book.stop() }
  }

  @Test("learns what it was granted although its connection was cut at that moment")
  func cut() async throws {
    let store = try FleetConformanceTests.Store(.postgreSQL)
    let other = try store.connect("other")
    try store.fill(other, ["anna": "a"])
    // By themselves, they ask every ten minutes.
    let daemons = try ["one", "two"].map { try Daemon(store.address, $0, key: store.key, patience: 3600) }
    for daemon in daemons { while !daemon.book.isNotified { await Task.yield() } }
    let lease = try await daemons[0].book.checkOut(Self.request())
    let waiting = Task { try await daemons[1].book.checkOut(Self.request(wait: 600)) }
    while try other.leases().count < 2 { await Task.yield() }
    // All connections but those that listen.
    try other.connection.query(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query NOT LIKE 'LISTEN%' AND pid <> pg_backend_pid()
      """)
    daemons[0].book.end(lease.id)
    #expect(try await waiting.value.resources["patient"]?.name == "anna")
    for daemon in daemons { await daemon.book.stop() }
  }

  @Test("says that a lease was lost to another host")
  func lost() async throws {
    let store = try FleetConformanceTests.Store(.postgreSQL)
    let other = try store.connect("other", patience: 0.3)
    try store.fill(other, ["anna": "a"])
    let daemon = try Daemon(store.address, key: store.key, patience: 0.3)
    let lease = try await daemon.book.checkOut(Self.request())
    // This host gives signs of life all the time, so that it has to be made to look gone.
    while true {
      try other.connection.execute("UPDATE diorama_hosts SET expires_at = 1 WHERE id = 'one'")
      if try other.beat().gone["one"] == 1 { break }
      await Task.yield()
    }
    try await daemon.waitFor { if case .lost(let lost) = $0 { lost.id == lease.id } else { false } }
    #expect(daemon.book.counts.held == 0)
    await daemon.book.stop()
  }

  @Test("keeps leases while the database is away, and hands in what has ended once it is back")
  func away() async throws {
    let server = try PostgreSQLServer()
    let address = try FleetAddress(try server.makeDatabase(), variables: [:])
    let daemon = try Daemon(address, key: nil)
    try await daemon.book.perform { database throws(CodedError) in
      try database.createPool(PoolSettings(name: "patients"))
      _ = try database.importResources([PoolResource(name: "anna"), PoolResource(name: "ben")], into: "patients")
    }
    let first = try await daemon.book.checkOut(Self.request())
    let second = try await daemon.book.checkOut(Self.request())
    try server.stop()
    let error = try await Self.error { _ = try await daemon.book.checkOut(Self.request(wait: 0.1)) }
    #expect(
      error.kind == .noUpstream && error.message.hasPrefix("timed out waiting for a resource: "), "\(error.message)")
    try await daemon.waitFor { if case .away = $0 { true } else { false } }
    #expect(daemon.book.away != nil && daemon.book.counts.held == 2)
    daemon.book.end(first.id)
    let waiting = Task { try await daemon.book.checkOut(Self.request(wait: 60)) }
    try server.start()
    #expect(try await waiting.value.resources["patient"]?.name == first.resources["patient"]?.name)
    try await daemon.waitFor { if case .back = $0 { true } else { false } }
    #expect(daemon.book.held.contains { $0.id == second.id })
    await daemon.book.stop()
    try server.stop()
  }

  @Test("starts without the database only if that is allowed")
  func optional() async throws {
    let server = try PostgreSQLServer()
    let address = try FleetAddress(try server.makeDatabase(), variables: [:])
    try server.stop()
    let error = try await Self.error { _ = try Daemon(address, key: nil) }
    #expect(error.kind == .noUpstream, "\(error.message)")
    let daemon = try Daemon(address, key: nil, isOptional: true)
    #expect(daemon.book.away != nil)
    try server.start()
    let pools = try await daemon.book.perform(patience: .seconds(60)) { database throws(CodedError) in
      try database.pools().count
    }
    #expect(pools == 0)
    await daemon.book.stop()
    try server.stop()
  }
}
