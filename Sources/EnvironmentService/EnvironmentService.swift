package import Basics
import Cassettes
import Foundation
import HTTPMessages
package import HTTPServer
import LaunchContract

/// Provisions environments and holds what they share: one server pool, one client, the cassettes that several replay.
package final class EnvironmentService: Sendable {
  private let server: HTTPServer
  /// Whether somebody else stops it.
  private let isServerShared: Bool
  private let client = UpstreamClient()
  private let cache: CassetteCache

  /// - Parameter threads: server threads; nil for as many as there are processors, at most four.
  /// - Throws: a ``CodedError`` when the system gives no threads or descriptors.
  package init(threads: Int? = nil) throws(CodedError) {
    var configuration = HTTPServer.Configuration()
    if let threads { configuration.threads = threads }
    do {
      server = try HTTPServer(configuration)
      isServerShared = false
      cache = CassetteCache()
    } catch {
      throw CodedError(.inputOutput, "\(error)")
    }
  }

  /// - Parameter server: where environments listen; whoever made it stops it.
  package convenience init(server: HTTPServer) { self.init(server: server, cache: CassetteCache()) }

  init(server: HTTPServer, cache: CassetteCache) {
    self.server = server
    self.cache = cache
    isServerShared = true
  }

  /// Makes an environment: opens the cassette, leases the endpoints' ports, starts the timeline.
  ///
  /// - Parameters:
  ///   - specification: what the test asks for.
  ///   - hooks: what a daemon adds.
  ///   - snapshot: an environment that is to go on after its process was killed, with the snapshot's own specification,
  ///     id and token.
  /// - Returns: the environment, which answers from now on.
  /// - Throws: a ``CodedError``; nothing is left behind then, but for the recording of one that was to go on.
  package func provision(
    _ specification: EnvironmentSpecification, hooks: EnvironmentHooks = EnvironmentHooks(),
    restoring snapshot: EnvironmentSnapshot? = nil
  ) throws(CodedError) -> Environment {
    if let snapshot { return try make(Provisioning.plan(restoring: snapshot, cache: cache), hooks) }
    return try make(Provisioning.plan(specification, hooks: hooks, cache: cache), hooks)
  }

  private func make(_ plan: Environment.Plan, _ hooks: EnvironmentHooks) throws(CodedError) -> Environment {
    var plan = plan
    do throws(CodedError) {
      if let path = plan.specification.journalFile { plan.state.journalFile = try JournalFile(path) }
      return try Environment(
        plan, hooks: hooks, listen: hooks.listen ?? { [server] in try server.listen(handler: $0) },
        client: plan.mode.mayReachNetwork ? client : nil)
    } catch {
      if plan.isRestored { plan.recorder?.release() } else { plan.recorder?.discard() }
      throw error
    }
  }

  /// Ends the server once running requests are through, and the client.
  package func stop(grace: Duration = .seconds(5)) async {
    if !isServerShared { await server.stop(grace: grace) }
    client.shutdown()
  }
}
