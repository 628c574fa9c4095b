import Foundation
import PortLeases
import Testing

@Suite("Ports in use by other programs")
struct BusyPortTests {
  @Test(
    "are not leased, whatever address they are on",
    arguments: ["127.0.0.1", "0.0.0.0", "127.0.0.2", "::1", "::"], [false, true])
  func taken(host: String, datagrams: Bool) throws {
    let pool = try PortPool.own(1)
    let other = try OtherSocket(host, pool.range.lowerBound, datagrams: datagrams)
    for holds in [true, false] {
      let error = #expect(throws: PortError.self) { try pool.lease(PortRequest(holds: holds)) }
      #expect(error?.kind == .exhausted)
      #expect(error?.message.contains("1 in use by programs without a lease") == true)
    }
    withExtendedLifetime(other) {}
  }

  @Test("are skipped, and leased once the program has ended")
  func passed() throws {
    let pool = try PortPool.own(2)
    let port = pool.range.lowerBound
    do {
      let other = TestSocket()
      try #require(other.bindSoon(port) && other.listen() == 0)
      #expect(try pool.leaseSoon()[0].port == port + 1)
      #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    }
    #expect(try pool.leaseSoon()[0].port == port)
  }

  @Test("are not leased while a second holder has them")
  func reserved() throws {
    let pool = try PortPool.own(1)
    let reservation = try PortReservation(in: pool.range)
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    withExtendedLifetime(reservation) {}
  }

  @Test("are not leased after their release while a program listens on them")
  func released() throws {
    let pool = try PortPool.own(1)
    let port = try pool.leaseSoon()[0].port
    do {
      let server = TestSocket()
      try #require(server.bindSoon(port) && server.listen() == 0)
      try pool.release(port)
      #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    }
    try pool.leaseSoon()
  }
}

/// A server that closes its connections first leaves them behind for a minute (`TIME_WAIT`).
@Suite("Connections of a former user")
struct FormerUserTests {
  @Test("do not prevent leases for programs that set SO_REUSEADDR and for environments")
  func tolerated() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    try TestSocket.leaveTimeWait(port)
    try #require(TestSocket(reuse: false).bind(port) == EADDRINUSE)
    try pool.leaseSoon()
    let server = TestSocket()
    #expect(server.bindSoon(port))
    #expect(server.listen() == 0)
    try pool.release(port)
    withExtendedLifetime(server) {}
  }

  @Test("make their ports the last choice")
  func passed() throws {
    // Two adjacent ports; the first has been used.
    let pool = try PortPool.own(2)
    let port = pool.range.lowerBound
    try TestSocket.leaveTimeWait(port)
    #expect(try pool.leaseSoon()[0].port == port + 1)
    #expect(try pool.leaseSoon(PortRequest(environment: "e", holds: false))[0].port == port)
  }

  @Test("prevent leases for programs that bind without SO_REUSEADDR")
  func plain() throws {
    let pool = try PortPool.own(1)
    try TestSocket.leaveTimeWait(pool.range.lowerBound)
    #expect(throws: PortError.self) { try pool.lease(PortRequest(holds: false)) }
  }

  @Test("are checked for many ports at once: spare ports are leased next or freed")
  func many() throws {
    let pool = try PortPool.own(8)
    for port in pool.range { try TestSocket.leaveTimeWait(port) }
    try pool.leaseSoon()
    #expect(pool.counts.leased == 1 && pool.counts.free + pool.counts.taken == 7)
    let second = try pool.leaseSoon()[0].port
    try pool.release(second)
    // None of these could be bound without SO_REUSEADDR.
    #expect(throws: PortError.self) { try pool.lease(PortRequest(holds: false)) }
    pool.reclaim(now: Date() + 20)
    try pool.leaseSoon(PortRequest(count: 7))
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
  }

  @Test("hide neither holders nor listening programs")
  func others() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    let reservation = try PortReservation(in: port...port)
    try TestSocket.leaveTimeWait(port)
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    let server = TestSocket()
    try #require(server.bindSoon(port) && server.listen() == 0)
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    withExtendedLifetime(reservation) {}
  }

  @Test("prevent leases while still open")
  func open() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    let client = TestSocket()
    let accepted: Int32
    do {
      let server = TestSocket()
      try #require(server.bindSoon(port) && server.listen() == 0)
      try #require(client.connect(port) == 0)
      accepted = accept(server.descriptor, nil, nil)
    }
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    close(accepted)
    withExtendedLifetime(client) {}
  }
}
