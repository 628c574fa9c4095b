import Foundation
import PortLeases

/// All environments of a daemon and how far each has come: provisioning → ready → ending → ended.
///
/// Plain state, for one lock; no clock, file or socket is asked here.
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
    /// Environments are listed in the order in which they were asked for.
    let number: Int
    let name: String
    let lifetime: Lifetime
    let hosted: Hosted
    /// The cassette that it alone may record.
    var recording: ResolvedPath?
    var phase: Phase
  }

  /// What somebody who wants an end is to do.
  enum End: Sendable {
    /// Ends it: nobody else does.
    case begin(Hosted)
    /// Waits for the end that somebody else has begun.
    case join(Hosted)
  }

  private(set) var entries: [String: Entry] = [:]
  private(set) var reports: EndedReports
  /// Environments that were ready, by what became of them.
  private(set) var endedByCause: [EndCause: Int] = [:]
  /// Nothing new is begun any more.
  private(set) var isStopping = false
  private let limit: Int
  private var last = 0

  init(limit: Int, reports: EndedReports) {
    self.limit = limit
    self.reports = reports
  }

  /// An environment is to be made.
  ///
  /// - Parameters:
  ///   - id: a new id.
  ///   - hosted: what it consists of.
  ///   - name: what a person calls it.
  ///   - lifetime: until when it lives.
  ///   - recording: the cassette that it may come to record.
  ///   - isRestored: whether it was there before a restart, and is let in whatever the limit.
  /// - Throws: a ``DaemonError``: 503 while the daemon ends, 429 beyond the limit, 409 where another one records the
  ///   cassette.
  mutating func begin(
    _ id: String, _ hosted: Hosted, name: String, lifetime: Lifetime, recording: ResolvedPath?, isRestored: Bool = false
  ) throws(DaemonError) {
    guard !isStopping else {
      throw DaemonError(503, "The daemon is ending", "start it again with diorama serve, then provision")
    }
    guard isRestored || entries.count < limit else {
      throw DaemonError(
        429, "There are too many environments",
        "\(entries.count) run already; end some, or raise limits.environments in the daemon's configuration")
    }
    if let recording, let (other, entry) = entries.first(where: { $0.value.recording == recording }) {
      throw DaemonError(
        409, "The cassette is being recorded",
        "environment \(other) ('\(entry.name)') records \(recording.text).har; end it first, or record another cassette"
      )
    }
    last += 1
    entries[id] = Entry(
      number: last, name: name, lifetime: lifetime, hosted: hosted, recording: recording, phase: .provisioning)
  }

  /// It answers from now on.
  ///
  /// - Parameters:
  ///   - id: one that is being made.
  ///   - isRecording: whether it records after all; if not, others may.
  mutating func ready(_ id: String, isRecording: Bool) {
    guard case .provisioning = entries[id]?.phase else { return }
    entries[id]?.phase = .ready
    if !isRecording { entries[id]?.recording = nil }
  }

  /// It could not be made, and nothing of it is left.
  mutating func fail(_ id: String) {
    guard case .provisioning = entries[id]?.phase else { return }
    entries[id] = nil
  }

  /// Somebody wants it to end.
  ///
  /// - Throws: a ``DaemonError``: 404 for one that is not known, 410 for one that has ended.
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

  /// Its end is over.
  mutating func ended(_ id: String, report: [UInt8]) {
    guard case .ending(let cause) = entries[id]?.phase else { return }
    entries[id] = nil
    endedByCause[cause, default: 0] += 1
    reports.add(id, report)
  }

  /// It was there before a restart and does not come back.
  mutating func lost(_ id: String, because cause: EndCause, report: [UInt8]) {
    entries[id] = nil
    endedByCause[cause, default: 0] += 1
    reports.add(id, report)
  }

  /// Nothing is begun from now on.
  ///
  /// - Returns: all that there is, also what is being made, and of it those that nobody ends yet.
  mutating func stop() -> (all: [Hosted], ready: [String]) {
    isStopping = true
    return (
      entries.values.map(\.hosted), entries.filter { if case .ready = $1.phase { true } else { false } }.map(\.key)
    )
  }

  /// The processes whose end would end an environment.
  var owners: Set<PortOwner> { Set(entries.values.compactMap(\.lifetime.owner)) }

  /// Those whose lifetime are over, with why.
  func due(at now: Date, isGone: (PortOwner) -> Bool) -> [(id: String, cause: EndCause)] {
    entries.compactMap { id, entry in
      guard case .ready = entry.phase, let cause = entry.lifetime.cause(at: now, isGone: isGone) else { return nil }
      return (id, cause)
    }
  }

  /// What it consists of, while it answers or ends.
  ///
  /// - Throws: a ``DaemonError``: 404 for one that is not known, 410 for one that has ended.
  func hosted(_ id: String) throws(DaemonError) -> (hosted: Hosted, isEnding: Bool) {
    guard let entry = entries[id] else { throw absence(of: id) }
    switch entry.phase {
    case .ready: return (entry.hosted, false)
    case .ending: return (entry.hosted, true)
    case .provisioning: throw absence(of: id)
    }
  }

  /// All that answer or end, in the order in which they were asked for.
  var all: [(hosted: Hosted, isEnding: Bool)] {
    entries.values.sorted { $0.number < $1.number }.compactMap { entry in
      switch entry.phase {
      case .ready: (entry.hosted, false)
      case .ending: (entry.hosted, true)
      case .provisioning: nil
      }
    }
  }

  /// How many are in each phase.
  var counts: (provisioning: Int, ready: Int, ending: Int) {
    entries.values.reduce(into: (0, 0, 0)) { counts, entry in
      switch entry.phase {
      case .provisioning: counts.0 += 1
      case .ready: counts.1 += 1
      case .ending: counts.2 += 1
      }
    }
  }

  private func absence(of id: String) -> DaemonError {
    if reports.has(id) {
      return DaemonError(
        410, "The environment has ended",
        "environment \(id) has ended; GET /v1/environments/\(id)/report still tells how, provision another one to go on"
      )
    }
    return DaemonError(
      404, "There is no such environment",
      "no environment has the id '\(id.prefix(100))', or it ended long ago; GET /v1/environments lists those that run")
  }
}
