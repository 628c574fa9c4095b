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
