import Foundation
import PortLeases
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What another program does with a port.
final class TestSocket {
  let descriptor: Int32

  /// - Parameter reuse: whether it sets `SO_REUSEADDR` before it binds, as nearly every server does.
  init(reuse: Bool = true) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = reuse ? 1 : 0
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// 0, or errno.
  func bind(_ port: UInt16, address: UInt32 = 0x7F00_0001) -> Int32 { call(Glibc.bind, port, address) }

  /// 0, or errno.
  func connect(_ port: UInt16) -> Int32 { call(Glibc.connect, port, 0x7F00_0001) }

  /// 0, or errno.
  func listen() -> Int32 { Glibc.listen(descriptor, 8) == 0 ? 0 : errno }

  /// A connection to itself that this side closed first, so that its end waits here for its time to pass
  /// (`TIME_WAIT`), with nobody listening any more.
  static func leaveTimeWait(_ port: UInt16) throws {
    let server = TestSocket()
    try #require(server.bind(port) == 0 && server.listen() == 0)
    let client = TestSocket()
    try #require(client.connect(port) == 0)
    let accepted = accept(server.descriptor, nil, nil)
    close(accepted)
    // The client has seen the end before it closes, too.
    var byte: UInt8 = 0
    try #require(recv(client.descriptor, &byte, 1, 0) == 0)
  }

  /// Whether a connection waits.
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

/// A socket of another program on some address: TCP or UDP, v4 or v6.
final class OtherSocket {
  let descriptor: Int32

  /// On `127.0.0.1`, `0.0.0.0`, `::1` or `::`, which is v6 alone; a stream's listens.
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

// A child that another test starts just now holds copies of all sockets until it runs its program: for a moment what is
// free seems taken. Where a test depends on one port it therefore asks until it gets it.

/// What comes of trying again for as long as it is nil; nil after ten seconds of that.
func soon<Value>(_ body: () throws -> Value?) rethrows -> Value? {
  let end = ContinuousClock.now + .seconds(10)
  while true {
    if let value = try body() { return value }
    guard ContinuousClock.now < end else { return nil }
    usleep(2000)
  }
}

extension TestSocket {
  /// Whether a program that binds plainly gets the port.
  static func isFree(_ port: UInt16) -> Bool { soon { TestSocket(reuse: false).bind(port) == 0 ? true : nil } ?? false }
}

extension PortPool {
  /// Leases from a pool that must have what is asked for.
  @discardableResult
  func leaseSoon(_ request: PortRequest = PortRequest(), now: Date = Date()) throws -> [PortLease] {
    try #require(soon { try? lease(request, now: now) })
  }
}

/// Another process that owns leases; it sleeps until it is killed.
func sleeper() throws -> Child {
  try Child(["/bin/sleep", "240"].map { Array($0.utf8) }, environment: [:])
}

extension Child {
  var owner: PortOwner {
    get throws { try #require(PortOwner(pid: pid)) }
  }

  /// Kills it; returns when it is gone.
  func end() {
    send(SIGKILL)
    waitForEnd()
  }
}

/// This process, as an owner that stays.
func thisProcess() throws -> PortOwner { try #require(PortOwner(pid: getpid())) }
