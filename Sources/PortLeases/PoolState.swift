import Foundation

/// The state of a pool. Pure: it accesses no sockets and no processes.
struct PoolState {
  struct Entry {
    var lease: PortLease
    /// Nil while the port is not held.
    var holder: PortHolder?
    /// Whether the port should be held.
    var wantsHolder: Bool
    /// When the owner was first found to be gone.
    var ownerGoneSince: Date?
  }

  /// How long a port found in use is not tried again, in seconds.
  private static let rest: TimeInterval = 10

  var entries: [UInt16: Entry] = [:]
  /// How many of the pool's ports are leased. Ports of another pool, leased before a restart, do not count.
  private(set) var leasedCount = 0
  private let pool: ClosedRange<UInt16>
  /// The order in which ports are leased: least recently used first.
  private var free: Queue<UInt16>
  /// Ports taken in advance although they have connections of a former user. Other requests do not use them meanwhile.
  private var spares: [(holder: PortHolder, until: Date)] = []
  /// A port taken in advance for the next request of this kind.
  private(set) var ready: (holder: PortHolder, reusable: Bool)?
  /// Unleased ports in use by some program, in the order in which they were found.
  private var taken = Queue<(port: UInt16, until: Date)>()

  /// Begins at `first`, a random port, so that a restarted daemon does not lease the same ports as its predecessor.
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

  /// The next port to try when all others are gone: one recently found in use.
  mutating func nextTaken() -> UInt16? { taken.next()?.port }

  /// Marks a port as in use by some program.
  mutating func leaveAlone(_ port: UInt16, now: Date) { taken.append((port, now + Self.rest)) }

  mutating func makeReady(_ holder: PortHolder, reusable: Bool) { ready = (holder, reusable) }

  /// The port taken in advance, if its holder is of this kind; otherwise it is tried next.
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

  /// A port taken in advance beside a former user's connections.
  mutating func nextSpare() -> PortHolder? { spares.isEmpty ? nil : spares.removeFirst().holder }

  mutating func keep(_ holders: [PortHolder], now: Date) {
    for holder in holders { spares.append((holder, now + Self.rest)) }
  }

  /// Frees spares that were not requested for a while.
  mutating func dropSpares(now: Date = .distantFuture) {
    while let first = spares.first, first.until <= now {
      free.append(first.holder.port)
      spares.removeFirst()
    }
  }

  /// Returns ports that were taken but not leased.
  mutating func putBack(_ ports: [UInt16]) { free.putBack(ports) }

  mutating func insert(_ lease: PortLease, holder: PortHolder?) {
    let wantsHolder = lease.holds || lease.isEndpoint
    if entries[lease.port] == nil, pool.contains(lease.port) { leasedCount += 1 }
    entries[lease.port] = Entry(lease: lease, holder: wantsHolder ? holder : nil, wantsHolder: wantsHolder)
  }

  /// Restores leases after a restart.
  mutating func restore(_ leases: [PortLease]) {
    for lease in leases { insert(lease, holder: nil) }
    free.removeAll { entries[$0] != nil }
  }

  /// Ends leases; their ports are leased again after all others.
  mutating func remove(_ ports: [UInt16]) {
    for port in ports where entries.removeValue(forKey: port) != nil {
      // A port of a former pool, leased before a restart, is not ours any more.
      guard pool.contains(port) else { continue }
      free.append(port)
      leasedCount -= 1
    }
  }

  /// The owners whose end would free a port.
  var owners: Set<PortOwner> { Set(entries.values.compactMap { $0.lease.environment == nil ? $0.lease.owner : nil }) }

  /// Leases that have expired, or whose owner has been gone for long enough. An environment's leases end only with it.
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

/// A FIFO queue with constant-time operations. For plain values: removed elements stay in memory for a while.
struct Queue<Element> {
  private var elements: [Element]
  /// The index of the first element; those before it have been removed.
  private var head = 0

  init(_ elements: [Element] = []) { self.elements = elements }

  var count: Int { elements.count - head }
  var first: Element? { head < elements.count ? elements[head] : nil }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func next() -> Element? {
    guard let first else { return nil }
    head += 1
    if head > 1024, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Puts elements in front of all others.
  mutating func putBack(_ elements: [Element]) {
    self.elements.replaceSubrange(..<head, with: elements)
    head = 0
  }

  mutating func removeAll(where isGone: (Element) -> Bool) {
    elements.removeFirst(head)
    head = 0
    elements.removeAll(where: isGone)
  }
}
