import Foundation
import PortLeases
import Testing

@Suite("After a restart")
struct RestoreTests {
  @Test("leases are there again, held, and not given to others")
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

  @Test("a port on which its program listens stays leased, and is held once it does not")
  func listening() throws {
    let pool = try PortPool.own(2)
    let port = pool.range.lowerBound
    let lease = PortLease(port: port, since: Date(timeIntervalSince1970: 1))
    do {
      let app = TestSocket()
      try #require(app.bind(port) == 0 && app.listen() == 0)
      pool.restore([lease])
      #expect(pool.leases == [lease])
      pool.reclaim()
      let client = TestSocket()
      #expect(client.connect(port) == 0)
      #expect(app.hasConnection)
    }
    // What a plain bind cannot get, while nobody listens there, is held.
    let isHeld = soon {
      pool.reclaim()
      let isTaken = TestSocket(reuse: false).bind(port) == EADDRINUSE
      return isTaken && TestSocket().connect(port) == ECONNREFUSED ? true : nil
    }
    #expect(isHeld == true)
    #expect(try pool.leaseSoon()[0].port == port + 1)
  }

  @Test("a port beside connections of before is held")
  func connections() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    try TestSocket.leaveTimeWait(port)
    pool.restore([PortLease(port: port, environment: "e", since: Date(), holds: false)])
    let server = TestSocket()
    #expect(server.bind(port) == 0)
    #expect(server.listen() == 0)
  }

  @Test("a lease of a pool that has been changed since ends as others do, and its port does not go out")
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

  @Test("leases of a former pool take no room in the new one")
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

  @Test("nothing is held that was not to be")
  func unheld() throws {
    let pool = try PortPool.own(1)
    let port = pool.range.lowerBound
    pool.restore([PortLease(port: port, since: Date(), holds: false)])
    pool.reclaim()
    #expect(TestSocket.isFree(port))
  }
}
