import Cassettes
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract

/// Provisions environments and holds what they share: one server pool, one client.
package final class EnvironmentService: Sendable {
  private let server: HTTPServer
  private let client = UpstreamClient()

  /// - Parameter threads: server threads; nil for as many as there are processors, at most four.
  /// - Throws: an ``EnvironmentError`` when the system gives no threads or descriptors.
  package init(threads: Int? = nil) throws(EnvironmentError) {
    var configuration = HTTPServer.Configuration()
    if let threads { configuration.threads = threads }
    do {
      server = try HTTPServer(configuration)
    } catch {
      throw EnvironmentError(.inputOutput, "\(error)")
    }
  }

  /// Makes a world: opens the cassette, leases the endpoints' ports, starts the timeline.
  ///
  /// - Parameter specification: what the test asks for.
  /// - Returns: the environment, which answers from now on.
  /// - Throws: an ``EnvironmentError``; nothing is left behind then.
  package func provision(_ specification: EnvironmentSpecification) throws(EnvironmentError) -> Environment {
    var plan = try Provisioning.plan(specification)
    do throws(EnvironmentError) {
      if let path = specification.journalFile { plan.state.journalFile = try JournalFile(path) }
      return try Environment(
        plan, listen: { [server] in try server.listen(handler: $0) }, client: plan.mode.mayReachNetwork ? client : nil)
    } catch {
      plan.recorder?.discard()
      throw error
    }
  }

  /// Ends the server once running requests are through, and the client.
  package func stop(grace: Duration = .seconds(5)) async {
    await server.stop(grace: grace)
    client.shutdown()
  }
}
