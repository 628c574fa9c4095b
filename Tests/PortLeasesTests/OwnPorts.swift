import Foundation
import PortLeases

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
