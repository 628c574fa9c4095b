import Foundation
import PortLeases
import Testing

/// A server that closed its connections first leaves their ends behind for a minute (`TIME_WAIT`).
@Suite("A former user's connections")
struct FormerUserTests {
  @Test("do not keep a port from a program that sets SO_REUSEADDR, nor from an environment")
  func tolerated() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    try TestSocket.leaveTimeWait(port)
    try #require(TestSocket(reuse: false).bind(port) == EADDRINUSE)
    try pool.leaseSoon()
    let server = TestSocket()
    #expect(server.bind(port) == 0)
    #expect(server.listen() == 0)
    try pool.release(port)
    withExtendedLifetime(server) {}
  }

  @Test("are passed over while there are ports without any")
  func passed() throws {
    // Two neighbours of which the first is used.
    let pool = try PortPool.own(2)
    let port = pool.range.lowerBound
    try TestSocket.leaveTimeWait(port)
    #expect(try pool.leaseSoon()[0].port == port + 1)
    #expect(try pool.leaseSoon(PortRequest(environment: "e", holds: false))[0].port == port)
  }

  @Test("keep a port from a program that binds plainly, since it could not bind")
  func plain() throws {
    let pool = try PortPool.own(1)
    try TestSocket.leaveTimeWait(pool.range.lowerBound)
    #expect(throws: PortError.self) { try pool.lease(PortRequest(holds: false)) }
  }

  @Test("are beside many ports at once: those taken in advance go out next, or are free again")
  func many() throws {
    let pool = try PortPool.own(8)
    for port in pool.range { try TestSocket.leaveTimeWait(port) }
    try pool.leaseSoon()
    #expect(pool.counts.leased == 1 && pool.counts.free + pool.counts.taken == 7)
    let second = try pool.leaseSoon()[0].port
    try pool.release(second)
    // None of them is one that a program could bind plainly.
    #expect(throws: PortError.self) { try pool.lease(PortRequest(holds: false)) }
    pool.reclaim(now: Date() + 20)
    try pool.leaseSoon(PortRequest(count: 7))
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
  }

  @Test("hide neither a holder nor a program that listens")
  func others() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    let reservation = try PortReservation(in: port...port)
    try TestSocket.leaveTimeWait(port)
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    let server = TestSocket()
    try #require(server.bind(port) == 0 && server.listen() == 0)
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    withExtendedLifetime(reservation) {}
  }

  @Test("that are still open keep the port")
  func open() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    let client = TestSocket()
    let accepted: Int32
    do {
      let server = TestSocket()
      try #require(server.bind(port) == 0 && server.listen() == 0)
      try #require(client.connect(port) == 0)
      accepted = accept(server.descriptor, nil, nil)
    }
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    close(accepted)
    withExtendedLifetime(client) {}
  }
}
