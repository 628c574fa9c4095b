import Foundation
import PortLeases
import TestSupport
import Testing

@Suite("Reclaiming leases")
struct ReclaimTests {
  @Test("ends a lease when it expires, and not before")
  func time() throws {
    let pool = try PortPool.own(2)
    let start = Date()
    let short = try pool.leaseSoon(PortRequest(ttl: .seconds(10)), now: start)[0]
    try pool.leaseSoon(PortRequest(ttl: .seconds(100)), now: start)
    #expect(pool.reclaim(now: start + 9.9).isEmpty)
    #expect(soon { pool.reclaim(now: start + 10).first } == short)
    #expect(pool.leases.count == 1)
  }

  @Test("ends a lease 30 seconds after its owner is gone")
  func owner() async throws {
    try await onThread {
      let pool = try PortPool.own(2)
      let child = try sleeper()
      let lease = try pool.leaseSoon(PortRequest(owner: try child.owner))[0]
      let own = try pool.leaseSoon(PortRequest(owner: try thisProcess()))[0]
      let now = Date()
      #expect(pool.reclaim(now: now + 1000).isEmpty)
      child.end()
      #expect(pool.reclaim(now: now).isEmpty)
      #expect(pool.reclaim(now: now + 29.9).isEmpty)
      #expect(soon { pool.reclaim(now: now + 30).first } == lease)
      #expect(pool.leases == [own])
      #expect(pool.reclaim(now: now + 1000).isEmpty)
    }
  }

  @Test("ends such leases at once if the pool is exhausted")
  func exhausted() async throws {
    try await onThread {
      let pool = try PortPool.own(4)
      let child = try sleeper()
      let dead = try pool.leaseSoon(PortRequest(count: 3, owner: try child.owner)).map(\.port)
      let request = PortRequest(owner: try thisProcess())
      let last = try pool.leaseSoon(request)[0].port
      #expect(throws: PortError.self) { try pool.lease(request) }
      child.end()
      let again = try (0..<3).map { _ in try pool.leaseSoon(request)[0].port }
      #expect(Set(again) == Set(dead))
      #expect(throws: PortError.self) { try pool.lease(request) }
      #expect(pool.leases.map(\.port).contains(last))
    }
  }

  @Test(
    "never ends a lease while something listens on the port", arguments: ["127.0.0.1", "0.0.0.0", "::1", "::"])
  func listening(host: String) throws {
    let pool = try PortPool.own(1)
    let lease = try pool.leaseSoon(PortRequest(ttl: .seconds(1), holds: false))[0]
    let later = Date() + 60
    do {
      let server = try OtherSocket(host, lease.port)
      #expect(pool.reclaim(now: later).isEmpty)
      #expect(throws: PortError.self) { try pool.lease(PortRequest(), now: later) }
      #expect(pool.leases == [lease])
      withExtendedLifetime(server) {}
    }
    #expect(soon { pool.reclaim(now: later).first } == lease)
  }

  @Test("never ends a lease while its program listens")
  func held() throws {
    let pool = try PortPool.own(1)
    let port = try pool.leaseSoon(PortRequest(ttl: .seconds(1)))[0].port
    do {
      let server = TestSocket()
      try #require(server.bindSoon(port) && server.listen() == 0)
      #expect(pool.reclaim(now: Date() + 60).isEmpty)
    }
    #expect(soon { pool.reclaim(now: Date() + 60).first } != nil)
  }

  @Test("ends an environment's leases only with the environment")
  func environment() async throws {
    try await onThread {
      let pool = try PortPool.own(5)
      let child = try sleeper()
      try pool.leaseSoon(PortRequest(count: 2, owner: try child.owner, environment: "one", holds: false))
      try pool.leaseSoon(PortRequest(owner: try child.owner, environment: "one"))
      let other = try pool.leaseSoon(PortRequest(environment: "other"))
      child.end()
      #expect(pool.reclaim(now: Date() + 60).isEmpty)
      #expect(pool.reclaim(now: Date() + 120).isEmpty)
      pool.release(environment: "one")
      #expect(pool.leases == other)
      #expect(try pool.leaseSoon(PortRequest(count: 4)).count == 4)
    }
  }
}
