package import Foundation
package import PortLeases

/// The phases of all environments: provisioning → ready → ending → ended.
///
/// Plain state to be guarded by one lock; it uses no clock, file or socket.
///
/// | from | by | to |
/// |---|---|---|
/// | – | ``begin(_:_:name:lifetime:recording:isRestored:)`` | provisioning |
/// | provisioning | ``ready(_:isRecording:)`` | ready |
/// | provisioning | ``fail(_:)`` | – |
/// | ready | ``end(_:because:)`` | ending |
/// | ending | ``ended(_:report:)`` | ended: only its report is kept |
struct Lifecycle<Hosted: Sendable>: Sendable {
  enum Phase: Sendable {
    case provisioning
    case ready
    case ending(EndCause)
  }

  struct Entry: Sendable {
    /// Counts environments, for listing them in the order of their creation.
    let number: Int
    let name: String
    let lifetime: Lifetime
    let hosted: Hosted
    /// The cassette that only this environment may record.
    var recording: ResolvedPath?
    /// The program on another machine that provisioned it.
    var client: String?
    var phase: Phase
  }

  /// What a caller that ends an environment must do.
  enum End: Sendable {
    /// End it; no other caller does.
    case begin(Hosted)
    /// Wait for the end that another caller has begun.
    case join(Hosted)
  }

  private(set) var entries: [String: Entry] = [:]
  private(set) var reports: EndedReports
  /// Ended environments by cause.
  private(set) var endedByCause: [EndCause: Int] = [:]
  /// Whether new environments are refused.
  private(set) var isStopping = false
  private let limit: Int
  private var last = 0

  init(limit: Int, reports: EndedReports) {
    self.limit = limit
    self.reports = reports
  }

  /// Adds an environment in phase provisioning.
  ///
  /// - Parameters:
  ///   - id: a new id.
  ///   - hosted: its parts.
  ///   - name: a display name.
  ///   - lifetime: its lifetime.
  ///   - recording: the cassette that it may record.
  ///   - isRestored: whether it is restored after a restart, so that the limit doesn't apply.
  ///   - client: the program on another machine that provisions it.
  /// - Throws: ``DaemonError``: 503 while the daemon is stopping, 429 beyond the limit, 409 if another environment
  ///   records the cassette.
  mutating func begin(
    _ id: String, _ hosted: Hosted, name: String, lifetime: Lifetime, recording: ResolvedPath?,
    isRestored: Bool = false,
    client: String? = nil
  ) throws(DaemonError) {
    guard !isStopping else {
      throw DaemonError(503, "Daemon is stopping", "start it again with diorama serve, then provision again")
    }
    guard isRestored || entries.count < limit else {
      throw DaemonError(
        429, "Too many environments",
        "\(entries.count) environments are running; end some, or raise limits.environments in the daemon's configuration"
      )
    }
    if let recording, let (other, entry) = entries.first(where: { $0.value.recording == recording }) {
      // A program on another machine learns nothing about environments of others.
      guard client == nil || client == entry.client else {
        throw DaemonError(
          409, "Cassette is being recorded",
          "another program is recording \(recording.text).har; record another cassette")
      }
      throw DaemonError(
        409, "Cassette is being recorded",
        "environment \(other) ('\(entry.name)') is recording \(recording.text).har; end it first, or record another cassette"
      )
    }
    last += 1
    entries[id] = Entry(
      number: last, name: name, lifetime: lifetime, hosted: hosted, recording: recording, client: client,
      phase: .provisioning)
  }

  /// Moves an environment from provisioning to ready.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - isRecording: whether it records; if not, others may record the cassette.
  mutating func ready(_ id: String, isRecording: Bool) {
    guard case .provisioning = entries[id]?.phase else { return }
    entries[id]?.phase = .ready
    if !isRecording { entries[id]?.recording = nil }
  }

  /// Removes an environment that could not be provisioned.
  mutating func fail(_ id: String) {
    guard case .provisioning = entries[id]?.phase else { return }
    entries[id] = nil
  }

  /// Begins or joins the end of an environment.
  ///
  /// - Throws: ``DaemonError``: 404 if it is unknown, 410 if it has ended.
  mutating func end(_ id: String, because cause: EndCause) throws(DaemonError) -> End {
    guard let entry = entries[id] else { throw absence(of: id) }
    switch entry.phase {
    case .ready:
      entries[id]?.phase = .ending(cause)
      return .begin(entry.hosted)
    case .ending: return .join(entry.hosted)
    case .provisioning: throw absence(of: id)
    }
  }

  /// Completes the end of an environment.
  mutating func ended(_ id: String, report: [UInt8]) {
    guard case .ending(let cause) = entries[id]?.phase else { return }
    let client = entries.removeValue(forKey: id)?.client
    endedByCause[cause, default: 0] += 1
    reports.add(id, report, of: client)
  }

  /// Records an environment that could not be restored after a restart.
  mutating func lost(_ id: String, because cause: EndCause, report: [UInt8], of client: String? = nil) {
    entries[id] = nil
    endedByCause[cause, default: 0] += 1
    reports.add(id, report, of: client)
  }

  /// Refuses new environments from now on.
  ///
  /// - Returns: all environments, including those being provisioned, and the ids of those that are ready.
  mutating func stop() -> (all: [Hosted], ready: [String]) {
    isStopping = true
    return (
      entries.values.map(\.hosted), entries.filter { if case .ready = $1.phase { true } else { false } }.map(\.key)
    )
  }

  /// The processes that own environments.
  var owners: Set<PortOwner> { Set(entries.values.compactMap(\.lifetime.owner)) }

  /// Environments whose lifetime is over, with the cause.
  func due(at now: Date, isGone: (PortOwner) -> Bool) -> [(id: String, cause: EndCause)] {
    entries.compactMap { id, entry in
      guard case .ready = entry.phase, let cause = entry.lifetime.cause(at: now, isGone: isGone) else { return nil }
      return (id, cause)
    }
  }

  /// Returns the parts of an environment that is ready or ending.
  ///
  /// - Throws: ``DaemonError``: 404 if it is unknown, 410 if it has ended.
  func hosted(_ id: String) throws(DaemonError) -> (hosted: Hosted, isEnding: Bool) {
    guard let entry = entries[id] else { throw absence(of: id) }
    switch entry.phase {
    case .ready: return (entry.hosted, false)
    case .ending: return (entry.hosted, true)
    case .provisioning: throw absence(of: id)
    }
  }

  /// All environments that are ready or ending, in the order of their creation.
  var all: [(hosted: Hosted, isEnding: Bool)] {
    entries.values.sorted { $0.number < $1.number }.compactMap { entry in
      switch entry.phase {
      case .ready: (entry.hosted, false)
      case .ending: (entry.hosted, true)
      case .provisioning: nil
      }
    }
  }

  /// How many environments are in each phase.
  var counts: (provisioning: Int, ready: Int, ending: Int) {
    entries.values.reduce(into: (0, 0, 0)) { counts, entry in
      switch entry.phase {
      case .provisioning: counts.0 += 1
      case .ready: counts.1 += 1
      case .ending: counts.2 += 1
      }
    }
  }

  /// The program on another machine that provisioned an environment; nil for one of this machine, and for an unknown one.
  func client(of id: String) -> String? { entries[id]?.client ?? reports.client(of: id) }

  private func absence(of id: String) -> DaemonError {
    if reports.has(id) {
      return DaemonError(
        410, "Environment has ended",
        "environment \(id) has ended; get its report with: diorama env report \(id), or GET /v1/environments/\(id)/report"
      )
    }
    return .noEnvironment(id)
  }
}

extension DaemonError {
  /// No environment has this id, or the client may not know of it.
  static func noEnvironment(_ id: String) -> DaemonError {
    DaemonError(
      404, "Environment not found",
      "no environment has the id '\(id.prefix(100))'; list them with: diorama env list, or GET /v1/environments")
  }
}

/// When an environment ends without a request: with its owner, at a time, or whichever comes first.
package struct Lifetime: Codable, Sendable, Equatable {
  /// The default lifetime in seconds, without an owner and a time.
  static let standardSeconds = 3600.0
  /// One year.
  static let longestSeconds = 31_536_000.0

  package var owner: PortOwner?
  package var endsAt: Date?

  package init(owner: PortOwner? = nil, endsAt: Date? = nil) {
    self.owner = owner
    self.endsAt = endsAt
  }

  /// - Parameters:
  ///   - owner: the owner's process id, or nil.
  ///   - seconds: the time to live, or nil.
  ///   - now: the current time.
  /// - Throws: ``DaemonError`` 422 if the owner doesn't exist or the time is out of range.
  package init(owner: Int32?, seconds: Double?, now: Date) throws(DaemonError) {
    if let owner {
      guard owner > 0, let found = PortOwner(pid: owner) else {
        throw DaemonError(
          422, "Owner not found", "owner.pid: no process has the id \(owner); give the id of a running process")
      }
      self.owner = found
    }
    if let seconds {
      guard seconds > 0, seconds <= Self.longestSeconds else {
        throw DaemonError(
          422, "Invalid time to live",
          "ttlSeconds: \(seconds) is out of range; give more than 0 and at most \(Int(Self.longestSeconds))")
      }
    }
    endsAt = (seconds ?? (owner == nil ? Self.standardSeconds : nil)).map { now.addingTimeInterval($0) }
  }

  /// Returns why the lifetime is over, or nil if it isn't.
  func cause(at now: Date, isGone: (PortOwner) -> Bool) -> EndCause? {
    if let owner, isGone(owner) { return .owner }
    if let endsAt, endsAt <= now { return .time }
    return nil
  }
}

/// Why an environment ends.
package enum EndCause: String, Codable, CaseIterable, Sendable {
  /// A client requested it.
  case request
  /// Its owner has exited.
  case owner
  /// Its time to live is over.
  case time
  /// The daemon is stopping.
  case stop
  /// It could not be restored after a restart.
  case lost
}

/// The latest reports of ended environments as JSON, limited in number and total size.
struct EndedReports: Sendable {
  private let limit: Int
  private let byteLimit: Int
  private var reports: [String: [UInt8]] = [:]
  private var clients: [String: String] = [:]
  private var order: [String] = []
  private var bytes = 0

  init(limit: Int, bytes: Int) {
    self.limit = limit
    byteLimit = bytes
  }

  /// Adds a report and discards the oldest ones beyond the limits.
  mutating func add(_ id: String, _ report: [UInt8], of client: String? = nil) {
    guard reports[id] == nil else { return }
    clients[id] = client
    reports[id] = report
    order.append(id)
    bytes += report.count
    // Keeps the newest whatever its size, since a client is about to read it.
    while order.count > 1, order.count > limit || bytes > byteLimit {
      let oldest = order.removeFirst()
      bytes -= reports.removeValue(forKey: oldest)?.count ?? 0
      clients[oldest] = nil
    }
  }

  /// The program on another machine that provisioned an ended environment.
  func client(of id: String) -> String? { clients[id] }

  /// Whether the report of an environment is kept.
  func has(_ id: String) -> Bool { reports[id] != nil }

  /// Returns the report as JSON, if it is kept.
  func report(_ id: String) -> [UInt8]? { reports[id] }
}
