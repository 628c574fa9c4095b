package import Basics
#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A port of 127.0.0.1 reserved while this object lives. The program it is meant for can bind it if it sets
/// `SO_REUSEADDR`, as nearly every server does.
package final class PortReservation: Sendable {
  /// 20000 to 32767: below the ports that Linux assigns to outgoing connections (`ip_local_port_range`).
  package static let pool: ClosedRange<UInt16> = 20000...32767

  /// The reserved port.
  package var port: UInt16 { holder.port }
  private let holder: PortHolder

  /// Reserves a free port of the pool.
  ///
  /// - Throws: ``CodedError`` if all ports are in use.
  package init(in pool: ClosedRange<UInt16> = PortReservation.pool) throws(CodedError) {
    holder = try PortHolder.some(of: pool)
  }
}

extension PortHolder {
  /// Takes a free port of a pool, starting at a random one.
  ///
  /// - Throws: ``CodedError`` if all ports are in use.
  static func some(of pool: ClosedRange<UInt16>) throws(CodedError) -> PortHolder {
    let first = UInt16.random(in: pool)
    for ports in [first...pool.upperBound, pool.lowerBound...first] {
      for port in ports {
        if case .holder(let holder) = take(port) { return holder }
      }
    }
    throw CodedError(noPortIn: pool)
  }
}

extension CodedError {
  fileprivate init(noPortIn pool: ClosedRange<UInt16>) {
    self.init(
      .inputOutput,
      "no port from \(pool.lowerBound) to \(pool.upperBound) is free; stop programs that listen there ('ss -ltnp' shows "
        + "them)")
  }
}

/// A listening socket on a free port of 127.0.0.1 that a child process inherits, which avoids any race for the port.
package final class ListeningSocket: Sendable {
  /// The port.
  package var port: UInt16 { holder.port }
  /// The descriptor; close-on-exec, and closed with this object.
  package var descriptor: Int32 { holder.descriptor }
  private let holder: PortHolder

  /// Listens on a free port of the pool.
  ///
  /// - Throws: ``CodedError`` if all ports are in use.
  package init(in pool: ClosedRange<UInt16> = PortReservation.pool) throws(CodedError) {
    holder = try PortHolder.some(of: pool)
    // The port is already ours, so no other program can take it.
    guard listen(holder.descriptor, 1024) == 0 else { throw CodedError(noPortIn: pool) }
  }
}
