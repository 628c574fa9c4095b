import Foundation
import PortLeases
import Testing

@testable import Daemon

@Suite("What the store keeps of a lease")
struct LeaseDocumentTests {
  @Test("is read back as what it was, with all that it may have and without")
  func roundTrip() throws {
    let start = Date(timeIntervalSinceReferenceDate: 817_812_345.123_456_7)
    let leases = [
      PortLease(port: 20_000, since: start), PortLease(port: 1, since: Date(timeIntervalSinceReferenceDate: 0)),
      PortLease(
        port: 65_535, name: #"de"bug\ é/😀"#, owner: PortOwner(pid: getpid()), environment: "e-1",
        since: start, endsAt: start + 31_622_400, holds: false),
    ]
    #expect(leases[2].owner != nil)
    for lease in leases {
      #expect(try JSONDecoder().decode(PortLease.self, from: lease.document) == lease)
      // What an earlier version has stored is the same.
      let members = try JSONSerialization.jsonObject(with: lease.document) as? NSDictionary
      #expect(members == (try JSONSerialization.jsonObject(with: JSONEncoder().encode(lease)) as? NSDictionary))
    }
  }
}
