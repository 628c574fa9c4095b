package import Basics
package import ControlAPI
import Databases
import EnvironmentConfiguration
import Dispatch
import Foundation
package import PortLeases

/// Checks resources out and in, for one daemon. May be called from any thread or task.
///
/// One thread talks to the database. It sends all changes that have come in since the last transaction as the next one,
/// so that many clients cost little more than one.
///
/// While the database is unreachable, leases stay held, new requests wait until their deadline, and ended leases are handed in
/// once it is back.
///
/// ```swift
/// let book = try LeaseBook(store, host: host, key: key, isOptional: false) { print($0) }
/// try book.start { lease, owner in environments.contains(lease.environment) }
/// let lease = try await book.checkOut(request)
/// …
/// book.end(lease.id)
/// book.stop()
/// ```
package final class LeaseBook: Sendable {
  /// What happens without a caller who waits for it.
  package enum Event: Sendable {
    /// The database cannot be used: the reason.
    case away(String)
    /// The database can be used again.
    case back
    /// Another host, which is gone, held this many leases; they were taken back.
    case hostGone(name: String, leases: Int)
    /// A lease of this daemon was given to another request, because this host sent no heartbeat for too long.
    case lost(ResourceLease)
    /// The time of a lease is over.
    case expired(String)
    /// Another daemon uses the same identity, such as the one of a copied state folder.
    case replaced
    /// A change failed for a reason that does not go away by itself.
    case failed(String)
  }

  private typealias Slot = Monitor<Result<ResourceLease, CodedError>?>

  /// A request that has not been served.
  private struct Waiting {
    let slot: Slot
    let environment: String?

    func end(_ error: CodedError) { slot.withLock { $0 = $0 ?? .failure(error) } }
  }

  private struct State {
    var asking: [FleetDatabase.Asking] = []
    var ending: [(id: String, done: Monitor<Bool?>?)] = []
    var expired: [String] = []
    var jobs: [Job] = []
    /// Requests that have not been served, by id.
    var waiting: [String: Waiting] = [:]
    var held: [String: ResourceLease] = [:]
    /// How many callers wait for a request, and which leases a caller has received: a request may be repeated.
    var callers: [String: Int] = [:]
    var received: Set<String> = []
    /// Environments of the last daemon that hold resources.
    var expected: Set<String> = []
    /// When this host last reached the database.
    var reachedAt = ContinuousClock.now
    /// Who owns leases or requests.
    var owners: [String: LeaseOwner] = [:]
    var mayHaveGrants = false
    /// Whether notifications arrive, which is not known until this host's own has.
    var isNotified = false
    /// The payload of a notification to send to this host.
    var probe: String?
    /// Why the database cannot be used.
    var away: String?
    var isStopped = false
    var hasEnded = false
  }

  /// A call whose result is waited for.
  private struct Job {
    /// Nil if the database could not be used and the call may be repeated.
    var run: @Sendable (FleetDatabase) throws(CodedError) -> Void
    var fail: @Sendable (CodedError) -> Void
    var deadline: ContinuousClock.Instant
  }

  private let store: FleetAddress
  private let host: FleetHost
  private let key: StoreKey?
  private let state = Monitor(State())
  private let wake = DispatchSemaphore(value: 0)
  private let events: @Sendable (Event) -> Void
  private let first: Guarded<FleetDatabase?>

  /// Opens the store, and creates or updates its tables.
  ///
  /// - Parameters:
  ///   - store: the database.
  ///   - host: this host.
  ///   - key: encrypts secrets; nil to refuse them.
  ///   - isOptional: whether to start although the database cannot be reached.
  ///   - events: called on the thread of the database.
  /// - Throws: ``CodedError`` of kind `noUpstream` if the database cannot be reached, `broken` for tables of a newer
  ///   version.
  package init(
    _ store: FleetAddress, host: FleetHost, key: StoreKey?, isOptional: Bool = false,
    events: @escaping @Sendable (Event) -> Void
  ) throws(CodedError) {
    self.store = store
    self.host = host
    self.key = key
    self.events = events
    first = Guarded(nil)
    do {
      let database = FleetConnection(try FleetDatabase(try store.connect(), host: host, key: key))
      first.withLock { $0 = database.take() }
    } catch {
      guard isOptional, error.kind == .noUpstream else { throw error }
      state.withLock { $0.away = error.message }
      events(.away(error.message))
    }
  }

  /// Starts to serve requests.
  ///
  /// - Parameters:
  ///   - environments: restored environments that hold resources. Those whose lease is gone have lost it.
  ///   - isKept: whether a lease of this host's last daemon that no process owns is still needed. Others are ended, as are
  ///     those of processes that have ended.
  package func start(
    holding environments: [String] = [], isKept: @escaping @Sendable (ResourceLease) -> Bool
  ) {
    state.withLock { $0.expected = Set(environments) }
    let thread = Thread { self.work(isKept) }
    thread.name = "diorama.leases"
    thread.stackSize = 1 << 20
    thread.start()
    if case .postgreSQL(let address) = store {
      let listener = Thread { self.listen(address) }
      listener.name = "diorama.notifications"
      listener.stackSize = 1 << 19
      listener.start()
    }
  }

  /// For how long this host has not reached the database, in seconds; nil if other hosts cannot have taken its leases back.
  package var uncertainSeconds: Double? {
    let (away, reachedAt) = state.withLock { ($0.away, $0.reachedAt) }
    let seconds = (ContinuousClock.now - reachedAt) / .seconds(1)
    return away != nil && store.isShared && seconds > host.patience * 0.75 ? seconds : nil
  }

  /// Why the database cannot be used; nil if it can.
  package var away: String? { state.withLock { $0.away } }

  /// Whether resources are leased or waited for.
  package var isInUse: Bool { state.withLock { !$0.held.isEmpty || !$0.waiting.isEmpty || !$0.ending.isEmpty } }

  /// How many leases of this daemon are held, and how many requests wait.
  package var counts: (held: Int, waiting: Int) { state.withLock { ($0.held.count, $0.waiting.count) } }

  /// The leases of this daemon that are held, as far as it knows, without secrets.
  package var held: [ResourceLease] {
    state.withLock { Array($0.held.values) }.map { lease in
      var lease = lease
      for label in lease.resources.keys { lease.resources[label]?.secrets = nil }
      return lease
    }
  }

  /// Whether notifications of other hosts arrive.
  var isNotified: Bool { state.withLock { $0.isNotified } }

  /// How many callers wait for a request.
  func callers(of id: String) -> Int { state.withLock { $0.callers[id] ?? 0 } }

  /// Who owns a lease or a request of this daemon; nil if it has none with this id, or none with an owner.
  package func owner(of id: String) -> LeaseOwner? { state.withLock { $0.owners[id] } }

  /// Whether this daemon holds this lease, or has requested it.
  package func has(_ id: String) -> Bool { state.withLock { $0.held[id] != nil || $0.waiting[id] != nil } }

  /// The environment that a lease or a request of this daemon belongs to.
  package func environment(of id: String) -> String? {
    state.withLock { $0.held[id]?.environment ?? $0.waiting[id]?.environment }
  }

  /// The leases and requests of a program on another machine.
  package func leases(of client: String) -> [String] {
    state.withLock { state in state.owners.filter { $0.value.client == client }.map(\.key) }
  }

  // MARK: Calls

  /// Checks out resources, all or none.
  ///
  /// - Parameters:
  ///   - request: the request. Its owner must be checked by the caller.
  ///   - environment: the environment that owns the lease.
  ///   - owner: the process or the program on another machine that owns the lease.
  /// - Returns: the lease.
  /// - Throws: ``CodedError``: `noCassette` for resources that do not exist, `unanswered` if none is free in time,
  ///   `noUpstream` if the database is unreachable, and `CancellationError`. Then nothing is held.
  package func checkOut(
    _ request: LeaseRequest, environment: String? = nil, owner: LeaseOwner? = nil
  ) async throws -> ResourceLease {
    let id = request.id?.lowercased() ?? UUID().uuidString.lowercased()
    let asking = FleetDatabase.Asking(
      id: id, resources: request.resources, environment: environment,
      owner: owner.flatMap { try? JSONEncoder().encode($0) }.map { String(decoding: $0, as: UTF8.self) },
      ttl: request.ttlSeconds)
    let slot = try state.withLock { state throws(CodedError) -> Slot in
      guard !state.isStopped else { throw Self.stopping }
      state.callers[id, default: 0] += 1
      let held = state.held[id]
      // Leases of the last daemon have no secrets.
      if let held, held.resources.values.allSatisfy({ $0.secrets != nil }) { return Slot(.success(held)) }
      if let waiting = state.waiting[id] { return waiting.slot }
      let slot = Slot(nil)
      state.waiting[id] = Waiting(slot: slot, environment: environment)
      if held != nil {
        state.mayHaveGrants = true
      } else {
        state.owners[id] = owner
        state.asking.append(asking)
      }
      return slot
    }
    wake.signal()
    defer {
      state.withLock { state in
        let count = (state.callers[id] ?? 1) - 1
        state.callers[id] = count == 0 ? nil : count
      }
    }
    do {
      if try await slot.wait(until: .now + .seconds(request.patience), for: { $0 != nil }) {
        return try receive(id, slot)
      }
      // The transaction decides whether it came too late.
      state.withLock { $0.expired.append(id) }
      wake.signal()
      if away == nil, try await slot.wait(until: .now + .seconds(5), for: { $0 != nil }) {
        return try receive(id, slot)
      }
    } catch let error as CancellationError {
      // Unless the client has repeated the request on another connection.
      state.withLock { state in
        if state.callers[id] == 1, !state.received.contains(id) { Self.end(id, done: nil, &state) }
      }
      wake.signal()
      throw error
    }
    let away = away
    end(id)
    throw CodedError(
      .noUpstream,
      "timed out waiting for a resource: \(away ?? "the fleet's database does not answer"); try again once the database is reachable"
    )
  }

  private func receive(_ id: String, _ slot: Slot) throws -> ResourceLease {
    let lease = try slot.result.get()
    state.withLock { _ = $0.received.insert(id) }
    return lease
  }

  /// Ends a lease or withdraws a request. Returns at once; if the database is unreachable, it happens when it is back.
  package func end(_ id: String) { enqueueEnd(id, done: nil) }

  /// Ends a lease or withdraws a request, and waits for it.
  ///
  /// - Returns: whether it existed.
  package func endAndWait(_ id: String) async throws -> Bool {
    let done = Monitor<Bool?>(nil)
    enqueueEnd(id, done: done)
    guard try await done.wait(until: .now + .seconds(15), for: { $0 != nil }) else {
      throw CodedError(
        .noUpstream, "lease \(id) ends once the database is back: \(away ?? "the fleet's database does not answer")")
    }
    return done.withLock { $0 } ?? false
  }

  private func enqueueEnd(_ id: String, done: Monitor<Bool?>?) {
    state.withLock { Self.end(id, done: done, &$0) }
    wake.signal()
  }

  private static func end(_ id: String, done: Monitor<Bool?>?, _ state: inout State) {
    state.ending.append((id, done))
    state.held[id] = nil
    state.owners[id] = nil
    state.received.remove(id)
    state.expected.remove(id)
    state.waiting.removeValue(forKey: id)?.end(
      CodedError(.unanswered, "lease \(id) was ended while it waited"))
    state.asking.removeAll { $0.id == id }
    state.expired.removeAll { $0 == id }
  }

  /// Calls the database.
  ///
  /// - Parameters:
  ///   - patience: how long to wait for a database that is away.
  ///   - body: one transaction, which may be repeated.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`, or the reason why the database cannot be used.
  package func perform<Value: Sendable>(
    patience: Duration = .seconds(10), _ body: @escaping @Sendable (FleetDatabase) throws(CodedError) -> Value
  ) async throws -> Value {
    let result = Monitor<Result<Value, CodedError>?>(nil)
    // If it is known to be unreachable, there is no reason to wait for long.
    let patience = away == nil ? patience : min(patience, .seconds(1))
    let job = Job(
      run: { database throws(CodedError) in
        let outcome: Result<Value, CodedError>
        do throws(CodedError) { outcome = .success(try body(database)) } catch {
          guard error.kind != .noUpstream else { throw error }
          outcome = .failure(error)
        }
        result.withLock { $0 = outcome }
      },
      fail: { error in result.withLock { $0 = .failure(error) } }, deadline: .now + patience)
    try state.withLock { state throws(CodedError) in
      guard !state.isStopped else { throw Self.stopping }
      state.jobs.append(job)
    }
    wake.signal()
    _ = try await result.wait(for: { $0 != nil })
    guard let result = result.withLock({ $0 }) else { throw Self.stopping }
    return try result.get()
  }

  /// Hands in what has ended, if the database can be used, and stops.
  package func stop() async {
    state.withLock { $0.isStopped = true }
    wake.signal()
    await state.waitIgnoringCancellation(until: .now + .seconds(10)) { $0.hasEnded }
  }

  private static let stopping = CodedError(
    .unanswered, "the daemon is stopping; start it again with diorama serve, then try again")

  // MARK: The thread of the database

  private func work(_ isKept: @Sendable (ResourceLease) -> Bool) {
    var database = first.withLock { $0.take() }
    var hasJoined = false
    var nextBeat = ContinuousClock.now
    var pause = 0.05
    while true {
      // Each call has signalled once, and a batch takes all of them.
      while wake.wait(timeout: .now()) == .success {}
      let isBusy = state.withLock { state in
        !state.asking.isEmpty || !state.ending.isEmpty || !state.expired.isEmpty || !state.jobs.isEmpty
          || state.mayHaveGrants || state.probe != nil || state.isStopped
      }
      if !isBusy {
        let polls = state.withLock { !$0.waiting.isEmpty && !$0.isNotified } && store.isShared
        let pause = min(max(nextBeat - .now, .zero), polls ? .milliseconds(250) : .seconds(host.interval))
        // A file of this daemon alone changes only by its calls: without leases there is nothing to do.
        let isIdle = hasJoined && !store.isShared && !isInUse
        _ = wake.wait(timeout: isIdle ? .distantFuture : .now() + pause / .seconds(1))
      }
      do {
        if database == nil { database = try FleetDatabase(try store.connect(), host: host, key: key) }
        guard let database else { continue }
        if !hasJoined {
          try join(database, isKept)
          hasJoined = true
          let lost = state.withLock { state in
            defer { state.expected = [] }
            return state.expected.filter { state.held[$0] == nil }
          }
          for id in lost {
            events(.lost(ResourceLease(id: id, state: "lost", environment: id, since: "", resources: [:])))
          }
        }
        if state.withLock({ $0.away }) != nil {
          state.withLock { $0.away = nil }
          events(.back)
          // Before anything else: whether this host still holds what it held.
          nextBeat = .now
        }
        if nextBeat <= .now {
          try beat(database)
          nextBeat = .now + .seconds(host.interval)
        }
        try exchange(database)
        pause = 0.05
        if state.withLock({ $0.isStopped && $0.ending.isEmpty && $0.jobs.isEmpty }) {
          try? database.leave()
          break
        }
      } catch {
        database = nil
        goneAway(error)
        if state.withLock({ $0.isStopped }) { break }
        // Calls wake the thread; without a pause, each would try to connect.
        Thread.sleep(forTimeInterval: pause)
        pause = min(pause * 2, 1)
      }
    }
    state.withLock { state in
      state.hasEnded = true
      for waiting in state.waiting.values { waiting.end(Self.stopping) }
      for job in state.jobs { job.fail(Self.stopping) }
      for (_, done) in state.ending { done?.withLock { $0 = false } }
    }
  }

  private func goneAway(_ error: CodedError) {
    let isNew = state.withLock { state in
      defer { state.away = error.message }
      // Requests may have been served unnoticed: asks again as soon as it can.
      if !state.waiting.isEmpty { state.mayHaveGrants = true }
      return state.away == nil
    }
    if isNew { events(.away(error.message)) }
    let due = state.withLock { state in
      let due = state.jobs.filter { $0.deadline <= .now }
      state.jobs.removeAll { $0.deadline <= .now }
      return due
    }
    for job in due { job.fail(error) }
  }

  private func join(_ database: FleetDatabase, _ isKept: @Sendable (ResourceLease) -> Bool) throws(CodedError) {
    for (lease, owner) in try database.join() {
      let owner = owner.flatMap { try? JSONDecoder().decode(LeaseOwner.self, from: Data($0.utf8)) }
      let isKept = owner?.process.map(\.isAlive) ?? isKept(lease)
      state.withLock { state in
        // It may have been ended before this host has joined.
        if isKept, !state.ending.contains(where: { $0.id == lease.id }) {
          state.held[lease.id] = lease
          state.owners[lease.id] = owner
        } else {
          state.ending.append((lease.id, nil))
        }
      }
    }
  }

  private func beat(_ database: FleetDatabase) throws(CodedError) {
    let beat = try database.beat()
    guard !beat.isReplaced else {
      events(.replaced)
      // The other daemon decides about the leases now.
      let held = state.withLock { state in
        defer {
          state.held = [:]
          state.owners = [:]
        }
        return Array(state.held.values)
      }
      for lease in held { events(.lost(lease)) }
      return
    }
    state.withLock { $0.reachedAt = .now }
    for (name, leases) in beat.gone { events(.hostGone(name: name, leases: leases)) }
    let expired = Set(beat.expired)
    let missing = state.withLock { state in
      // Leases whose return has failed.
      for id in beat.held where state.held[id] == nil && state.waiting[id] == nil {
        if !state.ending.contains(where: { $0.id == id }) { state.ending.append((id, nil)) }
      }
      let missing = state.held.values.filter { !beat.held.contains($0.id) }
      for lease in missing {
        state.held[lease.id] = nil
        state.owners[lease.id] = nil
        state.received.remove(lease.id)
      }
      return missing
    }
    for lease in missing {
      events(expired.contains(lease.id) ? .expired(lease.id) : .lost(lease))
    }
    // Each process is checked without the lock.
    let owners = state.withLock { $0.owners }
    for (id, owner) in owners where owner.process?.isAlive == false { end(id) }
    if !beat.gone.isEmpty || !expired.isEmpty { state.withLock { $0.mayHaveGrants = true } }
  }

  /// Sends what has come in, and collects what other hosts have served.
  private func exchange(_ database: FleetDatabase) throws(CodedError) {
    let (hasChanges, waiting, collects, probe) = state.withLock { state in
      let hasChanges =
        !state.asking.isEmpty || !state.ending.isEmpty || !state.expired.isEmpty
        || state.isStopped && !state.waiting.isEmpty
      let collects = !hasChanges && (store.isShared || state.mayHaveGrants)
      if !hasChanges { state.mayHaveGrants = false }
      return (hasChanges, Array(state.waiting.keys), collects, state.probe)
    }
    if let probe {
      try database.notify(probe)
      state.withLock { $0.probe = nil }
    }
    if hasChanges {
      try sendChanges(database)
    } else if collects, !waiting.isEmpty {
      let outcome = try database.collect(waiting)
      deliver(outcome.granted)
      refuse(outcome.refused)
      state.withLock { $0.ending += outcome.refused.keys.map { ($0, nil) } }
    }
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    for (index, job) in jobs.enumerated() {
      do { try job.run(database) } catch {
        state.withLock { $0.jobs = jobs[index...] + $0.jobs }
        throw error
      }
    }
    // Such as an import, which may have served requests.
    if !jobs.isEmpty { state.withLock { $0.mayHaveGrants = !$0.waiting.isEmpty } }
  }

  private struct Batch {
    var asking: [FleetDatabase.Asking] = []
    var ending: [(id: String, done: Monitor<Bool?>?)] = []
    var expired: [String] = []
    var waiting: [String] = []

    var changes: FleetDatabase.Changes {
      FleetDatabase.Changes(ending: ending.map(\.id), expired: expired, asking: asking, waiting: waiting)
    }

    /// Each change by itself.
    var parts: [Batch] {
      ending.map { Batch(ending: [$0]) } + asking.map { Batch(asking: [$0]) } + expired.map { Batch(expired: [$0]) }
    }
  }

  private func takeBatch() -> Batch {
    state.withLock { state in
      if state.isStopped {
        for (id, waiting) in state.waiting {
          waiting.end(Self.stopping)
          state.ending.append((id, nil))
        }
        state.waiting = [:]
        state.asking = []
        state.expired = []
      }
      defer {
        (state.asking, state.ending, state.expired) = ([], [], [])
        state.mayHaveGrants = false
      }
      return Batch(
        asking: state.asking, ending: state.ending, expired: state.expired, waiting: Array(state.waiting.keys))
    }
  }

  private func sendChanges(_ database: FleetDatabase) throws(CodedError) {
    var batch: Batch?
    do throws(CodedError) {
      do throws(CodedError) {
        let outcome = try database.exchange {
          let taken = takeBatch()
          batch = taken
          return taken.changes
        }
        if let batch { receive(outcome, of: batch) }
      } catch {
        guard let batch, error.kind != .noUpstream else { throw error }
        try sendApart(batch, database, error)
      }
    } catch {
      guard let batch else { throw error }
      state.withLock { state in
        let waiting = Set(state.waiting.keys).subtracting(state.ending.map(\.id))
        state.asking = batch.asking.filter { waiting.contains($0.id) } + state.asking
        state.expired = batch.expired.filter(waiting.contains) + state.expired
        state.ending = batch.ending + state.ending
      }
      throw error
    }
  }

  /// Finds out which change has failed, and tells those who wait for it.
  ///
  /// - Throws: ``CodedError`` of kind `noUpstream`.
  private func sendApart(_ batch: Batch, _ database: FleetDatabase, _ error: CodedError) throws(CodedError) {
    // What a part serves is collected afterwards.
    defer { state.withLock { $0.mayHaveGrants = true } }
    let parts = batch.parts
    guard parts.count > 1 else {
      for asking in batch.asking {
        state.withLock { $0.waiting.removeValue(forKey: asking.id)?.end(error) }
      }
      for (_, done) in batch.ending { done?.withLock { $0 = false } }
      events(.failed(error.message))
      return
    }
    for part in parts {
      do { receive(try database.exchange { part.changes }, of: part) } catch {
        guard error.kind != .noUpstream else { throw error }
        try sendApart(part, database, error)
      }
    }
  }

  private func receive(_ outcome: FleetDatabase.Outcome, of batch: Batch) {
    deliver(outcome.granted)
    refuse(outcome.refused)
    for (id, done) in batch.ending { done?.withLock { $0 = outcome.ended.contains(id) } }
  }

  private func refuse(_ refused: [String: CodedError]) {
    state.withLock { state in
      for (id, error) in refused where !state.ending.contains(where: { $0.id == id }) {
        state.held[id] = nil
        state.owners[id] = nil
        state.waiting.removeValue(forKey: id)?.end(error)
      }
    }
  }

  private func deliver(_ granted: [String: ResourceLease]) {
    state.withLock { state in
      // A lease that was ended in the meantime is returned first, even if its id has been requested again.
      for (id, lease) in granted where !state.ending.contains(where: { $0.id == id }) {
        if let waiting = state.waiting.removeValue(forKey: id) {
          state.held[id] = lease
          waiting.slot.withLock { $0 = .success(lease) }
        } else if state.held[id] == nil {
          // Its caller has given up.
          state.ending.append((id, nil))
        }
      }
    }
  }

  /// Waits for notifications that other hosts have served requests of this one. A pooler accepts `LISTEN` but delivers no
  /// notifications, so until the first one arrives, the thread of the database asks four times a second.
  private func listen(_ address: PostgreSQLAddress) {
    while !state.withLock({ $0.isStopped }) {
      do {
        let connection = try PostgreSQLConnection(address)
        try connection.execute("LISTEN diorama")
        let probe = UUID().uuidString
        state.withLock { $0.probe = probe }
        wake.signal()
        while !state.withLock({ $0.isStopped }) {
          let notified = try connection.notifications(waiting: 1000)
          if notified.contains(probe) { state.withLock { $0.isNotified = true } }
          guard notified.contains(host.id) else { continue }
          state.withLock { $0.mayHaveGrants = true }
          wake.signal()
        }
      } catch {
        state.withLock { $0.isNotified = false }
        // The thread of the database must not wait for notifications any longer.
        wake.signal()
        Thread.sleep(forTimeInterval: 1)
      }
    }
  }
}

extension Monitor where Value == Result<ResourceLease, CodedError>? {
  fileprivate var result: Result<ResourceLease, CodedError> {
    withLock { $0 } ?? .failure(CodedError(.unanswered, "the daemon is stopping"))
  }
}

/// Who owns a lease: it ends with the process.
package struct LeaseOwner: Codable, Sendable, Equatable {
  package var process: PortOwner?
  /// The program on another machine that asked for it.
  package var client: String?

  package init?(process: PortOwner? = nil, client: String? = nil) {
    guard process != nil || client != nil else { return nil }
    self.process = process
    self.client = client
  }

  private enum CodingKeys: CodingKey { case pid, client }

  // The members of the process are beside the client: lists read `pid` from there.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    client = try container.decodeIfPresent(String.self, forKey: .client)
    process = container.contains(.pid) ? try PortOwner(from: decoder) : nil
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(client, forKey: .client)
    try process?.encode(to: encoder)
  }
}

/// Passes a database from one thread to the next.
private struct FleetConnection: @unchecked Sendable {
  private let database: FleetDatabase
  init(_ database: FleetDatabase) { self.database = database }
  func take() -> sending FleetDatabase? { database }
}
