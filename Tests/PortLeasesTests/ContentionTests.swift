import Basics
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import PortLeases

@Suite("Concurrent leases", .serialized)
struct ContentionTests {
  @Test("never share a port")
  func distinct() async throws {
    let pool = try PortPool.own(32)
    let held = Guarded(Set<UInt16>())
    try await threads(8) {
      for _ in 0..<60 {
        let ports = try pool.lease(PortRequest(count: 4)).map(\.port)
        for port in ports { #expect(held.withLock { $0.insert(port).inserted }) }
        for port in ports {
          _ = held.withLock { $0.remove(port) }
          try pool.release(port)
        }
      }
    }
    #expect(pool.leases.isEmpty)
  }

  @Test("never lose a held port to programs that bind any port")
  func ephemeral() async throws {
    // Uses ephemeral ports and restricts the programs to them, so they must try the held ports. Other tests' connections
    // use some of these ports, so take enough of them.
    let range = try somePorts(256)
    let pool = PortPool(range: range)
    let leases = Set((0..<128).compactMap { _ in try? pool.lease(PortRequest())[0].port })
    try #require(leases.count >= 16, "only \(leases.count) of \(range) are free")
    let stolen = Guarded<[UInt16]>([])
    let got = Guarded(0)
    try await threads(8) {
      for round in 0..<300 {
        guard let (descriptor, port) = anyPort(of: range, address: round % 2 == 0 ? 0x7F00_0001 : 0) else { continue }
        if leases.contains(port) { stolen.withLock { $0.append(port) } }
        if range.contains(port) { got.withLock { $0 += 1 } }
        close(descriptor)
      }
    }
    #expect(stolen.withLock { $0 }.isEmpty)
    #expect(got.withLock { $0 } > 0, "they came by this range at all (Linux 6.3 or later)")
    withExtendedLifetime(pool) {}
  }

  private func threads(_ count: Int, _ body: @escaping @Sendable () throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { try await onThread(body) } }
      try await group.waitForAll()
    }
  }
}

/// A range of ephemeral ports, starting at a random one.
private func somePorts(_ count: UInt16) throws -> ClosedRange<UInt16> {
  let all = EphemeralPorts.range
  try #require(all.count >= count)
  let low = UInt16.random(in: all.lowerBound...(all.upperBound - count + 1))
  return low...(low + count - 1)
}

/// The port that a program gets when it binds port 0.
private func anyPort(of range: ClosedRange<UInt16>, address host: UInt32) -> (descriptor: Int32, port: UInt16)? {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var limits = UInt32(range.lowerBound) | UInt32(range.upperBound) << 16
  setsockopt(descriptor, Int32(IPPROTO_IP), 51, &limits, 4)  // IP_LOCAL_PORT_RANGE
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = in_addr_t(host).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
    }
  }
  guard result == 0 else {
    close(descriptor)
    return nil
  }
  return (descriptor, UInt16(bigEndian: address.sin_port))
}
