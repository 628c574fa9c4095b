import ControlAPI
import Basics
import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases

/// An environment with its lifetime, files and stored record.
final class HostedEnvironment: Sendable {
  private struct State {
    var environment: Environment?
    var recordState = EnvironmentRecord.State.ready
    var contract = ""
    var recording: ResolvedPath?
    var report: Report?
    /// The version of the stored snapshot.
    var saved: SnapshotVersion?
    var saves = 0
    /// Whether nothing more may be stored.
    var isOver = false
  }

  let id: String
  let name: String
  let lifetime: Lifetime
  let createdAt: Date
  /// The program on another machine that provisioned it.
  let client: String?
  /// True when the environment has ended, or could not be provisioned.
  let isOver = Monitor(false)
  private let store: any DaemonStore
  private let state: Guarded<State>
  /// Serializes saves, so that an older one never comes last.
  private let saving = NSLock()

  init(
    id: String, name: String, lifetime: Lifetime, createdAt: Date, client: String? = nil, store: any DaemonStore
  ) {
    self.client = client
    self.id = id
    self.name = name
    self.lifetime = lifetime
    self.createdAt = createdAt
    self.store = store
    state = Guarded(State())
  }

  /// Nil until provisioned.
  var environment: Environment? { state.withLock { $0.environment } }
  /// The absolute path of the launch contract; empty until written.
  var contract: String { state.withLock { $0.contract } }
  /// The cassette being recorded, if any.
  var recording: ResolvedPath? { state.withLock { $0.recording } }
  /// The current mode; empty until provisioned.
  var mode: String { environment?.mode.rawValue ?? "" }
  /// The final report, once ended.
  var report: Report? { state.withLock { $0.report } }

  func attach(_ environment: Environment, recording: ResolvedPath?) {
    state.withLock { state in
      state.environment = environment
      state.recording = recording
    }
  }

  func attach(contract: String) { state.withLock { $0.contract = contract } }

  func attach(_ report: Report) { state.withLock { $0.report = report } }

  /// Stores that the end has begun, so that a restart doesn't restore the environment.
  ///
  /// - Parameter hasSucceeded: whether the recording becomes the cassette.
  /// - Throws: a `CodedError` if the store cannot be written.
  func saveEnding(hasSucceeded: Bool) throws(CodedError) {
    state.withLock { $0.recordState = hasSucceeded ? .ending : .failing }
    try save()
  }

  /// Stores the current state. Does nothing before the environment is provisioned.
  func save() throws(CodedError) {
    saving.lock()
    defer { saving.unlock() }
    try saveAll()
  }

  /// Stores what requests have changed; if more has changed, stores everything.
  func saveTraffic() throws(CodedError) {
    saving.lock()
    defer { saving.unlock() }
    let state = state.withLock { $0 }
    guard !state.isOver, let (traffic, version) = state.environment?.traffic() else { return }
    guard version == state.saved else { return try saveAll() }
    do {
      try store.save(traffic: try JSON.encode(traffic), of: id)
    } catch let error as CodedError {
      throw error
    } catch {
      throw CodedError(.inputOutput, "the traffic of environment '\(name)' cannot be encoded: \(error)")
    }
  }

  private func saveAll() throws(CodedError) {
    let state = state.withLock { state in
      state.saves += 1
      return state
    }
    guard !state.isOver, let (snapshot, version) = state.environment?.versionedSnapshot() else { return }
    let record = EnvironmentRecord(
      state: state.recordState, name: name, createdAt: createdAt, lifetime: lifetime,
      contract: state.contract, recording: state.recording?.text, snapshot: snapshot, saves: state.saves,
      client: client)
    try store.save(environment: id, document: record.encoded())
    self.state.withLock { $0.saved = version }
  }

  /// Stops saving, so that the stored record can be removed.
  func saveNothingMore() {
    saving.lock()
    defer { saving.unlock() }
    state.withLock { $0.isOver = true }
  }

  /// Whether a record of it is or will be stored.
  var isStored: Bool { state.withLock { !$0.isOver } }
}

/// The stored record of an environment: all that is needed to restore it on the same ports, or to finish its end.
struct EnvironmentRecord: Codable, Sendable {
  enum State: String, Codable, Sendable {
    case ready
    /// The end has begun, so a restart doesn't restore the environment.
    case ending
    /// The same, but the recording is kept aside.
    case failing
  }

  var state = State.ready
  var name: String
  var createdAt: Date
  var lifetime: Lifetime
  /// The absolute path of the launch contract.
  var contract: String
  /// The cassette being recorded; see ``Lifecycle``.
  var recording: String?
  var snapshot: EnvironmentSnapshot
  /// How often it was saved. It makes every save a write, which reveals a full disk: SQLite skips writes that change
  /// nothing.
  var saves: Int?
  /// The program on another machine that provisioned it.
  var client: String?

  /// The part of a record that holds its format.
  private struct Version: Decodable {
    struct Snapshot: Decodable { var format: Int }
    var snapshot: Snapshot
  }

  /// Refuses records of later versions, since storing them again would lose data.
  ///
  /// - Throws: ``CodedError`` of kind `broken`. An unreadable record passes; decoding it reports the error.
  static func check(_ stored: StoredEnvironment) throws(CodedError) {
    guard let format = try? JSONDecoder().decode(Version.self, from: stored.document).snapshot.format,
      format > EnvironmentSnapshot.format
    else { return }
    throw CodedError(
      .broken,
      "environment \(stored.id) in the daemon's state has format \(format), but this diorama supports formats up to "
        + "\(EnvironmentSnapshot.format); use the newer diorama that wrote it, or choose another folder with --state")
  }

  /// Returns the record as JSON.
  ///
  /// - Throws: ``CodedError`` if JSON can't represent it.
  func encoded() throws(CodedError) -> Data {
    do { return try JSON.encode(self) } catch {
      throw CodedError(.inputOutput, "environment '\(name)' cannot be encoded: \(error)")
    }
  }
}

/// Reserves an environment's ports from the pool.
struct EndpointPorts: Sendable {
  /// How many ports are tried. Another program may bind a port between the lease and our bind.
  private static let tries = 16

  let server: HTTPServer
  let pool: PortPool
  /// The IPv4 address to listen on.
  var host = "127.0.0.1"

  /// Reserves a port of the pool, or the given port.
  ///
  /// - Throws: ``PortError`` if the pool has no free port, ``CodedError`` if none of the tried ports could be bound.
  func reserve(_ port: UInt16? = nil, for environment: String) throws -> ReservedListener {
    if let port { return try server.reserve(port, on: host) }
    var failure: (any Error)?
    // Released at the end, so that the pool doesn't return the same port twice.
    var taken: [UInt16] = []
    defer { for port in taken { _ = try? pool.release(port) } }
    while taken.count < Self.tries {
      let leases = try pool.lease(PortRequest(count: 1, environment: environment, holds: false))
      guard let port = leases.first?.port else { break }
      do {
        let reserved = try server.reserve(port, on: host)
        pool.lend(port)
        return reserved
      } catch {
        failure = error
        taken.append(port)
      }
    }
    throw failure
      ?? CodedError(
        "no port could be leased", at: "the port pool", next: "see who holds ports with: diorama port list")
  }
}

extension PortLease {
  /// The stored record, in the form that `JSONDecoder` reads.
  ///
  /// Written by hand, since `JSONEncoder` would take longer than the store, and every lease waits for it.
  var document: Data {
    var members: [JSON.Member] = [
      .init("port", .number("\(port)")), .init("since", .number("\(since.timeIntervalSinceReferenceDate)")),
      .init("holds", .bool(holds)),
    ]
    if let name { members.append(.init("name", .string(name))) }
    if let owner {
      members.append(
        .init(
          "owner", .object([.init("pid", .number("\(owner.pid)")), .init("startTime", .number("\(owner.startTime)"))])))
    }
    if let environment { members.append(.init("environment", .string(environment))) }
    if let client { members.append(.init("client", .string(client))) }
    if let endsAt { members.append(.init("endsAt", .number("\(endsAt.timeIntervalSinceReferenceDate)"))) }
    return Data(JSON.object(members).encoded())
  }
}
