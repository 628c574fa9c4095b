import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Speaks portpicker's portserver protocol, so that its clients get leases of the pool.
///
/// It runs on a thread of its own. A lease belongs to the process that the client names, which may be another than the
/// client's. It is held only where the system hands out ports of the pool by itself: a client need not set
/// `SO_REUSEADDR`, and then could not bind beside a holder.
package final class PortserverServer: Sendable {
  private struct State {
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Guarded<State>
  private let loop: PortserverLoop
  private let pool: PortPool

  /// Listens at an address; returns once it does.
  ///
  /// - Parameters:
  ///   - address: a path, or `@` and an abstract name.
  ///   - pool: where the ports come from.
  ///   - patience: how long a client may take to send its request.
  ///   - log: is told what happens, on the server's thread.
  /// - Throws: ``PortserverError``.
  package init(
    address: String, pool: PortPool, patience: Duration = .seconds(5),
    log: @escaping @Sendable (PortserverEvent) -> Void = { _ in }
  ) throws(PortserverError) {
    let loop = try PortserverLoop(address: PortserverAddress(address), pool: pool, patience: patience, log: log)
    let state = Guarded(State())
    let thread = Thread {
      loop.run()
      let waiting = state.withLock { state in
        state.isOver = true
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
    thread.name = "portserver"
    thread.start()
    self.loop = loop
    self.state = state
    self.pool = pool
  }

  deinit { loop.end() }

  /// Stops listening; returns once no client is being answered any more. Leases stay.
  package func stop() async {
    loop.end()
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  /// What has happened so far, in one line.
  package var statistics: String {
    let counts = loop.counts
    let refused = [PortserverCounts.Refusal.denied, .malformed, .foreign].map { counts.refused[$0] ?? 0 }
    let ports = pool.counts
    return "portserver: \(counts.leased) ports leased, \(refused[0]) clients denied, \(refused[1]) with no or "
      + "no proper request, \(refused[2]) of other users; of the ports \(pool.range.lowerBound)-"
      + "\(pool.range.upperBound): \(ports.leased) leased, \(ports.free) free, \(ports.taken) in use by others"
  }
}
