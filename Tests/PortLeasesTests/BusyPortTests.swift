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
      try #require(other.bind(port) == 0 && other.listen() == 0)
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
      try #require(server.bind(port) == 0 && server.listen() == 0)
      try pool.release(port)
      #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    }
    try pool.leaseSoon()
  }
}
