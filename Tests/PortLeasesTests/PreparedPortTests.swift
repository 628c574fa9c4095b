import Foundation
import HTTPMessages
import Testing

@testable import PortLeases

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
      #expect(TestSocket(reuse: true).bind(port) == 0)
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
