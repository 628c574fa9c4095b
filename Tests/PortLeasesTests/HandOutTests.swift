import Basics
import Foundation
import HTTPMessages
import TestSupport
import Testing
@testable import PortLeases

@Suite("The order of leased ports")
struct HandOutTests {
  private let now = Date(timeIntervalSince1970: 1_000_000)

  @Test("is least recently used first")
  func order() {
    var state = PoolState(10...13, first: 10)
    for port in next(4, of: &state) { state.insert(PortLease(port: port, since: now), holder: nil) }
    state.remove([12, 10])
    state.remove([13])
    state.remove([11])
    #expect(next(5, of: &state) == [12, 10, 13, 11])
  }

  @Test("avoids a port just released while others are unused")
  func unused() {
    var state = PoolState(10...19, first: 10)
    var seen: [UInt16] = []
    for _ in 0..<10 {
      let port = next(1, of: &state)[0]
      seen.append(port)
      state.insert(PortLease(port: port, since: now), holder: nil)
      state.remove([port])
    }
    #expect(seen == Array(10...19))
  }

  @Test("wraps around the end of the pool")
  func wraps() {
    var state = PoolState(10...14, first: 13)
    #expect(next(6, of: &state) == [13, 14, 10, 11, 12])
  }

  @Test("starts with ports that were taken but not used")
  func putBack() {
    var state = PoolState(10...14, first: 10)
    let unused = next(3, of: &state)
    state.putBack(unused)
    #expect(next(5, of: &state) == [10, 11, 12, 13, 14])
  }

  @Test("skips a port in use for ten seconds, even if the clock is set back")
  func rest() {
    var state = PoolState(10...11, first: 10)
    _ = next(1, of: &state)
    state.leaveAlone(10, now: now)
    #expect(state.nextFree(now: now + 9) == 11)
    #expect(state.nextFree(now: now + 9) == nil)
    #expect(state.nextFree(now: now + 10) == 10)
    state.leaveAlone(10, now: now)
    #expect(state.nextFree(now: now - 60) == 10)
    state.leaveAlone(11, now: now)
    #expect(state.nextTaken() == 11)
    #expect(state.nextTaken() == nil)
  }

  @Test("starts at a random port in a new pool")
  func random() throws {
    let ports = try OwnPorts(16)
    let first = try (0..<40).map { _ in try PortPool(range: ports.range).leaseSoon()[0].port }
    #expect(Set(first).count > 1)
  }

  @Test("stays correct over many rounds")
  func rounds() {
    var state = PoolState(1...3000, first: 1)
    for round in 0..<4 {
      let ports = next(3000, of: &state)
      #expect(ports == Array(1...3000), "round \(round)")
      for port in ports { state.insert(PortLease(port: port, since: now), holder: nil) }
      state.remove(ports)
    }
  }

  private func next(_ count: Int, of state: inout PoolState) -> [UInt16] {
    (0..<count).compactMap { _ in state.nextFree(now: now) }
  }
}

@Suite("Ports taken in advance")
struct PreparedPortTests {
  private let pool: PortPool

  init() throws { pool = try PortPool.own(20) }

  private func prepare(_ request: PortRequest) throws -> UInt16 {
    try #require(
      soon {
        pool.prepare(for: request)
        return pool.state.withLock { $0.ready?.holder.port }
      })
  }

  @Test("are exclusive, and leased to the next request of their kind", arguments: [true, false])
  func next(holds: Bool) throws {
    let port = try prepare(PortRequest(holds: holds))
    #expect(pool.leases.isEmpty)
    #expect(pool.counts.free + pool.counts.taken == 20)
    #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
    #expect(try prepare(PortRequest(holds: holds)) == port)
    #expect(try pool.lease(PortRequest(holds: holds)).map(\.port) == [port])
    #expect(pool.counts.free + pool.counts.taken == 19)
    if holds {
      #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
      #expect(TestSocket(reuse: true).bindSoon(port))
    } else {
      #expect(TestSocket.isFree(port))
    }
  }

  @Test("do not restrict requests of another kind", arguments: [true, false])
  func other(holds: Bool) throws {
    _ = try prepare(PortRequest(holds: holds))
    try pool.leaseSoon(PortRequest(count: 20, holds: !holds))
    #expect(pool.counts == PortCounts(leased: 20, free: 0, taken: 0))
  }

  @Test("are freed after a second without a request")
  func dropped() throws {
    let port = try prepare(PortRequest(holds: false))
    pool.reclaim()
    #expect(pool.state.withLock { $0.ready == nil })
    #expect(pool.counts.free + pool.counts.taken == 20)
    #expect(TestSocket.isFree(port))
  }
}
