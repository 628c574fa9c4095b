import Foundation
import PortLeases
import Testing

@Suite("After a restart")
struct RestoreTests {
  @Test("leases are there again, held, and not given to others")
  func restored() throws {
    let former = PortPool(range: 10270...10273)
    let leases = try former.leaseSoon(PortRequest(count: 2, names: ["a", "b"], ttl: .seconds(60)))
    let stored = try JSONEncoder().encode(leases)
    for lease in leases { try former.release(lease.port) }

    let pool = PortPool(range: 10270...10273)
    pool.restore(try JSONDecoder().decode([PortLease].self, from: stored))
    #expect(pool.leases == leases.sorted { $0.port < $1.port })
    for lease in leases { #expect(TestSocket(reuse: false).bind(lease.port) == EADDRINUSE) }
    let others = try pool.leaseSoon(PortRequest(count: 2)).map(\.port)
    #expect(Set(others).isDisjoint(with: leases.map(\.port)))
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
  }

  @Test("a port on which its program listens stays leased, and is held once it does not")
  func listening() throws {
    let pool = PortPool(range: 10274...10275)
    let lease = PortLease(port: 10274, since: Date(timeIntervalSince1970: 1))
    do {
      let app = TestSocket()
      try #require(app.bind(10274) == 0 && app.listen() == 0)
      pool.restore([lease])
      #expect(pool.leases == [lease])
      pool.reclaim()
      let client = TestSocket()
      #expect(client.connect(10274) == 0)
      #expect(app.hasConnection)
    }
    // What a plain bind cannot get, while nobody listens there, is held.
    let isHeld = soon {
      pool.reclaim()
      let isTaken = TestSocket(reuse: false).bind(10274) == EADDRINUSE
      return isTaken && TestSocket().connect(10274) == ECONNREFUSED ? true : nil
    }
    #expect(isHeld == true)
    #expect(try pool.leaseSoon()[0].port == 10275)
  }

  @Test("a port beside connections of before is held")
  func connections() throws {
    try TestSocket.leaveTimeWait(10276)
    let pool = PortPool(range: 10276...10276)
    pool.restore([PortLease(port: 10276, environment: "e", since: Date(), holds: false)])
    let server = TestSocket()
    #expect(server.bind(10276) == 0)
    #expect(server.listen() == 0)
  }

  @Test("a lease of a pool that has been changed since ends as others do, and its port does not go out")
  func outside() throws {
    let pool = PortPool(range: 10277...10278)
    pool.restore([PortLease(port: 10279, since: Date())])
    #expect(pool.leases.map(\.port) == [10279])
    try pool.release(10279)
    #expect(try Set(pool.leaseSoon(PortRequest(count: 2)).map(\.port)) == [10277, 10278])
    #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
  }

  @Test("nothing is held that was not to be")
  func unheld() throws {
    let pool = PortPool(range: 10280...10280)
    pool.restore([PortLease(port: 10280, since: Date(), holds: false)])
    pool.reclaim()
    #expect(TestSocket.isFree(10280))
  }
}
