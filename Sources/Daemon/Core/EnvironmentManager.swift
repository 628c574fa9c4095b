import ControlAPI
import EnvironmentService
package import Foundation
import HTTPMessages
package import HTTPServer
package import PortLeases

/// The environments and leases of all programs on the machine, in the words of the control API.
///
/// Every method may be called by any thread at any time.
///
/// ```swift
/// let manager = try EnvironmentManager(configuration, store: store, contracts: folder, log: log)
/// await manager.restore()   // what was there before a restart
/// …                      // tick(now:) once a second
/// await manager.stop()
/// ```
package final class EnvironmentManager: Sendable {
  package let configuration: DaemonConfiguration
  /// The ports, which the portserver leases from, too.
  package let pool: PortPool
  let store: any DaemonStore
  let server: HTTPServer
  let service: EnvironmentService
  let log: Log
  let roots: CassetteRoots
  /// The folder of launch contracts.
  let contracts: String
  let workers = Workers(label: "diorama.manager")
  let lifecycle: Guarded<Lifecycle<HostedEnvironment>>
  let journal: JournalWriter
  let tally: Tally
  /// Calls that wait.
  let waits: WaitLimit
  /// Questions for an environment's state that wait.
  let stateWaits: WaitLimit
  /// Environments that have ended, and that the store would not let go.
  let unremoved = Guarded<Set<String>>([])
  /// How many environments had ended when memory was last given back.
  private let trimmedEnds = Guarded(0)
  /// Whether somebody else stops it.
  private let isServerShared: Bool
  private let started = ContinuousClock.now
  private let lastUse = Guarded(ContinuousClock.now)

  /// - Parameters:
  ///   - configuration: how it is to be.
  ///   - store: where it keeps what a restart needs.
  ///   - contracts: an absolute path of a folder that only its owner may enter.
  ///   - server: serves the environments; nil for one of its own.
  ///   - log: is told what happens.
  /// - Throws: when the system gives no threads or descriptors.
  package init(
    _ configuration: DaemonConfiguration, store: any DaemonStore, contracts: String, server: HTTPServer? = nil, log: Log
  ) throws {
    self.configuration = configuration
    self.store = store
    self.contracts = contracts
    self.log = log
    isServerShared = server != nil
    let server = try server ?? HTTPServer()
    self.server = server
    service = EnvironmentService(server: server)
    roots = CassetteRoots(configuration.cassetteRoots)
    let tally = Tally()
    self.tally = tally
    let limits = configuration.limits
    waits = WaitLimit(limits.waits)
    stateWaits = WaitLimit(limits.stateWaits)
    lifecycle = Guarded(
      Lifecycle(limit: limits.environments, reports: EndedReports(limit: limits.reports, bytes: limits.reportBytes)))
    journal = JournalWriter(store: store, keeping: limits.journalEntries, log: log) {
      tally.change { $0.storeFailures += 1 }
    }
    pool = PortPool(range: configuration.ports.range, limit: limits.leases) { change in
      do {
        switch change {
        case .leased(let leases):
          tally.change { $0.leased += leases.count }
          try store.save(leases: leases.map { ($0.port, $0.document) })
        case .released(let ports): try store.remove(leases: ports)
        }
      } catch {
        tally.change { $0.storeFailures += 1 }
        log.error("a change of leases could not be stored", ["reason": "\(error)"])
        throw error
      }
    }
  }

  /// Does what time brings: leases come back, environments end whose owner is gone or whose time is over.
  ///
  /// To be called once a second, on a thread that may wait.
  package func tick(now: Date = Date()) {
    let reclaimed = pool.reclaim(now: now)
    tally.change { $0.reclaimed += reclaimed.count }
    for lease in reclaimed { log.info("a port has come back", ["port": .int(Int(lease.port))]) }
    for id in unremoved.withLock({ $0 }) { removeFromStore(id) }
    // Each process is looked at once, and without the lock.
    let gone = lifecycle.withLock { $0.owners }.filter { !$0.isAlive }
    let due = lifecycle.withLock { $0.due(at: now, isGone: gone.contains) }
    for (id, cause) in due { _ = try? beginEnd(id, because: cause, keepEmptyRecording: false) }
    giveBackMemory()
  }

  /// Returns to the system what ended environments had. A few ends wait until no environment is left.
  private func giveBackMemory() {
    let (ended, isEmpty) = lifecycle.withLock { ($0.endedByCause.values.reduce(0, +), $0.entries.isEmpty) }
    let isDue = trimmedEnds.withLock { trimmed in
      guard ended > trimmed, isEmpty || ended - trimmed >= 256 else { return false }
      trimmed = ended
      return true
    }
    if isDue { Memory.giveBack() }
  }

  /// Somebody uses the daemon.
  package func noteUse() { lastUse.withLock { $0 = .now } }

  /// Whether there has been nothing to do for so long: no environment, no lease, no request.
  package func isIdle(for seconds: Double, now: ContinuousClock.Instant = .now) -> Bool {
    guard lifecycle.withLock({ $0.entries.isEmpty }), pool.leases.isEmpty else {
      lastUse.withLock { $0 = now }
      return false
    }
    return lastUse.withLock { now - $0 } >= .seconds(seconds)
  }

  /// Ends all environments, in order; leases stay in the store for those whose owners live on.
  package func stop() async {
    let (all, ready) = lifecycle.withLock { $0.stop() }
    for id in ready { _ = try? beginEnd(id, because: .stop, keepEmptyRecording: false) }
    for hosted in all { await hosted.isOver.wait() }
    await withTaskExecutorPreference(workers) { journal.flush() }
    await service.stop()
    if !isServerShared { await server.stop() }
  }

  /// What it has and has done.
  package func counters() -> EnvironmentCounters {
    var counters = tally.counters
    let (phases, ended) = lifecycle.withLock { ($0.counts, $0.endedByCause) }
    (counters.provisioning, counters.ready, counters.ending) = phases
    for cause in EndCause.allCases { counters.ended[cause.rawValue] = ended[cause, default: 0] }
    counters.leases = pool.leases.count
    counters.waiting = waits.count
    counters.stateWaiting = stateWaits.count
    counters.journalEntries = journal.written
    counters.uptimeSeconds = (ContinuousClock.now - started) / .seconds(1)
    return counters
  }
}
