package import Foundation
import HTTPMessages

/// How ports come back by themselves.
extension PortPool {
  /// How long a lease outlives its owner: a test runner's end must not free what its children still start with.
  package static let grace: TimeInterval = 30

  /// Takes back what is over: call it about once a second.
  ///
  /// That is what has passed its time and what has had no owner for ``grace``; never while something listens there.
  ///
  /// - Returns: what has come back.
  @discardableResult
  package func reclaim(now: Date = Date()) -> [PortLease] {
    turn.lock()
    defer { turn.unlock() }
    let leases = takeBack(now: now, grace: Self.grace)
    resumeHolding()
    state.withLock { state in
      state.dropSpares(now: now)
      state.dropReady()
    }
    return leases
  }

  /// In turn, with the caller holding it.
  @discardableResult
  func takeBack(now: Date, grace: TimeInterval) -> [PortLease] {
    let owners = state.withLock { $0.owners }
    let gone = owners.filter { !$0.isAlive }
    var due = state.withLock { $0.due(now: now, grace: grace, gone: gone) }
    guard !due.isEmpty else { return [] }
    let listening = ListeningPorts.all()
    // The table is read in pieces while it changes; a socket of our own that tries the port is never wrong.
    due.removeAll { listening.contains($0.port) || PortHolder.isListenedOn($0.port) }
    guard !due.isEmpty else { return [] }
    let ports = due.map(\.port)
    // What cannot be stored stays leased until the next time.
    do { try record?(.released(ports)) } catch { return [] }
    state.withLock { $0.remove(ports) }
    return due
  }

  /// Holds what should be held and could not be before, because its user was listening.
  func resumeHolding() {
    let ports = state.withLock { state in
      state.entries.filter { $1.wantsHolder && $1.holder == nil }.map(\.key)
    }
    for port in ports {
      let holder = PortHolder.resume(port)
      state.withLock { state in
        guard let entry = state.entries[port], entry.wantsHolder else { return }
        state.entries[port]?.holder = holder
        // Whoever has an endpoint is the environment's server, which keeps it.
        state.entries[port]?.wantsHolder = holder != nil || !entry.lease.isEndpoint
      }
    }
  }
}
