/// A port of 127.0.0.1 that nobody else gets while this value lives, and that the program it is meant for can bind,
/// if it sets `SO_REUSEADDR` as nearly every server does.
package final class PortReservation: Sendable {
  /// 20000 to 32767: below what Linux hands out for outgoing connections (`ip_local_port_range`).
  package static let pool: ClosedRange<UInt16> = 20000...32767

  /// The reserved port.
  package var port: UInt16 { holder.port }
  private let holder: PortHolder

  /// Reserves some free port of the pool.
  ///
  /// - Throws: ``PortUnavailable`` when every port of the pool is taken.
  package init(in pool: ClosedRange<UInt16> = PortReservation.pool) throws(PortUnavailable) {
    holder = try PortHolder.some(of: pool)
  }
}

extension PortHolder {
  /// Takes some free port of a pool, from a random place on.
  ///
  /// - Throws: ``PortUnavailable`` when every port of the pool is taken.
  static func some(of pool: ClosedRange<UInt16>) throws(PortUnavailable) -> PortHolder {
    let first = UInt16.random(in: pool)
    for ports in [first...pool.upperBound, pool.lowerBound...first] {
      for port in ports {
        if case .holder(let holder) = take(port) { return holder }
      }
    }
    throw PortUnavailable(pool: pool)
  }
}

/// Every port of a pool is taken.
package struct PortUnavailable: Error, CustomStringConvertible {
  /// The pool that was tried.
  package let pool: ClosedRange<UInt16>

  package var description: String {
    "no port from \(pool.lowerBound) to \(pool.upperBound) is free; end what listens there (ss -ltnp lists it)"
  }
}
