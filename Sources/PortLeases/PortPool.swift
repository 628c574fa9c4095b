import Basics
package import Foundation
import HTTPMessages

/// Leases the ports of a range, each to one owner at a time.
///
/// The least recently used port is leased next. Calls wait for each other and for `record`, so make them on threads that
/// may block.
package final class PortPool: Sendable {
  package let range: ClosedRange<UInt16>
  let limit: Int
  let record: (@Sendable (PortChange) throws -> Void)?
  let state: Guarded<PoolState>
  /// Serialises changes, so they are stored in the order in which they happen.
  let turn = NSLock()

  /// Creates a pool without leases.
  ///
  /// - Parameters:
  ///   - range: the ports.
  ///   - limit: the maximum number of leases.
  ///   - record: stores a change before it is made; if it throws, the change is not made. It may read the pool, but not
  ///     change it.
  package init(
    range: ClosedRange<UInt16>, limit: Int = .max, record: (@Sendable (PortChange) throws -> Void)? = nil
  ) {
    self.range = range
    self.limit = max(0, min(limit, range.count))
    self.record = record
    state = Guarded(PoolState(range, first: .random(in: range)))
  }

  /// All leases, sorted by port.
  package var leases: [PortLease] { state.withLock { $0.leases } }

  /// The number of ports in each state.
  package var counts: PortCounts {
    state.withLock { PortCounts(leased: $0.entries.count, free: $0.freeCount, taken: $0.takenCount) }
  }

  /// Restores leases after a restart and holds their ports again.
  ///
  /// A port that a program is using, such as the program it was leased for, stays leased and is held as soon as possible.
  package func restore(_ leases: [PortLease]) {
    turn.lock()
    defer { turn.unlock() }
    state.withLock { $0.restore(leases) }
    resumeHolding()
  }

  /// Leases the requested number of ports, or none.
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
      throw PortError(.notRecorded, "cannot store the lease, so no port was leased: \(error)")
    }
    state.withLock { state in
      for (lease, holder) in zip(leases, holders) { state.insert(lease, holder: holder) }
    }
    return leases
  }

  /// Ends a lease. The port is not leased again while a program listens on it.
  ///
  /// - Returns: the ended lease.
  /// - Throws: ``PortError`` if the port is not leased or the change cannot be stored.
  @discardableResult
  package func release(_ port: UInt16) throws(PortError) -> PortLease {
    turn.lock()
    defer { turn.unlock() }
    guard let lease = state.withLock({ $0.entries[port]?.lease }) else {
      throw PortError(.notLeased, "port \(port) is not leased; list leases with: diorama port list")
    }
    do { try record?(.released([port])) } catch {
      throw PortError(.notRecorded, "cannot store the release of port \(port), so it stays leased: \(error)")
    }
    state.withLock { $0.remove([port]) }
    return lease
  }

  /// Ends all leases of an environment that has ended.
  ///
  /// They end even if that cannot be stored: a later lease of the port replaces the stored one.
  package func release(environment id: String) {
    turn.lock()
    defer { turn.unlock() }
    let ports = state.withLock { state in state.entries.values.map(\.lease).filter { $0.environment == id }.map(\.port)
    }
    guard !ports.isEmpty else { return }
    try? record?(.released(ports))
    state.withLock { $0.remove(ports) }
  }

  /// Stops holding a port because the environment's server now listens on it.
  ///
  /// Until then the port is held, so no other program can take it between the lease and the listener.
  package func lend(_ port: UInt16) {
    let holder = state.withLock { state -> PortHolder? in
      guard let entry = state.entries[port], entry.lease.isEndpoint else { return nil }
      state.entries[port]?.holder = nil
      state.entries[port]?.wantsHolder = false
      return entry.holder
    }
    // Release the last reference outside of the lock.
    _ = holder
  }
}

/// The number of a pool's ports in each state.
package struct PortCounts: Sendable, Equatable {
  package let leased: Int
  package let free: Int
  /// Not leased, but recently found in use by some program.
  package let taken: Int
}

// MARK: Finding free ports
extension PortPool {
  /// How many ports with connections of a former user are checked together.
  private static let mostAtOnce = 64

  /// Takes a port in advance for the next request of this kind. It is freed again if no request follows within about a
  /// second.
  package func prepare(for request: PortRequest, now: Date = Date()) {
    turn.lock()
    defer { turn.unlock() }
    // One attempt; the next request tries the other ports.
    guard let port = state.withLock({ $0.ready == nil ? $0.nextFree(now: now) : nil }),
      let holder = try? take(port, request.reuses, now: now)
    else { return }
    state.withLock { $0.makeReady(holder, reusable: request.reuses) }
  }

  /// Called with `turn` locked.
  func take(_ request: PortRequest, now: Date) throws(PortError) -> [PortHolder] {
    if leasedCount + request.count > limit { takeBack(now: now, grace: 0) }
    guard leasedCount + request.count <= limit else {
      let what = limit < range.count ? "the limit of \(limit) leases for the ports \(words) is reached" : none
      throw exhausted(request, what)
    }
    var holders: [PortHolder] = []
    do throws(PortError) {
      while holders.count < request.count {
        if let holder = try next(reuses: request.reuses, now: now) {
          holders.append(holder)
        } else if takeBack(now: now, grace: 0).isEmpty {
          throw exhausted(request, none)
        }
      }
    } catch {
      state.withLock { $0.putBack(holders.map(\.port)) }
      throw error
    }
    return holders
  }

  /// Takes the next free port.
  private func next(reuses: Bool, now: Date) throws(PortError) -> PortHolder? {
    if let ready = state.withLock({ $0.nextReady(reusable: reuses) }) { return ready }
    if !reuses { state.withLock { $0.dropSpares() } }
    while let port = state.withLock({ $0.nextFree(now: now) }) {
      if let holder = try take(port, reuses, now: now) { return holder }
    }
    // Only ports recently found in use are left. They may have been freed, or have only connections of a former user, which
    // is good enough for most programs.
    if reuses, let holder = nextBesideFormerUsers(now: now) { return holder }
    for _ in 0..<state.withLock({ $0.takenCount }) {
      guard let port = state.withLock({ $0.nextTaken() }) else { break }
      if let holder = try take(port, reuses, now: now) { return holder }
    }
    return nil
  }

  private func nextBesideFormerUsers(now: Date) -> PortHolder? {
    if let spare = state.withLock({ $0.nextSpare() }) { return spare }
    var left = state.withLock { $0.takenCount }
    while left > 0 {
      let ports = state.withLock { state in (0..<min(left, Self.mostAtOnce)).compactMap { _ in state.nextTaken() } }
      left -= Self.mostAtOnce
      let holders = PortHolder.takeBesideFormerUsers(ports)
      let held = Set(holders.map(\.port))
      state.withLock { state in
        for port in ports where !held.contains(port) { state.leaveAlone(port, now: now) }
        state.keep(Array(holders.dropFirst()), now: now)
      }
      if let first = holders.first { return first }
    }
    return nil
  }

  private func take(_ port: UInt16, _ reuses: Bool, now: Date) throws(PortError) -> PortHolder? {
    switch PortHolder.take(port, reusable: reuses) {
    case .holder(let holder): return holder
    case .taken: break
    case .failed(let code) where [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code):
      state.withLock { $0.putBack([port]) }
      throw PortError(
        .system,
        "cannot create a socket for port \(port): \(String(cString: strerror(code))); raise the limit of open files "
          + "('ulimit -n')")
    case .failed: break
    }
    state.withLock { $0.leaveAlone(port, now: now) }
    return nil
  }

  private var leasedCount: Int { state.withLock { $0.leasedCount } }
  private var none: String { "no port of \(words) is free" }
  private var words: String { "\(range.lowerBound)-\(range.upperBound)" }

  private func exhausted(_ request: PortRequest, _ what: String) -> PortError {
    let counts = counts
    let asked = request.count == 1 ? "" : " (\(request.count) requested)"
    let others =
      counts.taken == 0 ? "" : ", \(counts.taken) in use by programs without a lease ('ss -ltunp' shows them)"
    return PortError(
      .exhausted,
      "\(what)\(asked): \(counts.leased) leased\(others); \(PortHolders(leases).description); release some "
        + "('diorama port release PORT'), stop their owners, or run the daemon with "
        + (limit < range.count ? "a higher limits.leases" : "more '--ports LOW-HIGH'"))
  }
}

// MARK: Reclaiming
extension PortPool {
  /// How long a lease outlives its owner in seconds, so that a test runner's children can still use their ports.
  package static let grace: TimeInterval = 30

  /// Ends expired leases, and leases whose owner has been gone for ``grace``, unless a program listens on the port.
  ///
  /// Call it about once a second.
  ///
  /// - Returns: the ended leases.
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

  /// Called with `turn` locked.
  @discardableResult
  func takeBack(now: Date, grace: TimeInterval) -> [PortLease] {
    let owners = state.withLock { $0.owners }
    let gone = owners.filter { !$0.isAlive }
    var due = state.withLock { $0.due(now: now, grace: grace, gone: gone) }
    guard !due.isEmpty else { return [] }
    let listening = ListeningPorts.all()
    // The table is read in pieces while it changes; trying the port with a socket is reliable.
    due.removeAll { listening.contains($0.port) || PortHolder.isListenedOn($0.port) }
    guard !due.isEmpty else { return [] }
    let ports = due.map(\.port)
    // A lease whose end cannot be stored stays until the next call.
    do { try record?(.released(ports)) } catch { return [] }
    state.withLock { $0.remove(ports) }
    return due
  }

  /// Holds ports that could not be held before because a program was listening on them.
  func resumeHolding() {
    let ports = state.withLock { state in
      state.entries.filter { $1.wantsHolder && $1.holder == nil }.map(\.key)
    }
    for port in ports {
      let holder = PortHolder.resume(port)
      state.withLock { state in
        guard let entry = state.entries[port], entry.wantsHolder else { return }
        state.entries[port]?.holder = holder
        // A program that uses an endpoint's port is the environment's server, which keeps it.
        state.entries[port]?.wantsHolder = holder != nil || !entry.lease.isEndpoint
      }
    }
  }
}

/// Describes the owners of leases, for the error of an exhausted pool.
struct PortHolders {
  private static let most = 5
  private let leases: [PortLease]

  init(_ leases: [PortLease]) { self.leases = leases }

  /// The owners with the most leases first, in one line.
  var description: String {
    guard !leases.isEmpty else { return "nothing is leased" }
    var groups: [Holder: [PortLease]] = [:]
    for lease in leases { groups[Holder(lease), default: []].append(lease) }
    let sorted = groups.sorted {
      ($1.value.count, $0.value[0].port) < ($0.value.count, $1.value[0].port)
    }
    var words = sorted.prefix(Self.most).map { "\($0.description): \(Self.ports($1))" }
    let rest = sorted.dropFirst(Self.most)
    if !rest.isEmpty { words.append("\(rest.count) more: \(Self.count(rest.reduce(0) { $0 + $1.value.count }))") }
    return words.joined(separator: "; ")
  }

  private enum Holder: Hashable {
    case environment(String)
    case process(PortOwner)
    case nobody

    init(_ lease: PortLease) {
      if let environment = lease.environment {
        self = .environment(environment)
      } else if let owner = lease.owner {
        self = .process(owner)
      } else {
        self = .nobody
      }
    }

    var description: String {
      switch self {
      case .environment(let id): "environment \(id)"
      case .process(let owner):
        "process \(owner.pid) (\(owner.name ?? (owner.isAlive ? "running" : "gone, but its port is in use")))"
      case .nobody: "no owner, with a time limit"
      }
    }
  }

  private static func ports(_ leases: [PortLease]) -> String {
    let names = leases.compactMap(\.name).sorted()
    let shown = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    return count(leases.count) + (names.isEmpty ? "" : " (\(shown))")
  }

  private static func count(_ count: Int) -> String { count == 1 ? "1 port" : "\(count) ports" }
}
