package import ControlAPI
package import Basics
package import Transforms
import Cassettes
import Diorama
import EnvironmentConfiguration
package import Foundation
import Dispatch
import HTTPMessages
import HTTPServer
package import LaunchContract

/// One isolated environment for one test: its endpoints listen, its cassette is open, its time stands or runs.
///
/// ```swift
/// let service = try EnvironmentService()
/// let environment = try service.provision(specification)
/// // … the app runs with environment.contract …
/// let report = await environment.end()
/// ```
package final class Environment: Sendable {
  /// The id by which programs name it.
  package let id: String
  /// What was asked for.
  package let specification: EnvironmentSpecification
  /// The backends and where the app reaches them.
  package let upstreams: [AddressMap.Upstream]
  /// The port of the control paths and of the other endpoint forms.
  package let mainPort: UInt16
  /// What the app must show to reach the control paths.
  package let token: String
  /// Time, zone and locale at the beginning.
  package let clock: LaunchContract.Clock
  /// The seed in force.
  package let seed: String
  /// When the recording was made; nil where there is none.
  package let recordedAt: String?
  /// Lines for the user about what provisioning found.
  package let notes: [String]

  let addresses: AddressMap
  /// How each upstream is reached.
  let access: [ReadyAccess]
  /// Whose requests the endpoints serve.
  let endpointAccess: EndpointAccess
  let replay: Replay?
  let recorder: CassetteRecorder?
  /// Takes what is secret out of all that is kept.
  let redactor: Redactor
  let state: Guarded<State>
  /// Large bodies of the cassette, as the app gets them.
  let keptBodies = KeptBodies()
  /// Which upstream has set which cookie.
  let cookieOwners: Guarded<CookieOwners>
  let openRequests = DispatchGroup()
  /// Ended by the end, which does not wait for them.
  let streams = RunningStreams()
  /// Counts interactions played in an order that requests wait for, and the end.
  let turns = Monitor(0)
  /// When the live link is to be looked at next.
  let alarm = Guarded<Delay?>(nil)
  /// The mode in which it was provisioned.
  let provisionedMode: Mode
  /// When it was provisioned.
  package let createdAt: Date
  /// Who wants to know of new journal entries.
  let news: JournalNews
  /// Stores what a restart needs before any client sees it.
  let changes: SnapshotPersister
  /// How many questions for the state may wait; nil: any number.
  let stateWaits: WaitLimit?
  private let listeners = Guarded<[Listener]>([])
  let started: ContinuousClock.Instant
  let shutdown = Monitor(Shutdown())

  /// All that changes while the environment lives, under one lock.
  struct State: Sendable {
    var journal = Journal()
    var journalFile: JournalFile?
    var playback: Playback?
    var prepared = PreparedResponses()
    var ledger: StringLedger
    /// What changes while apps run, and which follow.
    var live: AppSync
    var togglesRead: [String: JSON] = [:]
    var unmatched: [Report.Unmatched] = []
    var unmatchedSize = 0
    /// How many of what nothing matched were messages of a WebSocket, whose request has been counted already.
    var unmatchedMessages = 0
    var failures: [String] = []
    /// Messages whose bodies are kept as they were sent, since they decode to too much.
    var keptAsSent: [String] = []
    /// Each request that an upstream failed to answer, once, however often that was.
    var upstreamFailures: [Report.UpstreamFailure] = []
    var requests = 0
    /// The environment's, for what is done under the lock.
    let redactor: Redactor
    /// Set when the end begins: what comes on connections that are still open is answered 503.
    var isOver = false
  }

  /// How far the end has come.
  struct Shutdown {
    var hasBegun = false
    var outcome: Result<CassetteSealer.Outcome?, CodedError>?
  }

  /// What stands fast before the first request can come.
  struct Plan {
    var id: String
    var specification: EnvironmentSpecification
    var mode: Mode
    var token: String
    var clock: LaunchContract.Clock
    var seed: String
    var recordedAt: String?
    var notes: [String]
    var upstreams: [CassetteHeader.Upstream]
    var replay: Replay?
    var recorder: CassetteRecorder?
    var state: State
    var createdAt = Date()
    /// Whether it continues an environment of a killed process.
    var isRestored = false
  }

  /// Serves the reserved ports: the main port first, then each upstream's.
  ///
  /// - Throws: ``CodedError`` if the server has stopped. The ports are free then.
  init(
    _ plan: Plan, hooks: EnvironmentHooks, reserved: [ReservedListener], client: UpstreamClient?
  ) throws {
    mainPort = reserved[0].port
    upstreams = plan.upstreams.enumerated().map { index, upstream in
      AddressMap.Upstream(
        name: upstream.name, origin: upstream.origin, port: reserved[index + 1].port,
        formerOrigins: plan.replay?.formerOrigins[index] ?? [])
    }
    addresses = AddressMap(upstreams: upstreams, mainPort: mainPort)
    cookieOwners = Guarded(CookieOwners(hosts: upstreams.map(\.origin.host)))
    endpointAccess = EndpointAccess(
      upstreams: plan.upstreams.map(\.origin),
      allowedHosts: plan.specification.allowedHosts,
      hasStakes: plan.recorder != nil || (client != nil && plan.specification.addsSecrets))
    access = plan.upstreams.map { plan.specification.readyAccess(to: $0.name) }
    id = plan.id
    specification = plan.specification
    token = plan.token
    clock = plan.clock
    seed = plan.seed
    recordedAt = plan.recordedAt
    notes = plan.notes
    replay = plan.replay
    recorder = plan.recorder
    redactor = plan.state.redactor
    provisionedMode = plan.mode
    createdAt = plan.createdAt
    let age = max(0, Date().timeIntervalSince(plan.createdAt))
    started = .now - .seconds(plan.isRestored ? age : 0)
    news = JournalNews(hooks.noted, after: plan.state.journal.last)
    changes = SnapshotPersister(hooks.changed)
    stateWaits = hooks.stateWaits
    state = Guarded(plan.state)
    do {
      for (index, port) in reserved.enumerated() {
        let handler = EndpointHandler(self, upstream: index == 0 ? nil : index - 1, client: client)
        let listener = try port.serve(handler: handler)
        listeners.withLock { $0.append(listener) }
      }
    } catch {
      stopListening()
      throw error
    }
  }

  /// Closes the ports. Open connections stay.
  package func stopListening() {
    let listeners = listeners.withLock { listeners in
      defer { listeners = [] }
      return listeners
    }
    for listener in listeners { listener.close() }
  }

  /// The local URL at which the app reaches an upstream.
  package func endpoint(_ name: String) -> String? {
    upstreams.first { $0.name == name }.map { "http://127.0.0.1:\($0.port)" }
  }

  /// The URL of the control paths.
  package var controlURL: String { "http://127.0.0.1:\(mainPort)/__diorama" }

  /// The mode in force: never `once`, which is `record` or `replay` by the time the environment exists.
  package var mode: Mode { state.withLock { $0.live.state.mode } }

  /// What the environment's clock shows.
  package var now: Date { state.withLock { $0.live.state.timeline }.now }

  /// Something went wrong beside the requests; the environment has failed.
  package func fail(_ reason: String) {
    state.withLock { state in
      let reason = String(state.redactor.redact(reason).prefix(10_000))
      guard !state.failures.contains(reason), state.failures.count < 100 else { return }
      state.failures.append(reason)
      changes.note()
    }
    changes.keepIfPossible()
  }

  /// A body is kept as it was sent, since it decodes to too much: the report says so.
  func keepAsSent(_ text: String) {
    state.withLock { state in
      guard state.keptAsSent.count < 1000 else { return }
      state.keptAsSent.append(String(state.redactor.redact(text).prefix(10_000)))
      changes.note()
    }
  }

  /// The recording has lost something: said once, however much it is.
  func failRecording(_ error: CodedError) {
    recorder?.fail(error)
    fail(recorder?.failure?.message ?? error.message)
  }

  /// Ends the environment: its ports close, running requests finish, the recording is sealed.
  ///
  /// Later and concurrent calls get the same result.
  ///
  /// - Parameters:
  ///   - grace: how long running requests may take.
  ///   - hasSucceeded: whether the program or test succeeded. If not, or if the report is not ok, its recording does not
  ///     become the cassette, but is kept beside it.
  /// - Returns: the report, and what became of the recording; an error of sealing is in both.
  package func end(grace: Duration = .seconds(5), hasSucceeded: Bool = true) async -> (
    report: Report, sealed: Result<CassetteSealer.Outcome?, CodedError>
  ) {
    let isFirst = shutdown.withLock { shutdown in
      defer { shutdown.hasBegun = true }
      return !shutdown.hasBegun
    }
    guard isFirst else {
      await shutdown.waitIgnoringCancellation { $0.outcome != nil }
      return (report(), shutdown.withLock { $0.outcome } ?? .success(nil))
    }
    state.withLock { $0.isOver = true }
    turns.withLock { $0 += 1 }
    // Those who wait for a change learn that there will be none, and are not waited for in turn.
    live { live, _ in live.end() }
    stopListening()
    streams.end()
    let hasFinished = Monitor(false)
    openRequests.notify(queue: .global()) { hasFinished.withLock { $0 = true } }
    await hasFinished.waitIgnoringCancellation(until: .now + grace) { $0 }
    let sealed = seal(hasSucceeded: hasSucceeded)
    let lost = state.withLock { state in
      state.journalFile?.flush()
      return state.journalFile?.failure
    }
    if let lost { fail("the journal is not whole: \(lost.message)") }
    news.finish(self)
    shutdown.withLock { $0.outcome = sealed }
    return (report(), sealed)
  }

  private func seal(hasSucceeded: Bool) -> Result<CassetteSealer.Outcome?, CodedError> {
    guard let recorder else { return .success(nil) }
    if recorder.interactionCount == 0, recorder.stringCount == 0, recorder.failure == nil {
      recorder.discard()
      return .success(.init(interactions: 0, added: 0, strings: 0, isWritten: false))
    }
    let becomesCassette =
      specification.policies?.replacesAfterFailure == true || (hasSucceeded && report().ok)
    do {
      return .success(try recorder.seal(aside: !becomesCassette))
    } catch {
      fail(error.message)
      return .failure(error)
    }
  }
}

extension Environment {
  /// The first write of the recording that failed.
  package var recordingFailure: CodedError? { recorder?.failure }

  /// The command that would record what is missing.
  package var recordAdvice: String { specification.recordAdvice(upstreams: upstreams) }
}
