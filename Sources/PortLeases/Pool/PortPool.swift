package import Foundation
import HTTPMessages

/// Leases ports of a range, each to one owner at a time.
///
/// The least recently used port goes out next. Calls wait for one another and for `record`: make them on threads that
/// may wait.
package final class PortPool: Sendable {
  package let range: ClosedRange<UInt16>
  let limit: Int
  let record: (@Sendable (PortChange) throws -> Void)?
  let state: Guarded<PoolState>
  /// One change after the other, so that they are stored in the order in which they happen.
  let turn = NSLock()

  /// A pool in which nothing is leased.
  ///
  /// - Parameters:
  ///   - range: its ports.
  ///   - limit: how many of them may be leased at once.
  ///   - record: stores a change before anybody is told of it; when it throws, the change is not made. It may look at
  ///     the pool, but not change it.
  package init(
    range: ClosedRange<UInt16>, limit: Int = .max, record: (@Sendable (PortChange) throws -> Void)? = nil
  ) {
    self.range = range
    self.limit = max(0, min(limit, range.count))
    self.record = record
    state = Guarded(PoolState(range, first: .random(in: range)))
  }

  /// What is leased, by port.
  package var leases: [PortLease] { state.withLock { $0.leases } }

  /// How many ports are in which state.
  package var counts: PortCounts {
    state.withLock { PortCounts(leased: $0.entries.count, free: $0.freeCount, taken: $0.takenCount) }
  }

  /// Takes up leases of before a restart, and holds their ports again.
  ///
  /// A port that some program has by now, such as the one that it was leased for, stays leased; it is held as soon as
  /// that is possible.
  package func restore(_ leases: [PortLease]) {
    turn.lock()
    defer { turn.unlock() }
    state.withLock { $0.restore(leases) }
    resumeHolding()
  }

  /// Leases as many ports as are asked for, or none.
  ///
  /// - Throws: ``PortError``.
  @discardableResult
  package func lease(_ request: PortRequest, now: Date = Date()) throws(PortError) -> [PortLease] {
    try request.check(most: limit)
    turn.lock()
    defer { turn.unlock() }
    let holders = try take(request, now: now)
    let leases = holders.enumerated().map { request.lease(of: $1.port, index: $0, now: now) }
    do {
      try record?(.leased(leases))
    } catch {
      state.withLock { $0.putBack(holders.map(\.port)) }
      throw PortError(.notRecorded, "the lease of a port cannot be stored, so that there is none: \(error)")
    }
    state.withLock { state in
      for (lease, holder) in zip(leases, holders) { state.insert(lease, holder: holder) }
    }
    return leases
  }

  /// Ends a lease; whoever still listens there keeps the port from being handed out.
  ///
  /// - Returns: the lease that was.
  /// - Throws: ``PortError`` when the port is not leased, or when that cannot be stored.
  @discardableResult
  package func release(_ port: UInt16) throws(PortError) -> PortLease {
    turn.lock()
    defer { turn.unlock() }
    guard let lease = state.withLock({ $0.entries[port]?.lease }) else {
      throw PortError(.notLeased, "port \(port) is not leased: 'diorama port list' shows what is")
    }
    do {
      try record?(.released([port]))
    } catch {
      throw PortError(.notRecorded, "the release of port \(port) cannot be stored, so that it stays leased: \(error)")
    }
    state.withLock { $0.remove([port]) }
    return lease
  }

  /// Ends all leases of an environment that has ended.
  ///
  /// They end even where that cannot be stored: a later lease of such a port takes the stored one's place.
  package func release(environment id: String) {
    turn.lock()
    defer { turn.unlock() }
    let ports = state.withLock { state in state.entries.values.map(\.lease).filter { $0.environment == id }.map(\.port)
    }
    guard !ports.isEmpty else { return }
    try? record?(.released(ports))
    state.withLock { $0.remove(ports) }
  }

  /// The environment's server listens on this port by now: nothing needs to be held beside it.
  ///
  /// Until then its port is held, so that nobody takes it between the lease and the listener.
  package func lend(_ port: UInt16) {
    let holder = state.withLock { state -> PortHolder? in
      guard let entry = state.entries[port], entry.lease.isEndpoint else { return nil }
      state.entries[port]?.holder = nil
      state.entries[port]?.wantsHolder = false
      return entry.holder
    }
    // The last reference goes here, outside of the lock.
    _ = holder
  }
}

/// How many ports of a pool are in which state.
package struct PortCounts: Sendable, Equatable {
  package let leased: Int
  package let free: Int
  /// Not leased, but some program was found to have them a moment ago.
  package let taken: Int
}
