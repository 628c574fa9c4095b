import Foundation

/// What a pool knows. Pure: it looks at no socket and no process.
struct PoolState {
  struct Entry {
    var lease: PortLease
    /// Nil while nothing is held.
    var holder: PortHolder?
    /// Whether a holder is wanted.
    var wantsHolder: Bool
    /// When the owner was first seen to be gone.
    var ownerGoneSince: Date?
  }

  /// How long a port that was found in use is left alone.
  private static let rest: TimeInterval = 10

  var entries: [UInt16: Entry] = [:]
  /// How many of the pool's own ports are leased: those of a former pool, from before a restart, take no room in it.
  private(set) var leasedCount = 0
  private let pool: ClosedRange<UInt16>
  /// In the order in which they go out: the least recently used first.
  private var free: Queue<UInt16>
  /// Taken in advance, beside a former user's connections; until then they go to nobody else.
  private var spares: [(holder: PortHolder, until: Date)] = []
  /// Taken beforehand for the next request that wants such a holder.
  private(set) var ready: (holder: PortHolder, reusable: Bool)?
  /// Not leased, and yet some program has them: in the order in which they were found so.
  private var taken = Queue<(port: UInt16, until: Date)>()

  /// Begins at `first`: a random port, so that a daemon that has just started does not hand out what its predecessor
  /// did.
  init(_ pool: ClosedRange<UInt16>, first: UInt16) {
    self.pool = pool
    free = Queue(Array(first...pool.upperBound) + Array(pool.lowerBound..<first))
  }

  var leases: [PortLease] { entries.values.map(\.lease).sorted { $0.port < $1.port } }
  var takenCount: Int { taken.count }
  var freeCount: Int { free.count + spares.count + (ready == nil ? 0 : 1) }

  /// The next port to try.
  mutating func nextFree(now: Date) -> UInt16? {
    // A clock that was set back must not keep ports for long.
    while let first = taken.first, first.until <= now || first.until > now + Self.rest {
      free.append(first.port)
      _ = taken.next()
    }
    return free.next()
  }

  /// The next port to try where all others are gone: one of those that were found in use a moment ago.
  mutating func nextTaken() -> UInt16? { taken.next()?.port }

  /// Some program has this port.
  mutating func leaveAlone(_ port: UInt16, now: Date) { taken.append((port, now + Self.rest)) }

  mutating func makeReady(_ holder: PortHolder, reusable: Bool) { ready = (holder, reusable) }

  /// The port that was taken beforehand, where its holder is of this kind; else it is the next to try.
  mutating func nextReady(reusable: Bool) -> PortHolder? {
    guard let ready, ready.reusable == reusable else {
      dropReady()
      return nil
    }
    self.ready = nil
    return ready.holder
  }

  mutating func dropReady() {
    if let ready { free.putBack([ready.holder.port]) }
    ready = nil
  }

  /// A port that was taken in advance.
  mutating func nextSpare() -> PortHolder? { spares.isEmpty ? nil : spares.removeFirst().holder }

  mutating func keep(_ holders: [PortHolder], now: Date) {
    for holder in holders { spares.append((holder, now + Self.rest)) }
  }

  /// Nobody has asked for these for a while: they are to be tried again, as any port.
  mutating func dropSpares(now: Date = .distantFuture) {
    while let first = spares.first, first.until <= now {
      free.append(first.holder.port)
      spares.removeFirst()
    }
  }

  /// These were taken and not leased after all.
  mutating func putBack(_ ports: [UInt16]) { free.putBack(ports) }

  mutating func insert(_ lease: PortLease, holder: PortHolder?) {
    let wantsHolder = lease.holds || lease.isEndpoint
    if entries[lease.port] == nil, pool.contains(lease.port) { leasedCount += 1 }
    entries[lease.port] = Entry(lease: lease, holder: wantsHolder ? holder : nil, wantsHolder: wantsHolder)
  }

  /// After a restart: these are not free.
  mutating func restore(_ leases: [PortLease]) {
    for lease in leases { insert(lease, holder: nil) }
    free.removeAll { entries[$0] != nil }
  }

  /// Ends leases; their ports go out again after all others.
  mutating func remove(_ ports: [UInt16]) {
    for port in ports where entries.removeValue(forKey: port) != nil {
      // A port of a former pool, leased before a restart, is nobody's now.
      guard pool.contains(port) else { continue }
      free.append(port)
      leasedCount -= 1
    }
  }

  /// Whose end would free something.
  var owners: Set<PortOwner> { Set(entries.values.compactMap { $0.lease.environment == nil ? $0.lease.owner : nil }) }

  /// Leases whose time is over, or whose owner has been gone for so long. An environment's come back with it alone.
  mutating func due(now: Date, grace: TimeInterval, gone: Set<PortOwner>) -> [PortLease] {
    var due: [PortLease] = []
    for (port, entry) in entries where entry.lease.environment == nil {
      var isDue = entry.lease.endsAt.map { $0 <= now } ?? false
      if let owner = entry.lease.owner, gone.contains(owner) {
        let since = min(entry.ownerGoneSince ?? now, now)
        entries[port]?.ownerGoneSince = since
        isDue = isDue || now.timeIntervalSince(since) >= grace
      }
      if isDue { due.append(entry.lease) }
    }
    return due
  }
}
