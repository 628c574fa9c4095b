#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A port of 127.0.0.1 that nobody else gets while this value lives, and that the program it is meant for can bind.
///
/// A socket that is bound and never listens keeps others out. It is bound plainly, so that a second holder is
/// refused, and only then gets `SO_REUSEADDR`, so that a program which sets the same (nearly every server does) can
/// bind and listen beside it.
package final class PortReservation: Sendable {
  /// 20000 to 32767: below what Linux hands out for outgoing connections (`ip_local_port_range`).
  package static let pool: ClosedRange<UInt16> = 20000...32767

  /// The reserved port.
  package let port: UInt16
  private let descriptor: Int32

  /// Reserves some free port of the pool.
  ///
  /// - Throws: ``PortUnavailable`` when every port of the pool is taken.
  package init(in pool: ClosedRange<UInt16> = PortReservation.pool) throws(PortUnavailable) {
    let count = Int(pool.upperBound - pool.lowerBound) + 1
    let first = Int.random(in: 0..<count)
    for step in 0..<count {
      let port = pool.lowerBound + UInt16((first + step) % count)
      if let descriptor = loopbackSocket(port: port) {
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        self.port = port
        self.descriptor = descriptor
        return
      }
    }
    throw PortUnavailable(pool: pool)
  }

  deinit { close(descriptor) }
}

/// A listening socket on a free port of 127.0.0.1, to be inherited by a child: no race at all.
package final class ListeningSocket: Sendable {
  /// The port on which it listens.
  package let port: UInt16
  /// The descriptor, close-on-exec; it is closed with this value.
  package let descriptor: Int32

  /// Listens on some free port of the pool.
  ///
  /// - Throws: ``PortUnavailable`` when every port of the pool is taken.
  package init(in pool: ClosedRange<UInt16> = PortReservation.pool) throws(PortUnavailable) {
    let count = Int(pool.upperBound - pool.lowerBound) + 1
    let first = Int.random(in: 0..<count)
    for step in 0..<count {
      let port = pool.lowerBound + UInt16((first + step) % count)
      guard let descriptor = loopbackSocket(port: port) else { continue }
      guard listen(descriptor, 1024) == 0 else {
        close(descriptor)
        continue
      }
      self.port = port
      self.descriptor = descriptor
      return
    }
    throw PortUnavailable(pool: pool)
  }

  deinit { close(descriptor) }
}

/// Every port of a pool is taken.
package struct PortUnavailable: Error, CustomStringConvertible {
  /// The pool that was tried.
  package let pool: ClosedRange<UInt16>

  package var description: String {
    "no port from \(pool.lowerBound) to \(pool.upperBound) is free; end what listens there (ss -ltnp lists it)"
  }
}

/// A stream socket bound to 127.0.0.1, or nil when the port is taken.
private func loopbackSocket(port: UInt16) -> Int32? {
  #if canImport(Darwin)
    let descriptor = socket(AF_INET, SOCK_STREAM, 0)
  #else
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  #endif
  guard descriptor >= 0 else { return nil }
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
  let bound = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard bound == 0 else {
    close(descriptor)
    return nil
  }
  return descriptor
}
