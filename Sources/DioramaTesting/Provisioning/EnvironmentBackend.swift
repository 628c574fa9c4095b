import Basics
import Transforms
import ChildProcesses
import EnvironmentService
import Foundation
import LaunchContract
import PortLeases

/// An environment in this process or in a daemon.
protocol EnvironmentBackend: Sendable {
  /// The current mode; never `once`.
  var mode: Mode { get }
  /// The path of the cassette's HAR file.
  var cassette: String? { get }
  var seed: String { get }
  /// The local URLs by upstream name.
  var endpoints: [String: String] { get }
  var ports: [String: Int] { get }
  /// Messages for the user from provisioning.
  var notes: [String] { get }

  /// The variables and arguments for launching a program.
  ///
  /// - Parameter folder: makes the folder for a contract that does not fit into a variable.
  /// - Returns: variables and arguments.
  /// - Throws: an error if the contract cannot be written.
  func launchParameters(in folder: () throws(CodedError) -> String) throws -> LaunchParameters

  /// The environment's current time, including moves by other processes.
  var now: Date { get async throws(CodedError) }

  /// Fetches changes by other processes, for a program that is about to be launched.
  func refresh() async throws(CodedError)

  func move(
    _ move: Environment.ClockMove, afterSleepers sleepers: Int?, timeout: Duration
  ) async throws(CodedError) -> (now: Date, woken: Int)

  func update(_ change: EnvironmentChange, timeout: Duration) async throws(CodedError)

  /// Ends the environment.
  ///
  /// - Parameter keepsEmptyRecording: whether an empty recording is saved as a cassette.
  /// - Returns: the report.
  /// - Throws: a `CodedError` if the report is not available.
  func end(keepingEmptyRecording keepsEmptyRecording: Bool) async throws(CodedError) -> Report
}

/// The variables of a launched program, and arguments to append to its own.
struct LaunchParameters: Sendable {
  var variables: [String: String]
  var arguments: [String]
}

/// Changes to apply in one step. Clock moves are separate.
struct EnvironmentChange: Sendable {
  /// A merge patch (RFC 7396); nil removes a toggle.
  var toggles: [String: JSON?] = [:]
  /// A merge patch, like `toggles`.
  var values: [String: JSON?] = [:]
  var clock: Environment.ClockPatch?
  var mode: Mode?
}

/// An environment in this process.
struct EmbeddedBackend: EnvironmentBackend {
  private let environment: Environment
  /// Kept until the end, because a reservation ends with its value.
  private let reservations: [String: PortReservation]

  /// Provisions the environment.
  ///
  /// - Parameters:
  ///   - specification: the environment.
  ///   - ports: names of free ports.
  /// - Throws: a `CodedError`.
  init(_ specification: EnvironmentSpecification, ports: [String]) throws(CodedError) {
    var specification = specification
    var reservations: [String: PortReservation] = [:]
    for name in ports { reservations[name] = try PortReservation() }
    specification.ports = reservations.mapValues(\.port)
    self.reservations = reservations
    environment = try SharedService.service.get().provision(specification)
  }

  var mode: Mode { environment.mode }
  var cassette: String? { environment.specification.cassette?.har }
  var seed: String { environment.seed }
  var now: Date { environment.now }
  var notes: [String] { environment.notes }
  var ports: [String: Int] { reservations.mapValues { Int($0.port) } }
  var endpoints: [String: String] {
    environment.upstreams.reduce(into: [:]) { $0[$1.name] = environment.endpoint($1.name) }
  }

  func launchParameters(in folder: () throws(CodedError) -> String) throws -> LaunchParameters {
    let contract = environment.contract
    var parameters = LaunchParameters(variables: environment.variables, arguments: try contract.launchArguments())
    parameters.variables["DIORAMA_CONTRACT"] = try ContractWriter.deliver(contract, folder: try folder()).value
    return parameters
  }

  func refresh() {}

  func move(
    _ move: Environment.ClockMove, afterSleepers sleepers: Int?, timeout: Duration
  ) async throws(CodedError) -> (now: Date, woken: Int) {
    let moved = try await environment.moveClock(move, afterSleepers: sleepers, timeout: timeout)
    return (moved.now, moved.woken)
  }

  func update(_ change: EnvironmentChange, timeout: Duration) async throws(CodedError) {
    try await environment.update(
      toggles: change.toggles, values: change.values, clock: change.clock, mode: change.mode, timeout: timeout)
  }

  func end(keepingEmptyRecording keepsEmptyRecording: Bool) async -> Report {
    await environment.end(keepingEmptyRecording: keepsEmptyRecording).report
  }
}

/// The service for all environments of this process: one pool of server threads, one HTTP client.
enum SharedService {
  /// Created on first use; lives as long as the process.
  static let service = Result { () throws(CodedError) in
    OpenFiles.raiseLimit()
    return try EnvironmentService()
  }
}
