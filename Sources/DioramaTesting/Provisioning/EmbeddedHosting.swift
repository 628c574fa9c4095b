import Basics
import ControlAPI
import EnvironmentConfiguration

// Only this file needs the service and its C libraries. Package.swift omits the service on platforms without them.
#if canImport(EnvironmentService)
  import ChildProcesses
  import ControlAPI
  import EnvironmentService
  import Foundation
  import LaunchContract
  import PortLeases
  import Transforms

  /// Environments in this process.
  enum EmbeddedHosting {
    static let isAvailable = true

    /// Checks settings, also those for a daemon, so that invalid ones are rejected before a request is sent.
    ///
    /// - Throws: a `CodedError` for an invalid setting.
    static func check(_ settings: EnvironmentConfiguration) throws(CodedError) {
      _ = try EnvironmentSpecification(settings, isChecked: true)
    }

    /// Reads a project file and checks its rules.
    static func readProjectFile(_ path: String) throws(CodedError) -> ProjectFile { try ProjectFile.read(path) }

    /// Provisions an environment.
    ///
    /// - Parameters:
    ///   - settings: the checked settings.
    ///   - isContinuousIntegration: whether `CI` is set, so that `once` never records.
    ///   - journal: the path of a file for the journal with requests; nil for none.
    ///   - lease: the environment's resources; nil if it has none.
    /// - Returns: the environment.
    /// - Throws: a `CodedError`.
    static func provision(
      _ settings: EnvironmentConfiguration, isContinuousIntegration: Bool, journal: String?, lease: TestLease?
    ) throws(CodedError) -> any EnvironmentBackend {
      var specification = try EnvironmentSpecification(settings, isChecked: true)
      specification.journalFile = journal
      specification.journalsRequests = journal != nil
      specification.isContinuousIntegration = isContinuousIntegration
      specification.leased = lease?.resources
      do throws(CodedError) { return try EmbeddedBackend(specification, ports: settings.ports, lease: lease) } catch {
        lease?.endSoon()
        throw error
      }
    }

    /// What must be leased before the environment is provisioned; see the service.
    static func resourcesToLease(
      _ settings: EnvironmentConfiguration, isContinuousIntegration: Bool
    ) throws(CodedError) -> [String: ResourceQuery] {
      var specification = try EnvironmentSpecification(settings, isChecked: true)
      specification.isContinuousIntegration = isContinuousIntegration
      return try specification.resourcesToLease()
    }
  }

  /// An environment in this process.
  private struct EmbeddedBackend: EnvironmentBackend {
    private let environment: Environment
    /// Kept until the end, because a reservation ends with its value.
    private let reservations: [String: PortReservation]
    private let lease: TestLease?

    /// Provisions the environment.
    ///
    /// - Parameters:
    ///   - specification: the environment.
    ///   - ports: names of free ports.
    ///   - lease: the environment's resources.
    /// - Throws: a `CodedError`.
    init(_ specification: EnvironmentSpecification, ports: [String], lease: TestLease?) throws(CodedError) {
      var specification = specification
      var reservations: [String: PortReservation] = [:]
      for name in ports { reservations[name] = try PortReservation() }
      specification.ports = reservations.mapValues(\.port)
      self.reservations = reservations
      self.lease = lease
      environment = try SharedService.service.get().provision(specification)
    }

    var mode: TestEnvironment.Mode { .init(rawValue: environment.mode.rawValue) ?? .once }
    var cassette: String? { environment.specification.cassette?.har }
    var seed: String { environment.seed }
    var now: Date { environment.now }
    var notes: [String] { environment.notes }
    var ports: [String: Int] { reservations.mapValues { Int($0.port) } }
    var resources: [String: LeasedResource] { environment.specification.leased ?? [:] }
    var endpoints: [String: String] {
      environment.upstreams.reduce(into: [:]) { $0[$1.name] = environment.endpoint($1.name) }
    }

    var contract: LaunchContract { environment.contract }

    func launchParameters(
      adding credentials: [LaunchContract.Credentials.Item], in folder: () throws(CodedError) -> String
    ) throws -> LaunchParameters {
      let contract = contract.adding(credentials)
      var parameters = LaunchParameters(variables: environment.variables, arguments: try contract.launchArguments())
      parameters.variables["DIORAMA_CONTRACT"] = try ContractWriter.deliver(contract, folder: try folder()).value
      return parameters
    }

    func refresh() {}

    func move(
      _ move: ClockMove, afterSleepers sleepers: Int?, timeout: Duration
    ) async throws(CodedError) -> (now: Date, woken: Int) {
      let move: Environment.ClockMove =
        switch move {
        case .advance(let duration): .advance(duration)
        case .set(let date): .set(date)
        }
      let moved = try await environment.moveClock(move, afterSleepers: sleepers, timeout: timeout)
      return (moved.now, moved.woken)
    }

    func update(_ change: EnvironmentChange, timeout: Duration) async throws(CodedError) {
      let clock = change.clock.map {
        Environment.ClockPatch(
          kind: $0.kind, start: $0.start, rate: $0.rate, timeZone: $0.timeZone, locale: $0.locale)
      }
      try await environment.update(
        toggles: change.toggles, values: change.values, clock: clock,
        mode: change.mode.flatMap { Mode(rawValue: $0.rawValue) },
        faults: try change.faults.map { faults throws(CodedError) in
          try CodedError.translating(to: .usage, try EnvironmentConfiguration.faults(faults))
        }, timeout: timeout)
    }

    func admin(_ method: String, _ path: String, _ body: [UInt8]) async -> (status: Int, body: [UInt8]) {
      await environment.admin(method, path, body)
    }

    var route: ClientRoute {
      ClientRoute(main: "http://127.0.0.1:\(environment.mainPort)", token: environment.token) {
        [environment] request, origin in
        try await environment.respond(to: request, as: ClientMark(origin: origin))
      }
    }

    func journalPage(after number: Int) -> JournalPage { environment.journalPage(after: number, limit: 1000) }

    func end(hasSucceeded: Bool, expectsRequests: Bool) async -> Report {
      if let lease, await lease.isLost { environment.fail(ResourceLease.lost(again: "the test")) }
      let report = await environment.end(hasSucceeded: hasSucceeded, expectsRequests: expectsRequests).report
      await lease?.end()
      return report
    }
  }

  /// The service for all environments of this process: one pool of server threads, one HTTP client.
  private enum SharedService {
    /// Created on first use; lives as long as the process.
    static let service = Result { () throws(CodedError) in
      OpenFiles.raiseLimit()
      return try EnvironmentService()
    }
  }
#else
  /// A placeholder: environments in this process need C libraries that this platform lacks.
  enum EmbeddedHosting {
    static let isAvailable = false

    // The daemon checks what only the service can check.
    static func check(_ settings: EnvironmentConfiguration) throws(CodedError) {}

    static func readProjectFile(_ path: String) throws(CodedError) -> ProjectFile {
      try ProjectFile.read(path, acceptsPipes: false) { _ in }
    }

    static func resourcesToLease(
      _ settings: EnvironmentConfiguration, isContinuousIntegration: Bool
    ) throws(CodedError) -> [String: ResourceQuery] { [:] }

    static func provision(
      _ settings: EnvironmentConfiguration, isContinuousIntegration: Bool, journal: String?, lease: TestLease?
    ) throws(CodedError) -> any EnvironmentBackend {
      throw CodedError(
        .usage,
        "environments cannot run in the test process on this platform; remove host: .embedded and DIORAMA_DAEMON=0, so "
          + "that a daemon runs them")
    }
  }
#endif
