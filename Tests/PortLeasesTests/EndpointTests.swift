import Foundation
import PortLeases
import Testing

@Suite("Environment endpoints")
struct EndpointTests {
  @Test("are held until the server listens, which can bind the held port")
  func lent() throws {
    let pool = try PortPool.own(1)
    let port = try pool.leaseSoon(PortRequest(environment: "e", holds: false))[0].port
    #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
    do {
      let server = TestSocket()
      #expect(server.bind(port) == 0)
      #expect(server.listen() == 0)
      pool.lend(port)
      let client = TestSocket()
      #expect(client.connect(port) == 0)
      #expect(server.hasConnection)
    }
    pool.reclaim()
    #expect(pool.leases.map(\.port) == [port])
    pool.release(environment: "e")
    #expect(pool.leases.isEmpty)
  }

  @Test("need no socket besides the server's own")
  func descriptors() throws {
    let pool = try PortPool.own(1)
    let port = try pool.leaseSoon(PortRequest(environment: "e", holds: false))[0].port
    pool.lend(port)
    pool.reclaim()
    #expect(TestSocket.isFree(port))
  }

  @Test("do not affect an app's lease, which stays held")
  func app() throws {
    let pool = try PortPool.own(1)
    let port = try pool.leaseSoon(PortRequest(environment: "e"))[0].port
    pool.lend(port)
    #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
  }
}
