package import Foundation
import HTTPMessages

/// How ports are found for a request.
extension PortPool {
  /// How many ports beside a former user's connections are looked at together.
  private static let mostAtOnce = 64

  /// Takes a port for a next request like this one, while nobody waits for it; one that is not asked for in a second is
  /// free again.
  package func prepare(for request: PortRequest, now: Date = Date()) {
    turn.lock()
    defer { turn.unlock() }
    // One try: whoever asks next tries the others.
    guard let port = state.withLock({ $0.ready == nil ? $0.nextFree(now: now) : nil }),
      let holder = try? take(port, request.reuses, now: now)
    else { return }
    state.withLock { $0.makeReady(holder, reusable: request.reuses) }
  }

  /// In turn, with the caller holding it.
  func take(_ request: PortRequest, now: Date) throws(PortError) -> [PortHolder] {
    if leasedCount + request.count > limit { takeBack(now: now, grace: 0) }
    guard leasedCount + request.count <= limit else {
      let what = limit < range.count ? "only \(limit) of the ports \(words) may be leased at once" : none
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

  /// Takes the next port that is free indeed.
  private func next(reuses: Bool, now: Date) throws(PortError) -> PortHolder? {
    if let ready = state.withLock({ $0.nextReady(reusable: reuses) }) { return ready }
    if !reuses { state.withLock { $0.dropSpares() } }
    while let port = state.withLock({ $0.nextFree(now: now) }) {
      if let holder = try take(port, reuses, now: now) { return holder }
    }
    // Nothing is left but what was found in use a moment ago: only a former user's connections may be there, which is
    // good enough for most, or it may have come free.
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
        "no socket for port \(port): \(String(cString: strerror(code))); raise the limit of open files ('ulimit -n')")
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
    let asked = request.count == 1 ? "" : " (\(request.count) were asked for)"
    let others =
      counts.taken == 0 ? "" : ", \(counts.taken) in use by programs without a lease ('ss -ltunp' names them)"
    return PortError(
      .exhausted,
      "\(what)\(asked): \(counts.leased) leased\(others); \(PortHolders(leases).description); release some "
        + "('diorama port release PORT'), end their owners, or serve with "
        + (limit < range.count ? "a higher limits.leases" : "more '--ports LOW-HIGH'"))
  }
}
