#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A listening socket on a free port of 127.0.0.1, to be inherited by a child: no race at all.
package final class ListeningSocket: Sendable {
  /// The port on which it listens.
  package var port: UInt16 { holder.port }
  /// The descriptor, close-on-exec; it is closed with this value.
  package var descriptor: Int32 { holder.descriptor }
  private let holder: PortHolder

  /// Listens on some free port of the pool.
  ///
  /// - Throws: ``PortUnavailable`` when every port of the pool is taken.
  package init(in pool: ClosedRange<UInt16> = PortReservation.pool) throws(PortUnavailable) {
    holder = try PortHolder.some(of: pool)
    // The port is its own already, so that this cannot lose it to anybody.
    guard listen(holder.descriptor, 1024) == 0 else { throw PortUnavailable(pool: pool) }
  }
}
