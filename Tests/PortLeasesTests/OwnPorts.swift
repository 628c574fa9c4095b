import Foundation
import PortLeases
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Ports that no other test takes while this object lives, even in another test run on this machine.
///
/// They are below the ports of the acceptance scripts (`own_ports` in `daemon.py`), of the daemon's default pool and of
/// the system's ephemeral range.
final class OwnPorts: Sendable {
  /// Each can be bound without SO_REUSEADDR: a former test's connections need a minute to disappear.
  let range: ClosedRange<UInt16>
  /// Each block of a hundred ports is guarded by an abstract Unix socket name: only one process can bind it, and the
  /// system frees it when that process ends.
  private let name: Int32

  /// - Parameter count: at most 60, since some of a hundred may be in use.
  /// - Throws: an error if other tests use all blocks.
  init(_ count: UInt16 = 1) throws {
    for low in stride(from: UInt16(10_000), to: 15_000, by: 100).shuffled() {
      guard let name = Self.bind("diorama-test-ports-\(low)") else { continue }
      var first = low
      for port in low...(low + 99) {
        if TestSocket(reuse: false).bind(port, address: 0) != 0 { first = port + 1 }
        guard port + 1 - first == count else { continue }
        range = first...port
        self.name = name
        return
      }
      close(name)
    }
    throw POSIXError(.EADDRINUSE)
  }

  deinit { close(name) }

  private static func bind(_ name: String) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: [0] + name.utf8) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, size) }
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return nil
  }
}

extension PortPool {
  /// A pool of ports that no other test uses.
  static func own(
    _ count: UInt16, limit: Int = .max, record: (@Sendable (PortChange) throws -> Void)? = nil
  ) throws -> PortPool {
    let ports = try OwnPorts(count)
    // The pool keeps the ports while it lives.
    return PortPool(range: ports.range, limit: limit) { change in
      try withExtendedLifetime(ports) { try record?(change) }
    }
  }

  /// The range of ports as in messages.
  var words: String { "\(range.lowerBound)-\(range.upperBound)" }
}

/// Another program's use of a port.
final class TestSocket {
  let descriptor: Int32

  /// - Parameter reuse: whether it sets `SO_REUSEADDR` before binding, as nearly every server does.
  init(reuse: Bool = true) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = reuse ? 1 : 0
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// 0, or errno.
  func bind(_ port: UInt16, address: UInt32 = 0x7F00_0001) -> Int32 { call(Glibc.bind, port, address) }

  /// Whether the port could be bound within ten seconds. For ports that should be free.
  func bindSoon(_ port: UInt16) -> Bool { soon { bind(port) == 0 ? true : nil } ?? false }

  /// 0, or errno.
  func connect(_ port: UInt16) -> Int32 { call(Glibc.connect, port, 0x7F00_0001) }

  /// 0, or errno.
  func listen() -> Int32 { Glibc.listen(descriptor, 8) == 0 ? 0 : errno }

  /// A connection to itself that this side closed first, which leaves it in `TIME_WAIT` without a listener.
  static func leaveTimeWait(_ port: UInt16) throws {
    let server = TestSocket()
    try #require(server.bindSoon(port) && server.listen() == 0)
    let client = TestSocket()
    try #require(client.connect(port) == 0)
    let accepted = accept(server.descriptor, nil, nil)
    close(accepted)
    // The client must see the end before it closes too.
    var byte: UInt8 = 0
    try #require(recv(client.descriptor, &byte, 1, 0) == 0)
  }

  /// Whether a connection is waiting.
  var hasConnection: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 10_000) == 1
  }

  private func call(
    _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ port: UInt16, _ host: UInt32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(host).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return result == 0 ? 0 : errno
  }
}

/// Another program's socket on some address: TCP or UDP, IPv4 or IPv6.
final class OtherSocket {
  let descriptor: Int32

  /// On `127.0.0.1`, `0.0.0.0`, `::1` or `::` (IPv6 only); a stream socket listens.
  init(_ host: String, _ port: UInt16, datagrams: Bool = false) throws {
    let type = Int32((datagrams ? SOCK_DGRAM : SOCK_STREAM).rawValue | SOCK_CLOEXEC.rawValue)
    let isV6 = host.contains(":")
    descriptor = socket(isV6 ? AF_INET6 : AF_INET, type, 0)
    var yes: Int32 = 1
    var result: Int32
    if isV6 {
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      result = Self.bind(descriptor, &address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      inet_pton(AF_INET, host, &address.sin_addr)
      result = Self.bind(descriptor, &address)
    }
    if result == 0, !datagrams { result = listen(descriptor, 8) }
    try #require(result == 0, "\(host) \(port): \(errno)")
  }

  deinit { close(descriptor) }

  private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }
}

extension TestSocket {
  /// Whether a program can bind the port without SO_REUSEADDR.
  static func isFree(_ port: UInt16) -> Bool { soon { TestSocket(reuse: false).bind(port) == 0 ? true : nil } ?? false }
}

extension PortPool {
  /// Leases ports from a pool that must have them.
  @discardableResult
  func leaseSoon(_ request: PortRequest = PortRequest(), now: Date = Date()) throws -> [PortLease] {
    try #require(soon { try? lease(request, now: now) })
  }
}

/// Another process that owns leases; sleeps until it is killed.
func sleeper() throws -> Child {
  try Child(["/bin/sleep", "240"].map { Array($0.utf8) }, environment: [:])
}

extension Child {
  var owner: PortOwner {
    get throws { try #require(PortOwner(pid: pid)) }
  }

  /// Kills it and waits until it is gone.
  func end() {
    send(SIGKILL)
    waitForEnd()
  }
}

/// This process as an owner.
func thisProcess() throws -> PortOwner { try #require(PortOwner(pid: getpid())) }
