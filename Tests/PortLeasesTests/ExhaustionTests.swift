import PortLeases
import TestSupport
import Testing

@Suite("Exhausted pools")
struct ExhaustionTests {
  @Test("an error names the owners and what to do, in one line")
  func message() throws {
    let pool = try PortPool.own(10)
    let owner = try thisProcess()
    try pool.leaseSoon(PortRequest(count: 4, names: ["debug", "admin"], owner: owner))
    try pool.leaseSoon(PortRequest(count: 3, environment: "a1b2", holds: false))
    try pool.leaseSoon(PortRequest(count: 2, ttl: .seconds(60)))
    let error = try #require(throws: PortError.self) { try pool.lease(PortRequest(count: 2)) }
    #expect(error.kind == .exhausted)
    for part in [
      "no port of \(pool.words) is free (2 requested)", "9 leased", "process \(owner.pid) (",
      "4 ports (admin, debug)",
      "environment a1b2: 3 ports", "no owner, with a time limit: 2 ports", "diorama port release",
    ] { #expect(error.message.contains(part), "\(part) in: \(error.message)") }
    #expect(!error.message.contains("\n"))
  }

  @Test("an error names the five owners with the most ports and counts the others")
  func most() throws {
    let pool = try PortPool.own(60)
    for number in 1...9 { try pool.leaseSoon(PortRequest(count: number, environment: "e\(number)")) }
    let error = try #require(throws: PortError.self) { try pool.lease(PortRequest(count: 60)) }
    #expect(error.message.contains("environment e9: 9 ports; environment e8: 8 ports"))
    #expect(error.message.contains("environment e5: 5 ports; 4 more: 10 ports;"))
    #expect(!error.message.contains("environment e4"))
  }

  @Test("leases all requested ports or none, and keeps the free ones for later")
  func all() throws {
    let pool = try PortPool.own(4)
    let first = try pool.leaseSoon()[0]
    #expect(throws: PortError.self) { try pool.lease(PortRequest(count: 4)) }
    #expect(pool.leases == [first])
    #expect(pool.counts.leased == 1 && pool.counts.free + pool.counts.taken == 3)
    #expect(try pool.leaseSoon(PortRequest(count: 3)).count == 3)
  }

  @Test("a pool at its limit is exhausted until an owner is gone")
  func limit() async throws {
    try await onThread {
      let pool = try PortPool.own(16, limit: 2)
      let child = try sleeper()
      try pool.leaseSoon(PortRequest(owner: try child.owner))
      try pool.leaseSoon()
      let error = #expect(throws: PortError.self) { try pool.lease(PortRequest()) }
      #expect(error?.kind == .exhausted)
      #expect(error?.message.contains("the limit of 2 leases for the ports \(pool.words) is reached") == true)
      child.end()
      try pool.leaseSoon()
      let more = #expect(throws: PortError.self) { try pool.lease(PortRequest(count: 3)) }
      #expect(more?.kind == .invalid)
    }
  }
}
