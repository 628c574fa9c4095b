import Basics
import ControlAPI
import DaemonClient
import Diorama
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import LocalHTTP

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An environment in a daemon. It is owned by this process and ends when the process exits at the latest.
struct DaemonBackend: EnvironmentBackend {
  /// The environment's last known state.
  private struct Seen: Sendable {
    var contract: ProvisionedEnvironment.Contract
    /// The contract for programs of this process, including secrets.
    var document: LaunchContract
  }

  let cassette: String?
  let endpoints: [String: String]
  let ports: [String: Int]
  let resources: [String: LeasedResource]
  let notes: [String]
  private let id: String
  private let client: DaemonClient
  private let credentials: LaunchContract.Credentials?
  private let seen: Guarded<Seen>

  /// Provisions the environment.
  ///
  /// - Parameters:
  ///   - configuration: the environment.
  ///   - isContinuousIntegration: whether `CI` is set, so that `once` never records.
  ///   - daemon: the daemon; one of this machine is started if none is running.
  /// - Throws: a `CodedError`.
  init(
    _ configuration: EnvironmentConfiguration, isContinuousIntegration: Bool, daemon: DaemonPlace
  ) async throws(CodedError) {
    var request = ProvisioningRequest(configuration, isContinuousIntegration: isContinuousIntegration)
    // A daemon on another machine can't watch this process: the environment ends with the test, or after an hour.
    if case .local = daemon { request.owner = Owner(pid: ProcessInfo.processInfo.processIdentifier) }
    let (client, environment) = try await SharedDaemons.provision(request, daemon)
    self.client = client
    id = environment.id
    cassette = environment.cassette
    endpoints = environment.endpoints
    self.ports = environment.ports
    notes = environment.notes
    resources = environment.resources ?? [:]
    credentials = configuration.contractCredentials(with: resources)
    seen = Guarded(try Self.seen(environment, credentials))
  }

  var mode: TestEnvironment.Mode { seen.withLock { .init(rawValue: $0.document.mode) } ?? .once }
  var seed: String { seen.withLock { $0.document.seed } }
  /// The time that the contract would show to a program launched now.
  var now: Date {
    get async throws(CodedError) {
      try await refresh()
      let clock = seen.withLock { $0.document.clock }
      return try CodedError.translating(to: .inputOutput, try Timeline(clock).now)
    }
  }

  var contract: LaunchContract { seen.withLock { $0.document } }

  func launchParameters(
    adding credentials: [LaunchContract.Credentials.Item], in folder: () throws(CodedError) -> String
  ) throws -> LaunchParameters {
    let (contract, document) = seen.withLock { ($0.contract, $0.document) }
    var parameters = LaunchParameters(variables: contract.environment, arguments: contract.arguments)
    // In the program's own file, which is removed with the program. The daemon keeps its file until the environment
    // ends.
    parameters.variables["DIORAMA_CONTRACT"] = try ContractWriter.deliver(
      document.adding(credentials), folder: try folder()
    ).value
    return parameters
  }

  func refresh() async throws(CodedError) {
    let environment = try await asking { () throws(DaemonClientError) in try await client.environment(id) }
    let new = try Self.seen(environment, credentials)
    seen.withLock { $0 = new }
  }

  func move(
    _ move: ClockMove, afterSleepers sleepers: Int?, timeout: Duration
  ) async throws(CodedError) -> (now: Date, woken: Int) {
    var request = ClockMoveRequest()
    switch move {
    case .advance(let duration): request.advance = duration / .seconds(1)
    case .set(let date): request.set = RFC3339.format(date, exactly: true)
    }
    request.sleepers = sleepers
    request.timeoutSeconds = timeout / .seconds(1)
    let answer = try await asking { [request] () throws(DaemonClientError) in
      try await client.moveClock(id, request)
    }
    try await refresh()
    guard let now = RFC3339.parse(answer.now) else {
      throw CodedError(.inputOutput, "the daemon returned the time '\(answer.now)', which is not a date")
    }
    return (now, answer.woken)
  }

  func update(_ change: EnvironmentChange, timeout: Duration) async throws(CodedError) {
    var patch = EnvironmentPatch()
    if !change.toggles.isEmpty { patch.toggles = change.toggles.mapValues { $0 ?? .null } }
    if !change.values.isEmpty { patch.values = change.values.mapValues { $0 ?? .null } }
    patch.mode = change.mode?.rawValue
    patch.faults = change.faults
    if let clock = change.clock {
      patch.clock = EnvironmentConfiguration.Clock(
        kind: clock.kind?.rawValue, start: clock.start.map { RFC3339.format($0, exactly: true) }, rate: clock.rate,
        timeZone: clock.timeZone, locale: clock.locale)
    }
    patch.timeoutSeconds = timeout / .seconds(1)
    _ = try await asking { [patch] () throws(DaemonClientError) in try await client.change(id, patch) }
    try await refresh()
  }

  func admin(
    _ method: String, _ path: String, _ body: [UInt8]
  ) async throws(CodedError) -> (status: Int, body: [UInt8]) {
    guard let url = seen.withLock({ $0.document.control?.url }) else {
      throw CodedError(.inputOutput, "the environment has no control URL")
    }
    return try await AdminClient.call(method, path, body, at: url)
  }

  var route: ClientRoute {
    get throws(CodedError) {
      guard let control = seen.withLock({ $0.document.control }), let end = control.url.range(of: "/__diorama") else {
        throw CodedError(.inputOutput, "the environment has no control URL")
      }
      return ClientRoute(main: String(control.url[..<end.lowerBound]), token: control.token.revealed)
    }
  }

  func journalPage(after number: Int) async throws(CodedError) -> JournalPage {
    try await asking { () throws(DaemonClientError) in try await client.journal(id, after: number) }
  }

  func end(hasSucceeded: Bool, expectsRequests: Bool) async throws(CodedError) -> Report {
    try await asking { () throws(DaemonClientError) in
      try await client.end(id, hasSucceeded: hasSucceeded, expectsRequests: expectsRequests, as: Report.self)
    }
  }

  private static func seen(
    _ environment: ProvisionedEnvironment, _ credentials: LaunchContract.Credentials?
  ) throws(CodedError) -> Seen {
    guard let contract = environment.contract, var document = contract.document else {
      throw CodedError(
        .inputOutput, "the daemon returned no contract; restart it with this version: diorama serve --stop")
    }
    document.credentials = credentials
    return Seen(contract: contract, document: document)
  }

  private func asking<Answer>(
    _ work: () async throws(DaemonClientError) -> Answer
  ) async throws(CodedError) -> Answer {
    do { return try await work() } catch {
      throw CodedError(error)
    }
  }
}

extension EnvironmentConfiguration {
  /// The contents and faults of the app's credential store, which the daemon doesn't return; nil if there are none.
  fileprivate func contractCredentials(with resources: [String: LeasedResource]) -> LaunchContract.Credentials? {
    let items =
      credentials.map {
        LaunchContract.Credentials.Item(
          service: $0.service, account: $0.account, group: $0.group, secret: Data($0.bytes ?? []))
      }
      + resources.sorted { $0.key < $1.key }.flatMap { label, resource in
        (resource.secrets ?? [:]).sorted { $0.key < $1.key }.map {
          .init(service: label, account: $0.key, secret: Data($0.value.utf8))
        }
      }
    guard !items.isEmpty || !credentialFaults.isEmpty else { return nil }
    return LaunchContract.Credentials(items: items, faults: credentialFaults)
  }
}

extension CodedError {
  /// The error that an environment in this process would throw.
  init(_ error: DaemonClientError) {
    guard case .refused(let status, let problem) = error.kind else {
      self.init(.noUpstream, error.message)
      return
    }
    let other: Kind = status == 400 || status == 422 ? .usage : .inputOutput
    self.init(problem.flatMap(Kind.init(name:)) ?? other, error.message)
  }
}

/// The clients for the daemons that this process uses, shared by all tests.
enum SharedDaemons {
  private static let clients = Guarded<[DaemonPlace: DaemonClient]>([:])

  /// Provisions an environment.
  ///
  /// - Parameters:
  ///   - request: the environment.
  ///   - daemon: the daemon; one of this machine is started if none is running.
  /// - Returns: the environment and its client.
  /// - Throws: a `CodedError`.
  static func provision(
    _ request: ProvisioningRequest, _ daemon: DaemonPlace
  ) async throws(CodedError) -> (DaemonClient, ProvisionedEnvironment) {
    try await call(daemon) { client throws(DaemonClientError) in (client, try await client.provision(request)) }
  }

  /// Calls a daemon.
  ///
  /// - Parameters:
  ///   - daemon: the daemon; one of this machine is started if none is running.
  ///   - work: the call.
  /// - Returns: the answer.
  /// - Throws: a `CodedError`.
  static func call<Answer>(
    _ daemon: DaemonPlace, _ work: (DaemonClient) async throws(DaemonClientError) -> Answer
  ) async throws(CodedError) -> Answer {
    do throws(DaemonClientError) {
      if let client = clients.withLock({ $0[daemon] }) {
        do {
          return try await work(client)
        } catch {
          // An idle daemon exits, possibly since the last request.
          guard error.kind == .dead else { throw error }
        }
      }
      let new =
        switch daemon {
        case .local(let home): try await DaemonStarter(home: home, program: program).connect()
        case .remote(let remote): try await DaemonClient.connect(to: remote)
        }
      clients.withLock { $0[daemon] = new }
      return try await work(new)
    } catch {
      throw CodedError(error)
    }
  }

  /// The `diorama` command, beside the tests or in PATH; nil if it is missing. Without it no daemon can be started.
  private static var program: String? {
    try? Executable.find("diorama", path: ProcessInfo.processInfo.environment["PATH"])
  }
}

/// The resources of an environment in this process, which a daemon leases.
struct TestLease: Sendable {
  let resources: [String: LeasedResource]
  private let id: String
  private let daemon: DaemonPlace

  /// Leases what an environment needs; nil if it needs nothing.
  ///
  /// - Parameters:
  ///   - settings: the checked settings.
  ///   - isContinuousIntegration: whether `CI` is set.
  ///   - variables: the process's variables.
  /// - Throws: a `CodedError` if the resources do not exist, or are not free in time.
  init?(
    _ settings: EnvironmentConfiguration, isContinuousIntegration: Bool, variables: [String: String]
  ) async throws(CodedError) {
    guard !settings.resources.isEmpty else { return nil }
    let needed = try EmbeddedHosting.resourcesToLease(settings, isContinuousIntegration: isContinuousIntegration)
    guard !needed.isEmpty else { return nil }
    let request = LeaseRequest(
      id: UUID().uuidString.lowercased(), resources: needed,
      owner: Owner(pid: ProcessInfo.processInfo.processIdentifier))
    daemon = .local(.standard(variables: variables))
    let lease = try await SharedDaemons.call(daemon) { client throws(DaemonClientError) in
      try await client.lease(request)
    }
    id = lease.id
    resources = lease.resources
  }

  /// Whether another test may have the resources now.
  var isLost: Bool {
    get async {
      let list = try? await SharedDaemons.call(daemon) { client throws(DaemonClientError) in try await client.leases() }
      // A daemon that does not answer keeps its leases.
      return list?.holds(id) == false
    }
  }

  /// Returns the resources. Without a daemon, they are returned once the next one sees that this process has ended.
  func end() async {
    try? await SharedDaemons.call(daemon) { client throws(DaemonClientError) in try await client.endLease(id) }
  }

  /// Returns the resources, without waiting for it.
  func endSoon() { Task { await end() } }
}
