import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation
import HTTPMessages

/// The daemons that this process uses: one client for each, however many tests there are.
enum SharedDaemons {
  private static let clients = Guarded<[String: DaemonClient]>([:])

  /// Makes an environment.
  ///
  /// - Parameters:
  ///   - request: the environment.
  ///   - home: the daemon's state folder; one is started where none runs.
  /// - Returns: the environment, and the client by which it is reached.
  /// - Throws: an `EnvironmentError`.
  static func provision(
    _ request: ProvisioningRequest, home: DaemonHome
  ) async throws(EnvironmentError) -> (DaemonClient, ProvisionedEnvironment) {
    do throws(DaemonClientError) {
      if let client = clients.withLock({ $0[home.folder] }) {
        do throws(DaemonClientError) {
          return (client, try await client.provision(request))
        } catch {
          // It may have left since, having had nothing to do.
          guard error.kind == .dead else { throw error }
        }
      }
      let new = try await DaemonStarter(home: home, program: program).connect()
      clients.withLock { $0[home.folder] = new }
      return (new, try await new.provision(request))
    } catch {
      throw EnvironmentError(error)
    }
  }

  /// The command, beside the tests or in PATH; nil where there is none, so that no daemon can be started.
  private static var program: String? {
    try? Executable.find("diorama", path: ProcessInfo.processInfo.environment["PATH"])
  }
}
