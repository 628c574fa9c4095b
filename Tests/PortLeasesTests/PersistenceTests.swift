import Basics
import Foundation
import HTTPMessages
import PortLeases
import TestSupport
import Testing

/// A stand-in for the daemon's store.
private final class Record: Sendable {
  struct Failure: Error {}

  let changes = Guarded<[PortChange]>([])
  let isBroken = Guarded(false)

  @Sendable func note(_ change: PortChange) throws {
    guard !isBroken.withLock({ $0 }) else { throw Failure() }
    changes.withLock { $0.append(change) }
  }
}

@Suite("Storing changes of a pool")
struct RecordTests {
  private let record = Record()

  @Test("stores every change before it takes effect")
  func changes() throws {
    let pool = try PortPool.own(4, record: record.note)
    let leases = try pool.leaseSoon(PortRequest(count: 2, environment: "e"))
    #expect(record.changes.withLock { $0 } == [.leased(leases)])
    try pool.release(leases[0].port)
    pool.release(environment: "e")
    pool.release(environment: "e")
    let timed = try pool.leaseSoon(PortRequest(ttl: .seconds(1)))
    #expect(soon { pool.reclaim(now: Date() + 2).first } != nil)
    #expect(
      record.changes.withLock { Array($0.dropFirst()) } == [
        .released([leases[0].port]), .released([leases[1].port]), .leased(timed), .released([timed[0].port]),
      ])
  }

  @Test("makes no lease that cannot be stored, and frees its ports")
  func unstored() throws {
    let pool = try PortPool.own(2, record: record.note)
    record.isBroken.withLock { $0 = true }
    let error = #expect(throws: PortError.self) { try pool.lease(PortRequest(count: 2)) }
    #expect(error?.kind == .notRecorded)
    #expect(pool.leases.isEmpty)
    for port in pool.range { #expect(TestSocket.isFree(port)) }
    record.isBroken.withLock { $0 = false }
    #expect(try pool.leaseSoon(PortRequest(count: 2)).count == 2)
  }

  @Test("makes no release that cannot be stored")
  func unreleased() throws {
    let pool = try PortPool.own(2, record: record.note)
    let lease = try pool.leaseSoon(PortRequest(ttl: .seconds(1)))[0]
    record.isBroken.withLock { $0 = true }
    let error = #expect(throws: PortError.self) { try pool.release(lease.port) }
    #expect(error?.kind == .notRecorded)
    #expect(pool.reclaim(now: Date() + 2).isEmpty)
    #expect(pool.leases == [lease])
    #expect(TestSocket(reuse: false).bind(lease.port) == EADDRINUSE)
    record.isBroken.withLock { $0 = false }
    #expect(soon { pool.reclaim(now: Date() + 2).first } == lease)
  }

  @Test("stores changes in their order, from any number of threads")
  func order() async throws {
    let record = record
    let pool = try PortPool.own(8, record: record.note)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await onThread {
            for _ in 0..<100 {
              guard let port = try? pool.lease(PortRequest(count: 3)).map(\.port) else { continue }
              for port in port { try pool.release(port) }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    var leased = Set<UInt16>()
    for change in record.changes.withLock({ $0 }) {
      switch change {
      case .leased(let leases): for lease in leases { #expect(leased.insert(lease.port).inserted) }
      case .released(let ports): for port in ports { #expect(leased.remove(port) != nil) }
      }
    }
    #expect(leased.isEmpty)
  }
}

@Suite("Restoring leases after a restart")
struct RestoreTests {
  @Test("restores and holds leases, and does not lease their ports again")
  func restored() throws {
    let former = try PortPool.own(4)
    let leases = try former.leaseSoon(PortRequest(count: 2, names: ["a", "b"], ttl: .seconds(60)))
    let stored = try JSONEncoder().encode(leases)
    for lease in leases { try former.release(lease.port) }

    let pool = PortPool(range: former.range)
    pool.restore(try JSONDecoder().decode([PortLease].self, from: stored))
    #expect(pool.leases == leases.sorted { $0.port < $1.port })
    for lease in leases { #expect(TestSocket(reuse: false).bind(lease.port) == EADDRINUSE) }
    let others = try pool.leaseSoon(PortRequest(count: 2)).map(\.port)
    #expect(Set(others).isDisjoint(with: leases.map(\.port)))
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    withExtendedLifetime(former) {}
  }

  @Test("keeps the lease of a port whose program listens, and holds it afterwards")
  func listening() throws {
    let pool = try PortPool.own(2)
    let port = pool.range.lowerBound
    let lease = PortLease(port: port, since: Date(timeIntervalSince1970: 1))
    do {
      let app = TestSocket()
      try #require(app.bindSoon(port) && app.listen() == 0)
      pool.restore([lease])
      #expect(pool.leases == [lease])
      pool.reclaim()
      let client = TestSocket()
      #expect(client.connect(port) == 0)
      #expect(app.hasConnection)
    }
    // A port that cannot be bound without SO_REUSEADDR, although no program listens, is held.
    let isHeld = soon {
      pool.reclaim()
      let isTaken = TestSocket(reuse: false).bind(port) == EADDRINUSE
      return isTaken && TestSocket().connect(port) == ECONNREFUSED ? true : nil
    }
    #expect(isHeld == true)
    #expect(try pool.leaseSoon()[0].port == port + 1)
  }

  @Test("holds a port with earlier connections")
  func connections() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    try TestSocket.leaveTimeWait(port)
    pool.restore([PortLease(port: port, environment: "e", since: Date(), holds: false)])
    let server = TestSocket()
    #expect(server.bindSoon(port))
    #expect(server.listen() == 0)
  }

  @Test("ends leases of a changed pool as usual, without leasing their ports again")
  func outside() throws {
    let former = try OwnPorts(3)
    let port = former.range.upperBound
    let pool = PortPool(range: former.range.lowerBound...(port - 1))
    pool.restore([PortLease(port: port, since: Date())])
    #expect(pool.leases.map(\.port) == [port])
    try pool.release(port)
    #expect(try Set(pool.leaseSoon(PortRequest(count: 2)).map(\.port)) == [port - 2, port - 1])
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    withExtendedLifetime(former) {}
  }

  @Test("does not count leases of a former pool")
  func outsideRoom() throws {
    let former = try OwnPorts(4)
    let low = former.range.lowerBound
    let pool = PortPool(range: low...(low + 1))
    pool.restore([PortLease(port: low + 2, since: Date()), PortLease(port: low + 3, since: Date())])
    #expect(try Set(pool.leaseSoon(PortRequest(count: 2)).map(\.port)) == [low, low + 1])
    try pool.release(low)
    try pool.release(low + 3)
    #expect(try pool.leaseSoon(PortRequest()).map(\.port) == [low])
    withExtendedLifetime(former) {}
  }

  @Test("holds no port that should not be held")
  func unheld() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    pool.restore([PortLease(port: port, since: Date(), holds: false)])
    pool.reclaim()
    #expect(TestSocket.isFree(port))
  }
}
