import Basics
import ChildProcesses
import ControlAPI
import EnvironmentConfiguration
import Fleet
import Foundation
import LaunchContract
import PortLeases

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The daemon's share of the fleet: pools of resources, and what of them is leased through this daemon.
///
/// ```swift
/// let fleet = try FleetService(configuration, files: files, version: "1.0", variables: variables, log: log)
/// fleet.start(environments: restored) { lease in … }
/// …
/// await fleet.stop()
/// ```
package final class FleetService: Sendable {
  /// The database, as people know it.
  let name: String
  /// What happens on all hosts; nil if it is not kept.
  let history: FleetHistory?
  /// The name of this host.
  let host: String
  private let isShared: Bool
  private let book: LeaseBook
  private let cleaner: Cleaner?
  private let log: Log
  private let lost: Guarded<@Sendable (ResourceLease) -> Void>

  /// Opens the store.
  ///
  /// - Parameters:
  ///   - configuration: the daemon's settings.
  ///   - files: the files in the state folder.
  ///   - version: the version of diorama.
  ///   - variables: the environment variables, for `env:`.
  ///   - log: receives events.
  /// - Throws: ``CodedError`` if the address or the key cannot be used, or the database cannot be reached.
  init(
    _ configuration: DaemonConfiguration, files: ControlFiles, version: String, variables: [String: String], log: Log
  ) throws(CodedError) {
    self.log = log
    let address =
      try configuration.store.map { text throws(CodedError) in try FleetAddress(text, variables: variables) }
      ?? .sqlite(path: files.fleet)
    let key =
      if let source = configuration.storeKey {
        try StoreKey(source: source, variables: variables)
      } else if !address.isShared {
        try StoreKey(madeAt: files.storeKey)
      } else {
        StoreKey?.none
      }
    name = address.name
    isShared = address.isShared
    for (pool, command) in configuration.cleanUp.sorted(by: { $0.key < $1.key }) {
      do throws(NotStarted) { try Spawn.check(Array(command[0].utf8), path: variables["PATH"]) } catch {
        throw CodedError(.usage, "cleanUp.\(pool): \(error.message)")
      }
    }
    let lost = Guarded<@Sendable (ResourceLease) -> Void>({ _ in })
    self.lost = lost
    let host = FleetHost(
      id: try files.hostID(), instance: UUID().uuidString.lowercased(), name: Self.hostName, version: version)
    self.host = host.name
    history =
      configuration.historyDays == 0
      ? nil
      : FleetHistory(address, host: host, days: configuration.historyDays) { line in log.warning("\(line)") }
    do throws(CodedError) {
      book = try LeaseBook(address, host: host, key: key, isOptional: configuration.storeOptional) { event in
        Self.report(event, log)
        if case .lost(let lease) = event { lost.withLock { $0 }(lease) }
      }
    } catch {
      guard error.kind == .noUpstream else { throw error }
      throw CodedError(
        .noUpstream,
        "\(error.message); start the database, correct --store, or add --store-optional to start without it")
    }
    if let source = configuration.storeKey, source.hasPrefix("file:"),
      Self.isReadableByOthers(String(source.dropFirst(5)))
    {
      log.warning("other users can read the store's key; make it private with chmod 600", ["key": "\(source)"])
    }
    if key == nil {
      log.notice("no key, so that resources of this host's imports cannot have secrets; see --store-key")
    }
    cleaner = configuration.cleanUp.isEmpty ? nil : Cleaner(configuration.cleanUp, book, log: log)
  }

  /// Starts to serve requests.
  ///
  /// - Parameters:
  ///   - environments: those of the last daemon that were restored, so that they keep their leases.
  ///   - holding: those of them that hold resources.
  ///   - lost: called when a lease was given to another request, because this host could not reach the database.
  func start(environments: [String], holding: [String] = [], lost: @escaping @Sendable (ResourceLease) -> Void) {
    self.lost.withLock { $0 = lost }
    history?.forgetOthers(than: environments)
    let hasEnvironment = Set(environments).contains
    book.start(holding: holding) { lease in lease.environment.map(hasEnvironment) ?? true }
  }

  /// Starts what is due. Call it once a second.
  func tick() { cleaner?.tick() }

  /// Hands in what has ended, if the database can be reached, and stops.
  func stop() async {
    await cleaner?.stop()
    await book.stop()
    await history?.stop()
  }

  /// Whether resources are leased or waited for.
  var isInUse: Bool { book.isInUse || cleaner?.isRunning == true }

  /// For how long this host has not reached the database, if other hosts may have taken its leases back, in seconds.
  var uncertainSeconds: Double? { book.uncertainSeconds }

  /// The state of the store, for people and `--status`.
  var status: StoreStatus {
    let counts = book.counts
    return StoreStatus(
      name: name, away: book.away, held: counts.held, waiting: counts.waiting,
      uncertainSeconds: book.uncertainSeconds)
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func names(_ lease: ResourceLease) -> String {
    lease.resources.values.map { "\($0.pool)/\($0.name)" }.sorted().joined(separator: " ")
  }

  private static func isReadableByOthers(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o077 != 0 && status.st_mode & S_IFMT == S_IFREG
  }

  private static func report(_ event: LeaseBook.Event, _ log: Log) {
    switch event {
    case .away(let reason): log.error("the fleet's database is unreachable", ["reason": "\(reason)"])
    case .back: log.notice("the fleet's database is back")
    case .hostGone(let name, let leases):
      log.warning(
        "reclaimed the leases of a host that stopped responding", ["host": "\(name)", "leases": .int(leases)])
    case .lost(let lease) where lease.environment == nil:
      log.warning(
        "a lease was ended by another host, or reclaimed because this host sent no heartbeat",
        ["lease": "\(lease.id)", "resources": "\(Self.names(lease))"])
    case .lost(let lease):
      log.error(
        "lost a lease: this host sent no heartbeat for too long, and its resources may have gone to another request",
        ["lease": "\(lease.id)"])
    case .expired(let id): log.info("a lease expired", ["lease": "\(id)"])
    case .replaced:
      log.critical(
        "another daemon uses this daemon's identity, for example because the state folder was copied; resources are no "
          + "longer leased; remove host.id from one of the folders, and restart its daemon")
    case .failed(let reason): log.error("cannot change leases", ["reason": "\(reason)"])
    }
  }
}

// MARK: Leases

extension FleetService {
  /// Leases resources, all or none.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - environment: the environment that gets them; its id becomes that of the lease.
  ///   - owner: who else owns the lease.
  /// - Returns: the lease.
  /// - Throws: ``DaemonError``, and `CancellationError` if the client disconnects; nothing is leased then.
  func lease(_ request: LeaseRequest, environment: String? = nil, owner: LeaseOwner? = nil) async throws
    -> ResourceLease
  {
    try await translating { try await self.book.checkOut(request, environment: environment, owner: owner) }
  }

  /// Ends a lease of an environment. Returns at once; if the database is unreachable, it happens when it is back.
  func end(_ id: String) { book.end(id) }

  /// Ends a lease or withdraws a request.
  ///
  /// - Throws: ``DaemonError`` 404 if the lease does not exist, 503 if the database is unreachable; the lease then ends once it is back.
  func endLease(_ id: String) async throws {
    if !book.has(id), book.away == nil,
      let (environment, host) = try await perform({ database throws(CodedError) in
        try database.environment(ofLease: id)
      })
    {
      throw DaemonError(
        409, "Lease belongs to an environment",
        "lease \(id) belongs to environment \(environment) on host \(host); end it there with: diorama env delete "
          + environment)
    }
    guard try await translating({ try await self.book.endAndWait(id) }) else { throw DaemonError.noLease(id) }
  }

  /// Who owns a lease of this daemon.
  func owner(of id: String) -> LeaseOwner? { book.owner(of: id) }

  /// The environment of this daemon that a lease belongs to.
  func environment(of id: String) -> String? { book.environment(of: id) }

  /// The ids of leases and requests of a program on another machine.
  func leases(of client: String) -> [String] { book.leases(of: client) }

  /// All leases and requests of all hosts; while the database is unreachable, the leases of this daemon.
  func leases() async throws -> [ResourceLease] {
    guard book.away == nil else { return book.held.sorted { $0.since < $1.since } }
    return try await perform { database throws(CodedError) in try database.leases() }
  }

  /// Calls the database.
  ///
  /// - Parameter body: one transaction, which may be repeated.
  /// - Returns: the result of `body`.
  /// - Throws: ``DaemonError``.
  func perform<Value: Sendable>(
    _ body: @escaping @Sendable (FleetDatabase) throws(CodedError) -> Value
  ) async throws -> Value {
    try await translating { try await self.book.perform(body) }
  }

  private func translating<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
    do { return try await body() } catch let error as CodedError {
      guard !isShared, error.kind == .noCassette, error.message.hasPrefix("no pool ") else {
        throw DaemonError(ofFleet: error)
      }
      // Perhaps the wrong daemon is running.
      throw DaemonError(
        ofFleet: CodedError(
          .noCassette,
          "\(error.message); this daemon's pools are its own (\(name)), those of a team need: diorama serve --store"))
    }
  }
}

extension DaemonError {
  /// Converts an error of pools and leases.
  init(ofFleet error: CodedError) {
    let (status, title) =
      switch error.kind {
      case .usage: (422, "Invalid request")
      case .broken: (422, "Secrets not readable")
      case .noCassette: (404, "Not found")
      case .noUpstream: (503, "Database unreachable")
      case .unanswered: (409, "No free resource")
      case .cannotWrite, .inputOutput: (503, "Database failed")
      }
    self.init(status, title, error.message, kind: error.kind.name)
  }

  static func noLease(_ id: String) -> DaemonError {
    DaemonError(404, "No such lease", "no lease '\(id)'; list them with: diorama lease list")
  }
}
