import CassetteChecks
import DaemonClient
import EnvironmentService
import Foundation
import HTTPMessages

/// How a command comes by a daemon.
struct DaemonAccess {
  /// For a command's own table.
  static let option = Options.Option(
    "--state", "DIR", "the daemon's state folder (default: DIORAMA_HOME, else the user's own)")

  private let home: DaemonHome

  init(_ options: Options) {
    home =
      options.value("--state").map(DaemonHome.init) ?? .standard(variables: ProcessInfo.processInfo.environment)
  }

  /// Calls a daemon, and waits for what it answers.
  ///
  /// - Parameters:
  ///   - starting: whether a daemon is started where none runs.
  ///   - work: what to ask it.
  /// - Returns: the answer.
  /// - Throws: `DaemonClientError`.
  func ask<Answer: Sendable>(
    starting: Bool = false, _ work: @escaping @Sendable (DaemonClient) async throws(DaemonClientError) -> Answer
  ) throws(DaemonClientError) -> Answer {
    let result = blocking { [home] () async -> Result<Answer, DaemonClientError> in
      do throws(DaemonClientError) {
        let client =
          starting
          ? try await DaemonStarter(home: home, program: Self.ownPath).connect()
          : try await DaemonClient.connect(to: home)
        return .success(try await work(client))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// This command itself.
  private static var ownPath: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }
}

extension DaemonClientError {
  /// The command's exit status.
  var exitStatus: Int32 {
    guard case .refused(let status, let problem) = kind else { return EnvironmentError.Kind.noUpstream.rawValue }
    if let kind = problem.flatMap(EnvironmentError.Kind.init(name:)) { return kind.rawValue }
    let kind: EnvironmentError.Kind =
      switch status {
      case 400, 413, 422: .usage
      case 404, 410: .noCassette
      case 500: .inputOutput
      default: .noUpstream
      }
    return kind.rawValue
  }
}
