import Foundation
import PortLeases
import Testing

@Suite("A port that another program has")
struct BusyPortTests {
  @Test(
    "is not given, on whatever address it is",
    arguments: ["127.0.0.1", "0.0.0.0", "127.0.0.2", "::1", "::"], [false, true])
  func taken(host: String, datagrams: Bool) throws {
    let hosts = ["127.0.0.1", "0.0.0.0", "127.0.0.2", "::1", "::"]
    let port = 10100 + UInt16(2 * (hosts.firstIndex(of: host) ?? 0)) + (datagrams ? 1 : 0)
    let pool = PortPool(range: port...port)
    let other = try OtherSocket(host, port, datagrams: datagrams)
    for holds in [true, false] {
      let error = #expect(throws: PortError.self) { try pool.lease(PortRequest(holds: holds)) }
      #expect(error?.kind == .exhausted)
      #expect(error?.message.contains("1 in use by programs without a lease") == true)
    }
    withExtendedLifetime(other) {}
  }

  @Test("is passed over for one that is free, and given once that program has ended")
  func passed() throws {
    let pool = PortPool(range: 10120...10121)
    do {
      let other = TestSocket()
      try #require(other.bind(10120) == 0 && other.listen() == 0)
      #expect(try pool.leaseSoon()[0].port == 10121)
      #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    }
    #expect(try pool.leaseSoon()[0].port == 10120)
  }

  @Test("is not given while a second holder has it")
  func reserved() throws {
    let reservation = try PortReservation(in: 10130...10130)
    #expect(throws: PortError.self) { try PortPool(range: 10130...10130).lease(PortRequest()) }
    withExtendedLifetime(reservation) {}
  }

  @Test("is not given after its release while something listens there")
  func released() throws {
    let pool = PortPool(range: 10131...10131)
    try pool.leaseSoon()
    do {
      let server = TestSocket()
      try #require(server.bind(10131) == 0 && server.listen() == 0)
      try pool.release(10131)
      #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
    }
    try pool.leaseSoon()
  }
}
