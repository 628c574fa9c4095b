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
#if os(Linux)
  import Interception
#endif
package import LaunchContract
import Stubs

/// The isolated environment of one test, with listening endpoints, an open cassette and a clock of its own.
///
/// ```swift
/// let service = try EnvironmentService()
/// let environment = try service.provision(specification)
/// // … the app runs with environment.contract …
/// let report = await environment.end()
/// ```
package final class Environment: Sendable {
  /// The id that identifies the environment in the control API.
  package let id: String
  /// The requested configuration.
  package let specification: EnvironmentSpecification
  /// The name or address by which programs reach the environment's ports.
  package let host: String
  /// The port for the control paths, and for requests that name their upstream themselves.
  package let mainPort: UInt16
  /// The token that the app sends to use the control paths.
  package let token: String
  /// The clock, time zone and locale when the environment was provisioned.
  package let clock: LaunchContract.Clock
  /// The seed of the string store.
  package let seed: String
  /// The recording date in RFC 3339 format; nil if there is no recording.
  package let recordedAt: String?
  /// Messages for the user from provisioning, one line each.
  package let notes: [String]

  /// The declared upstreams.
  private let declared: UpstreamTable
  /// The upstreams of an isolated command: the declared ones, and the origins that it has asked for; nil if no command is
  /// isolated.
  let intercepted: InterceptedUpstreams?
  /// Sends requests to upstreams; nil if the mode does not allow it.
  let client: UpstreamClient?
  /// Decides which clients may use the endpoints.
  let endpointAccess: EndpointAccess
  let replay: Replay?
  let recorder: CassetteRecorder?
  /// The stubs, the request log, and the files of responses.
  let stubs: StubServer
  /// Requests to upstreams for their schemas while recording.
  let reflections = Guarded<Reflections>([:])
  /// Makes requests slow or fail.
  let faults: FaultInjector
  /// Sends the requests of stubs with `proxyBaseUrl`, and of webhooks.
  let stubClient: UpstreamClient
  /// Signs tokens in which values of requests were put; nil without keys.
  let tokenSigner: TokenSigner?
  /// Redacts secrets in everything that the environment saves.
  let redactor: Redactor
  let state: Guarded<State>
  /// A cache of large recorded bodies as sent to the app.
  let keptBodies = KeptBodies()
  /// Remembers which upstream set each cookie.
  let cookieOwners: Guarded<CookieOwners>
  let openRequests = DispatchGroup()
  /// Streams in progress. ``end(grace:hasSucceeded:)`` ends them instead of waiting for them.
  let streams = RunningStreams()
  /// Changes whenever requests that wait for their turn have to check again: when an interaction was played, and when
  /// the environment begins to end.
  let turns = Monitor(0)
  /// The timer for the next check of ``State/live``.
  let alarm = Guarded<Delay?>(nil)
  /// The mode in which the environment was provisioned.
  let provisionedMode: Mode
  /// When the environment was provisioned.
  package let createdAt: Date
  /// Delivers new journal entries to the daemon and to waiting clients.
  let news: JournalNews
  /// Stores changes that must survive a restart before clients see them.
  let changes: SnapshotPersister
  /// Ends the program that serves the environment; nil if clients may not.
  let stop: (@Sendable () -> Void)?
  /// Limits how many `GET /state` requests may wait; nil for no limit.
  let stateWaits: WaitLimit?
  private let listeners = Guarded<[Listener]>([])
  /// Serves the endpoints.
  let server: HTTPServer
  #if os(Linux)
    /// Takes the connections of isolated commands; nil until there is one.
    let interceptor = Guarded<Interceptor?>(nil)
  #endif
  let started: ContinuousClock.Instant
  let shutdown = Monitor(Shutdown())

  /// The mutable state, guarded by one lock.
  struct State: Sendable {
    var journal = Journal()
    var journalFile: JournalFile?
    var playback: Playback?
    var prepared = PreparedResponses()
    var ledger: StringLedger
    /// The part that can change while apps run, and the apps that follow it.
    var live: AppSync
    var togglesRead: [String: JSON] = [:]
    var unmatched: [Report.Unmatched] = []
    var unmatchedSize = 0
    /// How many unmatched journal entries are WebSocket messages. The WebSocket's request is already counted.
    var unmatchedMessages = 0
    var failures: [String] = []
    /// One line for each body that is kept as sent because it decodes to more than the limit.
    var keptAsSent: [String] = []
    /// The recorded values of requests that answers contain.
    var echoWarnings = EchoWarnings()
    /// Violations of the OpenAPI document.
    var contractFindings = ContractFindings()
    /// Receives what the clock shows whenever something has changed.
    var clockFollower: (@Sendable (ClockReading) -> Void)?
    /// How the command is isolated.
    var isolation: Report.Isolation?
    /// The commands in the environment that other processes run, and how many of each.
    var entered: [String: Int] = [:]
    /// Where something was redacted in the recording.
    var redacted: [String] = []
    /// The requests that an upstream failed to answer. Equal failures are listed once.
    var upstreamFailures: [Report.FailedRequest] = []
    /// The requests whose response the app cancelled. Equal ones are listed once.
    var brokenOff: [Report.FailedRequest] = []
    var requests = 0
    /// The environment's redactor, for code that holds the lock.
    let redactor: Redactor
    /// Set when the environment begins to end. New requests on open connections get a 503.
    var isOver = false
  }

  /// The progress of ``end(grace:hasSucceeded:)``.
  struct Shutdown {
    var hasBegun = false
    /// Whether the program or test succeeded.
    var hasSucceeded = true
    var outcome: Result<CassetteSealer.Outcome?, CodedError>?
  }

  /// The result of planning: everything that is decided before the endpoints listen.
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
    var stubs: StubServer
    var faults: FaultSet
    var state: State
    var createdAt = Date()
    /// Whether it restores the environment of a killed process.
    var isRestored = false
  }

  /// Serves the reserved ports: the main port first, then each upstream's.
  ///
  /// - Throws: ``CodedError`` if the server has stopped. In that case, the ports are released.
  init(
    _ plan: Plan, hooks: EnvironmentHooks, reserved: [ReservedListener], server: HTTPServer, client: UpstreamClient?,
    stubClient: UpstreamClient
  ) throws {
    self.server = server
    self.client = client
    self.stubClient = stubClient
    host = hooks.host
    mainPort = reserved[0].port
    let upstreams = plan.upstreams.enumerated().map { index, upstream in
      AddressMap.Upstream(
        name: upstream.name, origin: upstream.origin, port: reserved[index + 1].port,
        formerOrigins: plan.replay?.formerOrigins[index] ?? [])
    }
    declared = UpstreamTable(
      addresses: AddressMap(
        upstreams: upstreams, mainPort: mainPort, host: host,
        kept: try (plan.specification.rewriting ?? .init()).compiled()),
      access: plan.upstreams.map { plan.specification.readyAccess(to: $0.name) })
    let policy = try plan.specification.isolation.map(OriginPolicy.init)
    intercepted = policy.map { [declared] in InterceptedUpstreams($0, declared) }
    cookieOwners = Guarded(CookieOwners(hosts: upstreams.map(\.origin.host)))
    endpointAccess = EndpointAccess(
      upstreams: plan.upstreams.map(\.origin),
      host: host, allowedHosts: plan.specification.allowedHosts,
      hasStakes: plan.recorder != nil || (client != nil && plan.specification.addsSecrets))
    id = plan.id
    specification = plan.specification
    token = plan.token
    clock = plan.clock
    seed = plan.seed
    recordedAt = plan.recordedAt
    notes = plan.notes
    replay = plan.replay
    recorder = plan.recorder
    stubs = plan.stubs
    faults = FaultInjector(plan.faults, stubs: plan.stubs)
    // Invalid rules were an error when the environment was planned.
    tokenSigner = try? plan.specification.shift?.compiled().signer
    redactor = plan.state.redactor
    provisionedMode = plan.mode
    createdAt = plan.createdAt
    let age = max(0, Date().timeIntervalSince(plan.createdAt))
    started = .now - .seconds(plan.isRestored ? age : 0)
    news = JournalNews(hooks.noted, after: plan.state.journal.last)
    changes = SnapshotPersister(hooks.changed)
    stateWaits = hooks.stateWaits
    stop = hooks.shutdown
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
    refuseConnections()
  }

  /// Makes endpoints refuse connections if a fault requires it.
  func refuseConnections() {
    // Within the lock, so that the newest faults win.
    let failed = listeners.withLock { listeners in
      let faults = faults.state.withLock { $0.faults }
      return zip(upstreams, listeners.dropFirst()).filter { upstream, listener in
        !listener.setRefusing(faults.refuses(upstream.name))
      }.map(\.0)
    }
    for upstream in failed {
      fail(
        "the endpoint of '\(upstream.name)' cannot listen again, because another program has taken port \(upstream.port)"
      )
    }
  }

  /// Closes the ports. Open connections stay open.
  package func stopListening() {
    let listeners = listeners.withLock { listeners in
      defer { listeners = [] }
      return listeners
    }
    for listener in listeners { listener.close() }
  }

  private var table: UpstreamTable { intercepted?.table.withLock { $0 } ?? declared }

  /// The backends, and the ports at which the app reaches them.
  package var upstreams: [AddressMap.Upstream] { table.addresses.upstreams }

  var addresses: AddressMap { table.addresses }

  /// How to reach each upstream.
  var access: [ReadyAccess] { table.access }

  /// The local URL at which the app reaches an upstream.
  package func endpoint(_ name: String) -> String? {
    upstreams.first { $0.name == name }.map { "http://\(host):\($0.port)" }
  }

  /// The URL of the control paths.
  package var controlURL: String { "http://\(host):\(mainPort)/__diorama" }

  /// The current mode. It is never `once`, which provisioning resolves to `record` or `replay`.
  package var mode: Mode { state.withLock { $0.live.state.mode } }

  /// The current time of the environment's clock.
  package var now: Date { state.withLock { $0.live.state.timeline }.now }

  /// Adds a failure that is not the failure of a request. The report is then not ok.
  package func fail(_ reason: String) {
    state.withLock { state in
      let reason = String(state.redactor.redact(reason).prefix(10_000))
      guard !state.failures.contains(reason), state.failures.count < 100 else { return }
      state.failures.append(reason)
      changes.note()
    }
    changes.keepIfPossible()
  }

  /// Adds a line to the report for a body that is kept without redaction, such as one that decodes to more than the limit.
  func keepAsSent(_ text: String) {
    state.withLock { state in
      let text = String(state.redactor.redact(text).prefix(10_000))
      guard state.keptAsSent.count < 1000, !state.keptAsSent.contains(text) else { return }
      state.keptAsSent.append(text)
      changes.note()
    }
  }

  /// Adds what was redacted in a recording to the report, which lists each place once, without values.
  func noteRedacted(_ bodies: [(place: String, found: FoundFields)], _ headers: [(place: String, names: [String])]) {
    var places: [String] = []
    for (place, names) in headers { places += names.map { "\(place) \($0)" } }
    for (place, found) in bodies {
      places += found.names.map { "\(place): \($0)" }
      if found.hasMatch { places.append("credential or pattern in the \(place)") }
    }
    guard !places.isEmpty else { return }
    state.withLock { state in
      for place in places where state.redacted.count < 1000 {
        let place = String(state.redactor.redact(place).prefix(200))
        guard !state.redacted.contains(where: { $0.caseInsensitiveCompare(place) == .orderedSame }) else { continue }
        state.redacted.append(place)
        changes.note()
      }
    }
  }

  /// Marks the recording as incomplete. The report shows only the first error.
  func failRecording(_ error: CodedError) {
    recorder?.fail(error)
    fail(recorder?.failure?.message ?? error.message)
  }

  /// Ends the environment: closes its ports, lets running requests finish, and saves the recording.
  ///
  /// Later and concurrent calls get the same result.
  ///
  /// - Parameters:
  ///   - grace: the time for running requests to finish.
  ///   - hasSucceeded: whether the program or test succeeded. If not, or if the report is not ok, its recording does not
  ///     become the cassette, but is kept beside it.
  ///   - expectsRequests: whether the environment fails if it saw no request, because the program probably used the
  ///     live backends. A setting can permit it.
  /// - Returns: the report and the outcome of the recording. If the recording could not be saved, both have the error.
  package func end(
    grace: Duration = .seconds(5), hasSucceeded: Bool = true, expectsRequests: Bool = false
  ) async -> (report: Report, sealed: Result<CassetteSealer.Outcome?, CodedError>) {
    let isFirst = shutdown.withLock { shutdown in
      guard !shutdown.hasBegun else { return false }
      (shutdown.hasBegun, shutdown.hasSucceeded) = (true, hasSucceeded)
      return true
    }
    guard isFirst else {
      await shutdown.waitIgnoringCancellation { $0.outcome != nil }
      return (report(), shutdown.withLock { $0.outcome } ?? .success(nil))
    }
    state.withLock { state in
      state.isOver = true
      if !state.entered.isEmpty { state.isolation?.interrupted = state.entered.keys.sorted() }
    }
    turns.withLock { $0 += 1 }
    // Fails pending changes and wakes waiting polls, so that neither keeps a request open.
    live { live, _ in live.end() }
    stopListening()
    streams.end()
    stubs.webhooks.end()
    stubs.callbacks.end()
    stubs.conversations.end()
    let hasFinished = Monitor(false)
    openRequests.notify(queue: .global()) { hasFinished.withLock { $0 = true } }
    await hasFinished.waitIgnoringCancellation(until: .now + grace) { $0 }
    #if os(Linux)
      await stopIntercepting()
    #endif
    if expectsRequests, mode != .mock, specification.policies?.allowsNoRequests != true, report().requests.total == 0,
      let failure = noRequestsFailure
    {
      fail(failure)
    }
    let sealed = seal(hasSucceeded: hasSucceeded)
    let lost = state.withLock { state in
      state.journalFile?.flush()
      return state.journalFile?.failure
    }
    if let lost { fail("the journal file is incomplete: \(lost.message)") }
    news.finish(self)
    shutdown.withLock { $0.outcome = sealed }
    return (report(), sealed)
  }

  /// Why a program without requests fails, and what to do; nil if it need not send any.
  private var noRequestsFailure: String? {
    let permission = specification.noRequestsAdvice
    guard let isolation = state.withLock({ $0.isolation }) else {
      return upstreams.map(\.name).min().map {
        Report.noRequests(connection: specification.connectionAdvice($0), permission: permission)
      }
    }
    if isolation.kind == "proxy" {
      return Report.noRequests(
        connection:
          "it may ignore the proxy variables; isolate it with --isolate=namespaces or --isolate=seccomp ('diorama doctor' shows what that needs)",
        permission: permission)
    }
    // With a network of its own, the command cannot reach anything else.
    return Report.noRequests(
      check: recorder != nil
        ? "check that it did not fail early, and did not connect to 127.0.0.1, which is the command's own loopback address: to record a server of "
          + "this machine, have it use another name and add --map http://backend.test=http://127.0.0.1:PORT; to only reach "
          + "one, add --host-port PORT"
        : "check that it is the command that was recorded, and that it did not fail early", permission: permission)
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
  /// The error of the recording's first failed write.
  package var recordingFailure: CodedError? { recorder?.failure }

  /// The command that records what is missing.
  package var recordAdvice: String { specification.recordAdvice(upstreams: upstreams) }
}
