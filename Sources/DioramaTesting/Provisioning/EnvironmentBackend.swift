import Basics
import ControlAPI
import Foundation
package import HTTPMessages
import LaunchContract

/// An environment in this process or in a daemon.
protocol EnvironmentBackend: Sendable {
  /// The current mode; never `once`.
  var mode: TestEnvironment.Mode { get }
  /// The path of the cassette's HAR file.
  var cassette: String? { get }
  var seed: String { get }
  /// The local URLs by upstream name.
  var endpoints: [String: String] { get }
  var ports: [String: Int] { get }
  /// Resources of the fleet, with secrets.
  var resources: [String: LeasedResource] { get }
  /// Messages for the user from provisioning.
  var notes: [String] { get }

  /// The variables and arguments for launching a program.
  ///
  /// - Parameters:
  ///   - credentials: credentials to add to those of the configuration.
  ///   - folder: makes the folder for a contract that does not fit into a variable.
  /// - Returns: variables and arguments.
  /// - Throws: an error if the contract cannot be written.
  func launchParameters(
    adding credentials: [LaunchContract.Credentials.Item], in folder: () throws(CodedError) -> String
  ) throws -> LaunchParameters

  /// The contract for a program that starts now.
  var contract: LaunchContract { get }

  /// The environment's current time, including moves by other processes.
  var now: Date { get async throws(CodedError) }

  /// Fetches changes by other processes, for a program that is about to be launched.
  func refresh() async throws(CodedError)

  func move(
    _ move: ClockMove, afterSleepers sleepers: Int?, timeout: Duration
  ) async throws(CodedError) -> (now: Date, woken: Int)

  func update(_ change: EnvironmentChange, timeout: Duration) async throws(CodedError)

  /// Calls WireMock's admin API.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path below `/__admin`.
  ///   - body: the body; may be empty.
  /// - Returns: the status and the body of the answer.
  /// - Throws: a `CodedError` if the environment cannot be reached.
  func admin(_ method: String, _ path: String, _ body: [UInt8]) async throws(CodedError) -> (status: Int, body: [UInt8])

  /// How clients in the test reach the environment.
  ///
  /// - Throws: a `CodedError` if the environment has no main port.
  var route: ClientRoute { get throws(CodedError) }

  /// The journal entries after a number; the first has number 1.
  ///
  /// - Throws: a `CodedError` if the environment cannot be reached.
  func journalPage(after number: Int) async throws(CodedError) -> JournalPage

  /// Ends the environment.
  ///
  /// - Parameters:
  ///   - hasSucceeded: whether the test succeeded. If not, its recording does not become the cassette.
  ///   - expectsRequests: whether a test that succeeded without a request fails.
  /// - Returns: the report.
  /// - Throws: a `CodedError` if the report is not available.
  func end(hasSucceeded: Bool, expectsRequests: Bool) async throws(CodedError) -> Report
}

/// How clients in the test reach an environment.
package struct ClientRoute: Sendable {
  /// The URL of the main port, such as `http://127.0.0.1:20011`.
  package var main: String
  /// The environment's token, which the header field `Diorama-Client` needs.
  package var token: String
  /// Answers a request without a socket, if the environment is in this process. The request has a path as its target;
  /// the origin is that of its URL.
  package var call: (@Sendable (_ request: Request, _ origin: String) async throws -> Response)?
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
  var clock: Clock?
  var mode: TestEnvironment.Mode?
  /// Replaces all faults.
  var faults: [JSON]?

  /// Changed settings of the clock; nil keeps the current one.
  struct Clock: Sendable {
    var kind: LaunchContract.Clock.Kind?
    var start: Date?
    var rate: Double?
    var timeZone: String?
    var locale: String?
  }
}

/// A change of the time that the clock shows.
enum ClockMove: Sendable {
  case advance(Duration)
  case set(Date)
}

extension LaunchContract {
  /// The contract with more credentials.
  func adding(_ credentials: [Credentials.Item]) -> LaunchContract {
    guard !credentials.isEmpty else { return self }
    var contract = self
    var items = contract.credentials?.items ?? []
    for credential in credentials { items.add(credential) }
    contract.credentials = Credentials(items: items, faults: contract.credentials?.faults ?? [])
    return contract
  }
}

extension [LaunchContract.Credentials.Item] {
  /// Adds a credential, or replaces the one with the same service, account and group.
  mutating func add(_ credential: LaunchContract.Credentials.Item) {
    removeAll { ($0.service, $0.account, $0.group) == (credential.service, credential.account, credential.group) }
    append(credential)
  }
}
