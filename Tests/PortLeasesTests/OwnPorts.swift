import Foundation
import PortLeases

/// Ports that no other test takes while this value lives, be it one of another run on this machine.
///
/// They are below those of the acceptance scripts (`own_ports` in `daemon.py`), those of the daemon's standard pool and
/// those that the system hands out by itself.
final class OwnPorts: Sendable {
  /// Each can be bound plainly: a former test's connections need a minute to be gone.
  let range: ClosedRange<UInt16>
  /// A hundred ports stand or fall with a name in the abstract name space of Unix sockets: one process can bind it, and
  /// the system frees it when that ends, however it does.
  private let name: Int32

  /// - Parameter count: at most 60: of a hundred some may be in use.
  /// - Throws: when others have all.
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
  /// A pool of ports that no other test has.
  static func own(
    _ count: UInt16, limit: Int = .max, record: (@Sendable (PortChange) throws -> Void)? = nil
  ) throws -> PortPool {
    let ports = try OwnPorts(count)
    // They are its own for as long as it lives.
    return PortPool(range: ports.range, limit: limit) { change in
      try withExtendedLifetime(ports) { try record?(change) }
    }
  }

  /// Its ports as messages name them.
  var words: String { "\(range.lowerBound)-\(range.upperBound)" }
}
