import Transforms
import EnvironmentService
import Foundation
import LaunchContract
import PortLeases

/// An environment in this process.
struct EmbeddedBackend: EnvironmentBackend {
  private let environment: Environment
  /// Kept to the end: a port is ours as long as its value lives.
  private let reservations: [String: PortReservation]

  /// Provisions it.
  ///
  /// - Parameters:
  ///   - specification: the environment.
  ///   - ports: names of free ports.
  /// - Throws: an `EnvironmentError`.
  init(_ specification: EnvironmentSpecification, ports: [String]) throws(EnvironmentError) {
    var specification = specification
    var reservations: [String: PortReservation] = [:]
    do throws(PortUnavailable) {
      for name in ports { reservations[name] = try PortReservation() }
    } catch {
      throw EnvironmentError(.inputOutput, "\(error)")
    }
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

  func handover(in folder: () throws(EnvironmentError) -> String) throws -> Handover {
    let contract = environment.contract
    var handover = Handover(variables: environment.variables, arguments: try contract.launchArguments())
    handover.variables["DIORAMA_CONTRACT"] = try ContractWriter.deliver(contract, folder: try folder()).value
    return handover
  }

  func refresh() {}

  func move(
    _ move: Environment.ClockMove, afterSleepers sleepers: Int?, timeout: Duration
  ) async throws(EnvironmentError) -> (now: Date, woken: Int) {
    let moved = try await environment.moveClock(move, afterSleepers: sleepers, timeout: timeout)
    return (moved.now, moved.woken)
  }

  func update(_ change: EnvironmentChange, timeout: Duration) async throws(EnvironmentError) {
    try await environment.update(
      toggles: change.toggles, values: change.values, clock: change.clock, mode: change.mode, timeout: timeout)
  }

  func end(keepingEmptyRecording keepsEmptyRecording: Bool) async -> Report {
    await environment.end(keepingEmptyRecording: keepsEmptyRecording).report
  }
}
