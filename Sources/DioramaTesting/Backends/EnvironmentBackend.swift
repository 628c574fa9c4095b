import EnvironmentService
import Foundation
import LaunchContract

/// Where a test's environment lives: in this process or in a daemon. All that a test does with it goes through here, so
/// that it reads the same either way.
protocol EnvironmentBackend: Sendable {
  /// The mode in force; never `once`.
  var mode: Mode { get }
  /// The path of the cassette's HAR.
  var cassette: String? { get }
  var seed: String { get }
  /// The local URLs by upstream.
  var endpoints: [String: String] { get }
  var ports: [String: Int] { get }
  /// Lines for the user about what provisioning found.
  var notes: [String] { get }

  /// What a program needs to live in it.
  ///
  /// - Parameter folder: makes the folder for a contract that does not fit into a variable.
  /// - Returns: variables and arguments.
  /// - Throws: when the contract cannot be written.
  func handover(in folder: () throws(EnvironmentError) -> String) throws -> Handover

  /// What the environment's clock shows, whoever has moved it.
  var now: Date { get async throws(EnvironmentError) }

  /// Learns what others have changed, so that a program that starts now is handed all of it.
  func refresh() async throws(EnvironmentError)

  func move(
    _ move: Environment.ClockMove, afterSleepers sleepers: Int?, timeout: Duration
  ) async throws(EnvironmentError) -> (now: Date, woken: Int)

  func update(_ change: EnvironmentChange, timeout: Duration) async throws(EnvironmentError)

  /// Ends it.
  ///
  /// - Parameter keepsEmptyRecording: whether a recording of nothing at all becomes a cassette.
  /// - Returns: the report.
  /// - Throws: an `EnvironmentError` where there is none to be had.
  func end(keepingEmptyRecording keepsEmptyRecording: Bool) async throws(EnvironmentError) -> Report
}

/// What a program needs to live in an environment: variables, and arguments behind its own.
struct Handover: Sendable {
  var variables: [String: String]
  var arguments: [String]
}

/// A change of anything but the hands of the clock, all in one step.
struct EnvironmentChange: Sendable {
  /// A merge patch (RFC 7396); nil takes a toggle away.
  var toggles: [String: ContractValue?] = [:]
  /// Likewise.
  var values: [String: ContractValue?] = [:]
  var clock: Environment.ClockPatch?
  var mode: Mode?
}
