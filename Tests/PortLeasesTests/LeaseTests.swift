import Foundation
import PortLeases
import Testing

@Suite("Leases")
struct LeaseTests {
  let pool: PortPool

  init() throws { pool = try PortPool.own(50) }

  @Test("contain an exclusive port of the pool, its name, owner and end")
  func lease() throws {
    let owner = try thisProcess()
    let leases = try pool.leaseSoon(PortRequest(count: 3, names: ["debug", "admin"], owner: owner, ttl: .seconds(60)))
    #expect(Set(leases.map(\.port)).count == 3)
    #expect(leases.allSatisfy { pool.range.contains($0.port) && $0.owner == owner && $0.holds })
    #expect(leases.map(\.name) == ["debug", "admin", nil])
    #expect(leases.allSatisfy { $0.endsAt == $0.since + 60 })
    #expect(pool.leases == leases.sorted { $0.port < $1.port })
  }

  @Test("keep out programs that bind without SO_REUSEADDR, and admit those that set it")
  func held() throws {
    let port = try pool.leaseSoon()[0].port
    #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
    let server = TestSocket()
    #expect(server.bindSoon(port))
    #expect(server.listen() == 0)
    let client = TestSocket()
    #expect(client.connect(port) == 0)
    #expect(server.hasConnection)
  }

  @Test("admit programs that bind without SO_REUSEADDR if not held")
  func unheld() throws {
    let port = try pool.leaseSoon(PortRequest(holds: false))[0].port
    #expect(TestSocket.isFree(port))
    #expect(pool.leases.map(\.holds) == [false])
  }

  @Test("end on release, which frees the port at once")
  func released() throws {
    let lease = try pool.leaseSoon(PortRequest(name: "debug"))[0]
    #expect(try pool.release(lease.port) == lease)
    #expect(pool.leases.isEmpty)
    #expect(TestSocket.isFree(lease.port))
    let error = #expect(throws: PortError.self) { try pool.release(lease.port) }
    #expect(error?.kind == .notLeased)
  }

  @Test(
    "are refused for invalid requests, in one line",
    arguments: [
      PortRequest(count: 0), PortRequest(count: -1), PortRequest(count: 51), PortRequest(count: .max),
      PortRequest(names: ["a", "b"]), PortRequest(name: ""), PortRequest(name: "a\nb"),
      PortRequest(name: String(repeating: "a", count: 129)), PortRequest(count: 2, names: ["a", "a"]),
      PortRequest(ttl: .zero), PortRequest(ttl: .seconds(-1)), PortRequest(ttl: .seconds(Int64.max)),
    ])
  func invalid(request: PortRequest) throws {
    let error = #expect(throws: PortError.self) { try pool.lease(request) }
    #expect(error?.kind == .invalid)
    #expect(error?.message.contains("\n") == false)
    #expect(pool.leases.isEmpty)
  }
}

extension PortRequest {
  init(name: String) { self.init(names: [name]) }
}

@Suite("Environment endpoints")
struct EndpointTests {
  @Test("are held until the server listens, which can bind the held port")
  func lent() throws {
    let pool = try PortPool.own(1)
    let port = try pool.leaseSoon(PortRequest(environment: "e", holds: false))[0].port
    #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
    do {
      let server = TestSocket()
      #expect(server.bindSoon(port))
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
