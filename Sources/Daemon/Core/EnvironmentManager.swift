import Basics
import Transforms
package import ControlAPI
import EnvironmentService
import Fleet
package import Foundation
import HTTPMessages
package import HTTPServer
import LaunchContract
package import PortLeases

/// Manages the environments and leases of all programs on the machine; implements the control API.
///
/// Methods may be called from any thread.
///
/// ```swift
/// let manager = try EnvironmentManager(configuration, store: store, contracts: folder, log: log)
/// await manager.restore()   // environments and leases of the last daemon
/// …                      // tick(now:) once a second
/// await manager.stop()
/// ```
package final class EnvironmentManager: Sendable {
  package let configuration: DaemonConfiguration
  /// The ports. The portserver leases from the same pool.
  package let pool: PortPool
  let store: any DaemonStore
  /// The pools of resources; nil without any.
  let fleet: FleetService?
  let server: HTTPServer
  let service: EnvironmentService
  let log: Log
  let roots: CassetteRoots
  /// The folder of the launch contracts.
  let contracts: String
  let workers = Workers(label: "diorama.manager")
  let lifecycle: Guarded<Lifecycle<HostedEnvironment>>
  let journal: JournalWriter
  let tally: Tally
  /// Waiting calls.
  let waits: WaitLimit
  /// Waiting state requests.
  let stateWaits: WaitLimit
  /// Ended environments that the store failed to remove.
  let unremoved = Guarded<Set<String>>([])
  /// How many environments had ended when memory was last returned to the system.
  private let trimmedEnds = Guarded(0)
  /// Whether the caller stops the server.
  private let isServerShared: Bool
  private let started = ContinuousClock.now
  private let lastUse = Guarded(ContinuousClock.now)

  /// - Parameters:
  ///   - configuration: the settings.
  ///   - store: keeps the state for a restart.
  ///   - contracts: the absolute path of a folder that only its owner may enter.
  ///   - server: serves the environments; nil to create one.
  ///   - fleet: the pools of resources.
  ///   - log: receives events.
  /// - Throws: if the system is out of threads or descriptors.
  package init(
    _ configuration: DaemonConfiguration, store: any DaemonStore, contracts: String, server: HTTPServer? = nil,
    fleet: FleetService? = nil, log: Log
  ) throws {
    self.configuration = configuration
    self.store = store
    self.contracts = contracts
    self.fleet = fleet
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
        log.error("cannot store a change of leases", ["reason": "\(error)"])
        throw error
      }
    }
  }

  /// Reclaims expired leases and ends environments whose owner has exited or whose time is up.
  ///
  /// Call it once a second, on a thread that may block.
  package func tick(now: Date = Date()) {
    let reclaimed = pool.reclaim(now: now)
    tally.change { $0.reclaimed += reclaimed.count }
    for lease in reclaimed { log.info("port reclaimed", ["port": .int(Int(lease.port))]) }
    for id in unremoved.withLock({ $0 }) { removeFromStore(id) }
    // Checks each process once, without holding the lock.
    let gone = lifecycle.withLock { $0.owners }.filter { !$0.isAlive }
    let due = lifecycle.withLock { $0.due(at: now, isGone: gone.contains) }
    for (id, cause) in due { _ = try? beginEnd(id, because: cause) }
    fleet?.tick()
    giveBackMemory()
  }

  /// Returns freed memory to the system: after 256 ended environments, or as soon as none is left.
  private func giveBackMemory() {
    let (ended, isEmpty) = lifecycle.withLock { ($0.endedByCause.values.reduce(0, +), $0.entries.isEmpty) }
    let isDue = trimmedEnds.withLock { trimmed in
      guard ended > trimmed, isEmpty || ended - trimmed >= 256 else { return false }
      trimmed = ended
      return true
    }
    if isDue { Memory.giveBack() }
  }

  /// Records that the daemon is in use.
  package func noteUse() { lastUse.withLock { $0 = .now } }

  /// Whether there has been no environment, lease or request for this many seconds.
  package func isIdle(for seconds: Double, now: ContinuousClock.Instant = .now) -> Bool {
    guard lifecycle.withLock({ $0.entries.isEmpty }), pool.leases.isEmpty, fleet?.isInUse != true else {
      lastUse.withLock { $0 = now }
      return false
    }
    return lastUse.withLock { now - $0 } >= .seconds(seconds)
  }

  /// Ends all environments. Leases stay in the store, for owners that outlive the daemon.
  package func stop() async {
    let (all, ready) = lifecycle.withLock { $0.stop() }
    for id in ready { _ = try? beginEnd(id, because: .stop) }
    for hosted in all { await hosted.isOver.waitIgnoringCancellation { $0 } }
    await withTaskExecutorPreference(workers) { journal.flush() }
    await service.stop()
    if !isServerShared { await server.stop() }
  }

  /// Returns the current figures.
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

extension EnvironmentManager {
  /// All environments, oldest first, without contracts.
  package func environments() -> EnvironmentList {
    let all = lifecycle.withLock { $0.all }
    return EnvironmentList(
      environments: all.compactMap { try? describe($0.hosted, isEnding: $0.isEnding, withContract: false) })
  }

  /// Returns an environment with its contract.
  ///
  /// - Throws: ``DaemonError``: 404 if it never existed, 410 if it has ended.
  package func environment(_ id: String) throws(DaemonError) -> ProvisionedEnvironment {
    let (hosted, isEnding) = try hosted(id)
    return try describe(hosted, isEnding: isEnding, withContract: true)
  }

  /// Returns the report so far, or the final report while it is kept.
  ///
  /// - Throws: ``DaemonError``: 404 if the environment is unknown.
  package func report(_ id: String) throws(DaemonError) -> Report {
    // One lookup, since the environment may end between two.
    let (hosted, kept) = try lifecycle.withLock {
      lifecycle throws(DaemonError) -> (HostedEnvironment?, [UInt8]?) in
      if let kept = lifecycle.reports.report(id) { return (nil, kept) }
      return (try lifecycle.hosted(id).hosted, nil)
    }
    if let hosted { return try running(hosted).report() }
    do { return try JSON.decode(Report.self, from: Data(kept ?? []), source: "the kept report") } catch {
      throw DaemonError(500, "Report unreadable", "\(error)")
    }
  }

  func hosted(_ id: String) throws(DaemonError) -> (hosted: HostedEnvironment, isEnding: Bool) {
    try lifecycle.withLock { lifecycle throws(DaemonError) in try lifecycle.hosted(id) }
  }

  /// Returns an environment that is not ending.
  func ready(_ id: String) throws(DaemonError) -> Environment {
    let (hosted, isEnding) = try hosted(id)
    guard !isEnding else {
      throw DaemonError(409, "Environment is ending", "environment \(id) is ending; provision another one")
    }
    return try running(hosted)
  }

  func running(_ hosted: HostedEnvironment) throws(DaemonError) -> Environment {
    guard let environment = hosted.environment else {
      throw DaemonError(404, "Environment not found", "environment \(hosted.id) is still being provisioned")
    }
    return environment
  }

  func describe(
    _ hosted: HostedEnvironment, isEnding: Bool, withContract: Bool
  ) throws(DaemonError) -> ProvisionedEnvironment {
    let environment = try running(hosted)
    var described = ProvisionedEnvironment(
      id: hosted.id, name: hosted.name, state: isEnding ? "ending" : "ready", mode: hosted.mode,
      cassette: environment.specification.cassette?.har, port: Int(environment.mainPort),
      endpoints: environment.upstreams.reduce(into: [:]) { $0[$1.name] = environment.endpoint($1.name) },
      ports: environment.specification.ports.mapValues(Int.init),
      owner: hosted.lifetime.owner.map { Owner(pid: $0.pid) }, createdAt: RFC3339.format(hosted.createdAt),
      endsAt: hosted.lifetime.endsAt.map { RFC3339.format($0) }, notes: environment.notes,
      contract: withContract
        ? try contract(of: environment, file: hosted.client == nil ? hosted.contract : nil) : nil)
    if withContract { described.resources = environment.specification.leased }
    return described
  }

  private func contract(
    of environment: Environment, file: String?
  ) throws(DaemonError) -> ProvisionedEnvironment.Contract {
    var document = environment.contract
    let arguments: [String]
    do { arguments = try document.launchArguments() } catch {
      throw DaemonError(422, "Invalid launch contract", "\(error)")
    }
    // Credentials are only in the file, which only its owner can read.
    let hasCredentials = document.credentials != nil
    document.credentials = nil
    var variables = environment.variables
    if let file {
      variables["DIORAMA_CONTRACT"] = "file:\(file)"
    } else if !hasCredentials, let text = try? document.encodedDocument(), text.count <= ContractWriter.inlineLimit {
      // Another machine can't read the file. A contract with credentials, which that machine has, is written there.
      variables["DIORAMA_CONTRACT"] = String(decoding: text, as: UTF8.self)
    }
    return ProvisionedEnvironment.Contract(arguments: arguments, environment: variables, document: document)
  }
}

extension EnvironmentManager {
  /// Ends an environment. Calls during the end return the same report; later ones get 410.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - hasSucceeded: whether the program or test succeeded. If not, its recording does not become the cassette.
  ///   - expectsRequests: whether the environment fails if it saw no request.
  /// - Returns: the report.
  /// - Throws: ``DaemonError``: 404 if it never existed, 410 if it has ended.
  package func end(
    _ id: String, hasSucceeded: Bool = true, expectsRequests: Bool = false
  ) async throws(DaemonError) -> Report {
    noteUse()
    return try await end(id, because: .request, hasSucceeded: hasSucceeded, expectsRequests: expectsRequests)
  }

  func end(
    _ id: String, because cause: EndCause, hasSucceeded: Bool = true, expectsRequests: Bool = false
  ) async throws(DaemonError) -> Report {
    let hosted = try beginEnd(id, because: cause, hasSucceeded: hasSucceeded, expectsRequests: expectsRequests)
    await hosted.isOver.waitIgnoringCancellation { $0 }
    guard let report = hosted.report else {
      throw DaemonError(
        500, "Report missing", "environment \(id) ended without a report; see the daemon's log")
    }
    return report
  }

  /// Starts to end an environment without waiting for the end.
  @discardableResult
  func beginEnd(
    _ id: String, because cause: EndCause, hasSucceeded: Bool = true, expectsRequests: Bool = false
  ) throws(DaemonError) -> HostedEnvironment {
    let step = try lifecycle.withLock { lifecycle throws(DaemonError) in try lifecycle.end(id, because: cause) }
    switch step {
    case .begin(let hosted):
      // Continues even if the client disconnects.
      Task(executorPreference: workers) { [self] in
        await finish(hosted, because: cause, hasSucceeded: hasSucceeded, expectsRequests: expectsRequests)
      }
      return hosted
    case .join(let hosted): return hosted
    }
  }

  private func finish(
    _ hosted: HostedEnvironment, because cause: EndCause, hasSucceeded: Bool, expectsRequests: Bool
  ) async {
    // If the owner has died, or the time is up, the test may have failed.
    let hasSucceeded = hasSucceeded && cause == .request
    do {
      // Before the cassette is sealed: after that, a restart must not restore an environment that would overwrite it.
      try hosted.saveEnding(hasSucceeded: hasSucceeded)
    } catch {
      tally.change { $0.storeFailures += 1 }
      log.error("cannot store the end of an environment", ["environment": "\(hosted.id)", "reason": "\(error)"])
    }
    if let environment = hosted.environment {
      if environment.specification.holdsResources, let seconds = fleet?.uncertainSeconds {
        log.warning(
          "an environment ends while it is not known whether another host has leased its resources, too",
          ["environment": "\(hosted.id)", "unreachableSeconds": .int(Int(seconds))])
      }
      let (report, _) = await environment.end(hasSucceeded: hasSucceeded, expectsRequests: expectsRequests)
      hosted.attach(report)
      if let fleet, let history = fleet.history {
        var run = FleetRun(hosted, host: fleet.host)
        run.take(report)
        history.ended(run)
      }
      log.info(
        "environment ended",
        [
          "environment": "\(hosted.id)", "name": "\(hosted.name)", "cause": "\(cause.rawValue)",
          "requests": .int(report.requests.total), "ok": report.ok ? "true" : "false",
        ])
    }
    leaveNothing(of: hosted)
    let bytes = hosted.report.map { (try? JSON.encode($0)).map(Array.init) ?? [] } ?? []
    lifecycle.withLock { $0.ended(hosted.id, report: bytes) }
    hosted.isOver.withLock { $0 = true }
  }
}

extension EnvironmentManager {
  /// Returns journal entries in order.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - after: the number of the last known entry; 0 for the first page.
  ///   - limit: the maximum number of entries.
  /// - Returns: a page; the oldest entries may have been discarded.
  /// - Throws: ``DaemonError``: 404 if the environment never existed, 410 if it has ended.
  package func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage {
    page(of: try running(try hosted(id).hosted), after: after, limit: limit)
  }

  /// Follows a journal until its environment has ended.
  ///
  /// - Parameter id: the environment.
  /// - Returns: a reader, which counts as a waiting call while it is retained.
  /// - Throws: ``DaemonError``: 404 and 410 as ``environment(_:)``, 429 if too many calls wait.
  package func followJournal(_ id: String) throws(DaemonError) -> JournalFollower {
    let environment = try running(try hosted(id).hosted)
    guard let place = WaitingPlace(waits) else { throw tooManyWait }
    return JournalFollower { [self] after, limit, timeout in
      defer { withExtendedLifetime(place) {} }
      var hasWaited = false
      while true {
        // Read first, so that `page` includes everything written before.
        let isComplete = environment.isJournalComplete
        let page = page(of: environment, after: after, limit: limit)
        guard page.entries.isEmpty else { return page }
        if isComplete { return nil }
        if hasWaited { return page }
        try await environment.waitForJournal(after: after, until: .now + timeout)
        hasWaited = true
      }
    }
  }

  private func page(of environment: Environment, after: Int, limit: Int) -> JournalPage {
    let page = environment.journalPage(after: after, limit: limit)
    // The store has entries from before a restart, and those that the environment has dropped from memory.
    let first = page.entries.first?.number ?? environment.lastJournalNumber + 1
    guard first > after + 1 else { return page }
    let older = stored(environment.id, after: after, before: first, limit: min(limit, first - after - 1))
    guard !older.isEmpty else { return page }
    let entries = Array((older + page.entries).prefix(limit))
    let last = entries.last?.number ?? after
    return JournalPage(entries: entries, last: last, more: environment.lastJournalNumber > last)
  }

  private func stored(_ id: String, after: Int, before first: Int, limit: Int) -> [JournalPage.Entry] {
    do {
      return try store.journal(of: id, after: after, limit: limit)
        .compactMap { try? JSONDecoder().decode(JournalPage.Entry.self, from: $0.document) }
        .filter { $0.number < first }
    } catch {
      tally.change { $0.storeFailures += 1 }
      log.error("cannot read a journal", ["environment": "\(id)", "reason": "\(error)"])
      return []
    }
  }
}

extension EnvironmentManager {
  /// Leases ports, all or none.
  ///
  /// - Parameter request: how many, their names, and for how long.
  /// - Returns: the ports in the order of their names.
  /// - Throws: ``DaemonError``: 422 if the request is invalid, 409 if too few ports are free; the message names their
  ///   owners.
  package func leasePorts(_ request: PortsRequest) async throws(DaemonError) -> PortList {
    try await leasePorts(request, for: nil)
  }

  /// Leases ports for a program on another machine, or on this one if `client` is nil.
  func leasePorts(_ request: PortsRequest, for client: String?) async throws(DaemonError) -> PortList {
    noteUse()
    let lifetime = try Lifetime(owner: request.owner?.pid, seconds: request.ttlSeconds, now: Date())
    let seconds = request.ttlSeconds ?? (request.owner == nil ? Lifetime.standardSeconds : nil)
    let names = request.names ?? []
    if let count = request.count, !names.isEmpty, count != names.count {
      throw DaemonError(
        422, "Names and count differ", "\(names.count) names for \(count) ports; give a name for each port")
    }
    var wanted = PortRequest(
      count: request.count ?? max(names.count, 1), names: names, owner: lifetime.owner,
      ttl: seconds.map { .seconds($0) },
      environment: nil, holds: request.hold ?? true)
    wanted.client = client
    let leases = try await withTaskExecutorPreference(workers) { () async throws(DaemonError) in
      try DaemonError.translating { [wanted] () throws(PortError) in try pool.lease(wanted) }
    }
    return PortList(ports: leases.map { PortList.Lease(port: Int($0.port), name: $0.name) })
  }

  /// All leases by port.
  package func ports() -> PortList { ports { _ in true } }

  /// The leases that fit, by port.
  func ports(where fits: (PortLease) -> Bool) -> PortList {
    PortList(
      ports: pool.leases.filter(fits).map { lease in
        PortList.Lease(
          port: Int(lease.port), name: lease.name, owner: lease.owner.map { Owner(pid: $0.pid) },
          since: RFC3339.format(lease.since), endsAt: lease.endsAt.map { RFC3339.format($0) },
          environment: lease.environment,
          hold: lease.holds)
      })
  }

  /// Releases a port.
  ///
  /// - Throws: ``DaemonError``: 404 if it isn't leased, 409 if it belongs to an environment.
  package func releasePort(_ port: UInt16) async throws(DaemonError) {
    noteUse()
    if let environment = pool.leases.first(where: { $0.port == port })?.environment {
      throw DaemonError(
        409, "Port belongs to an environment",
        "port \(port) belongs to environment \(environment); end it with: DELETE /v1/environments/\(environment)")
    }
    try await withTaskExecutorPreference(workers) { () async throws(DaemonError) in
      _ = try DaemonError.translating { () throws(PortError) in try pool.release(port) }
    }
  }
}

/// Figures of an environment manager, for `/metrics`, `--status` and SIGUSR1.
package struct EnvironmentCounters: Codable, Sendable, Equatable {
  /// Environments that are ready.
  package var ready = 0
  /// Environments that are being provisioned.
  package var provisioning = 0
  /// Environments that are ending.
  package var ending = 0
  /// Environments provisioned since the daemon started.
  package var provisioned = 0
  /// Environments restored after a restart.
  package var restored = 0
  /// Environments that could not be provisioned.
  package var refused = 0
  /// Ended environments by reason: `request`, `owner`, `time`, `stop`, `lost`.
  package var ended: [String: Int] = [:]
  /// Leased ports.
  package var leases = 0
  /// Ports leased since the daemon started.
  package var leased = 0
  /// Leases that expired or lost their owner.
  package var reclaimed = 0
  /// Journal entries written to the store.
  package var journalEntries = 0
  /// Calls waiting for a journal, for sleepers or for apps.
  package var waiting = 0
  /// Waiting state requests: about one for each following app.
  package var stateWaiting = 0
  /// Failed writes to the store.
  package var storeFailures = 0
  /// Seconds since the daemon started.
  package var uptimeSeconds = 0.0

  package init() {}
}

/// Counts since the daemon started.
final class Tally: Sendable {
  private let state = Guarded(EnvironmentCounters())

  var counters: EnvironmentCounters { state.withLock { $0 } }

  func change(_ body: (inout EnvironmentCounters) -> Void) { state.withLock { body(&$0) } }
}
