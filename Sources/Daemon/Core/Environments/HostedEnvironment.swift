import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract

/// An environment with what the daemon knows of it: its lifetime, its ports, its files, its place in the store.
final class HostedEnvironment: Sendable {
  /// What there is of it at a moment.
  private struct State {
    var environment: Environment?
    var recordState = EnvironmentRecord.State.ready
    var listeners: [Listener] = []
    var contract = ""
    var recording: ResolvedPath?
    var report: Report?
    /// Of what is stored of the environment.
    var saved: SnapshotVersion?
    var saves = 0
    /// Nothing of it is stored from now on.
    var isOver = false
  }

  let id: String
  let name: String
  let lifetime: Lifetime
  let createdAt: Date
  /// Opens when nothing of it is left, be it that it has ended or that it could not be made.
  let isOver = Latch()
  private let store: any DaemonStore
  private let state: Guarded<State>
  /// One save after the other, so that an older one never comes last.
  private let saving = NSLock()

  init(id: String, name: String, lifetime: Lifetime, createdAt: Date, store: any DaemonStore) {
    self.id = id
    self.name = name
    self.lifetime = lifetime
    self.createdAt = createdAt
    self.store = store
    state = Guarded(State())
  }

  /// Nil until it is provisioned.
  var environment: Environment? { state.withLock { $0.environment } }
  /// Absolute path of its launch contract; empty until it is written.
  var contract: String { state.withLock { $0.contract } }
  /// What it records; nil where it does not.
  var recording: ResolvedPath? { state.withLock { $0.recording } }
  /// The mode in force; empty until it is provisioned.
  var mode: String { environment?.mode.rawValue ?? "" }
  /// Its last report, once it has ended.
  var report: Report? { state.withLock { $0.report } }

  /// It is provisioned.
  func attach(_ environment: Environment, recording: ResolvedPath?) {
    state.withLock { state in
      state.environment = environment
      state.recording = recording
    }
  }

  /// Its contract is written.
  func attach(contract: String) { state.withLock { $0.contract = contract } }

  /// It listens there, too.
  func attach(_ listener: Listener) { state.withLock { $0.listeners.append(listener) } }

  /// It has ended with this.
  func attach(_ report: Report) { state.withLock { $0.report = report } }

  /// Closes what listens of an environment that came to nothing; where there is one, its end does.
  func closeListeners() {
    let listeners = state.withLock { state in
      defer { state.listeners = [] }
      return state.listeners
    }
    for listener in listeners { listener.close() }
  }

  /// Its end begins: from now on no restart brings it back.
  func saveEnding() throws(StoreError) {
    state.withLock { $0.recordState = .ending }
    try save()
  }

  /// Stores how it is now; does nothing before it is provisioned.
  func save() throws(StoreError) {
    saving.lock()
    defer { saving.unlock() }
    try saveAll()
  }

  /// Stores what requests have changed, which is little; all of it where more has.
  func saveTraffic() throws(StoreError) {
    saving.lock()
    defer { saving.unlock() }
    let state = state.withLock { $0 }
    guard !state.isOver, let (traffic, version) = state.environment?.traffic() else { return }
    guard version == state.saved else { return try saveAll() }
    do {
      try store.save(traffic: try ContractJSON.encode(traffic), of: id)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError("what environment '\(name)' was asked cannot be written as JSON: \(error)")
    }
  }

  private func saveAll() throws(StoreError) {
    let state = state.withLock { state in
      state.saves += 1
      return state
    }
    guard !state.isOver, let (snapshot, version) = state.environment?.versionedSnapshot() else { return }
    let record = EnvironmentRecord(
      state: state.recordState, name: name, createdAt: createdAt, lifetime: lifetime,
      contract: state.contract, recording: state.recording?.text, snapshot: snapshot, saves: state.saves)
    try store.save(environment: id, document: record.encoded())
    self.state.withLock { $0.saved = version }
  }

  /// Nothing of it is stored from now on; what is may be removed.
  func saveNothingMore() {
    saving.lock()
    defer { saving.unlock() }
    state.withLock { $0.isOver = true }
  }

  /// Whether something of it is stored, or will be.
  var isStored: Bool { state.withLock { !$0.isOver } }
}
