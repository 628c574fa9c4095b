package import Basics
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A server for portpicker's portserver protocol, whose clients get leases of the pool.
///
/// It runs on its own thread. A lease belongs to the process that the client names, which may be another one than the
/// client. The port is held only if the system assigns ports of the pool itself: a client need not set `SO_REUSEADDR`,
/// and then could not bind beside a holder.
package final class PortserverServer: Sendable {
  private let isOver: Monitor<Bool>
  private let loop: PortserverLoop
  private let pool: PortPool

  /// Starts listening on an address.
  ///
  /// - Parameters:
  ///   - address: a path, or `@` and an abstract name.
  ///   - pool: the pool of ports.
  ///   - patience: the time for a client to send its request.
  ///   - log: receives events, on the server's thread.
  /// - Throws: ``CodedError``.
  package init(
    address: String, pool: PortPool, patience: Duration = .seconds(5),
    log: @escaping @Sendable (PortserverEvent) -> Void = { _ in }
  ) throws(CodedError) {
    let loop = try PortserverLoop(address: PortserverAddress(address), pool: pool, patience: patience, log: log)
    let isOver = Monitor(false)
    let thread = Thread {
      loop.run()
      isOver.withLock { $0 = true }
    }
    thread.name = "portserver"
    thread.start()
    self.loop = loop
    self.isOver = isOver
    self.pool = pool
  }

  deinit { loop.end() }

  /// Stops listening, and returns once no client is being served. Leases stay.
  package func stop() async {
    loop.end()
    await isOver.waitIgnoringCancellation { $0 }
  }

  /// The statistics so far, in one line.
  package var statistics: String {
    let counts = loop.counts
    let refused = [PortserverCounts.Refusal.denied, .malformed, .foreign].map { counts.refused[$0] ?? 0 }
    let ports = pool.counts
    return "portserver: \(counts.leased) ports leased, \(refused[0]) clients denied, \(refused[1]) without "
      + "a valid request, \(refused[2]) of other users; of the ports \(pool.range.lowerBound)-"
      + "\(pool.range.upperBound): \(ports.leased) leased, \(ports.free) free, \(ports.taken) in use by others"
  }
}

/// An action of a portserver, for the log.
package enum PortserverEvent: Sendable, CustomStringConvertible {
  case leased(port: UInt16, pid: Int32)
  /// A client got no port, for this reason.
  case refused(String)

  package var description: String {
    switch self {
    case .leased(let port, let pid): "the portserver leased port \(port) to process \(pid)"
    case .refused(let reason): "the portserver refused a client: \(reason)"
    }
  }
}

/// Statistics of a portserver.
struct PortserverCounts {
  /// Why a client got no port.
  enum Refusal {
    /// No port was left, or the process cannot own one.
    case denied
    /// The request was malformed, empty or too slow.
    case malformed
    /// The client belongs to another user.
    case foreign
  }

  var leased = 0
  var refused: [Refusal: Int] = [:]
}
