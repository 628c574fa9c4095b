package import Basics
import Cassettes
import Foundation
import HTTPMessages
package import HTTPServer
import LaunchContract

/// Provisions environments and holds what they share: the server, the upstream client and the open cassettes.
package final class EnvironmentService: Sendable {
  /// Serves the endpoints, and may serve further connections to environments.
  package let server: HTTPServer
  /// Whether the server belongs to the caller, which stops it.
  private let isServerShared: Bool
  private let client = UpstreamClient()
  private let cache: CassetteCache

  /// - Parameter configuration: the limits of the server for all endpoints.
  /// - Throws: a ``CodedError`` if the system refuses threads or descriptors.
  package init(_ configuration: HTTPServer.Configuration = HTTPServer.Configuration()) throws(CodedError) {
    server = try CodedError.translating(to: .inputOutput, try HTTPServer(configuration))
    isServerShared = false
    cache = CassetteCache()
  }

  /// - Parameter server: where environments listen. The caller stops it.
  package convenience init(server: HTTPServer) { self.init(server: server, cache: CassetteCache()) }

  init(server: HTTPServer, cache: CassetteCache) {
    self.server = server
    self.cache = cache
    isServerShared = true
  }

  /// Provisions an environment: opens the cassette, reserves the endpoints' ports and starts the timeline.
  ///
  /// - Parameters:
  ///   - specification: the requested environment.
  ///   - hooks: the daemon's hooks; the default has none.
  ///   - snapshot: the snapshot of an environment to restore after its process was killed; its specification, id and
  ///     token apply.
  /// - Returns: the environment, which already serves requests.
  /// - Throws: a ``CodedError``. Nothing is left behind then, except the partial recording of a restored
  ///   environment.
  package func provision(
    _ specification: EnvironmentSpecification, hooks: EnvironmentHooks = EnvironmentHooks(),
    restoring snapshot: EnvironmentSnapshot? = nil
  ) throws(CodedError) -> Environment {
    if let snapshot { return try make(Provisioning.plan(restoring: snapshot, cache: cache), hooks) }
    return try make(Provisioning.plan(specification, hooks: hooks, cache: cache), hooks)
  }

  private func make(_ plan: Environment.Plan, _ hooks: EnvironmentHooks) throws(CodedError) -> Environment {
    var plan = plan
    do {
      if let path = plan.specification.journalFile { plan.state.journalFile = try JournalFile(path) }
      let fixed = plan.specification.endpointPorts ?? [:]
      let ports = [plan.specification.mainPort] + plan.upstreams.map { fixed[$0.name] }
      // Fixed ports first, so that no other endpoint takes one of them.
      var reserved = [ReservedListener?](repeating: nil, count: ports.count)
      for index in ports.indices.filter({ ports[$0] != nil }) + ports.indices.filter({ ports[$0] == nil }) {
        reserved[index] = try hooks.reserve?(ports[index]) ?? server.reserve(ports[index])
      }
      return try Environment(
        plan, hooks: hooks, reserved: reserved.compactMap(\.self), server: server,
        client: plan.mode.mayReachNetwork ? client : nil,
        stubClient: client)
    } catch {
      if plan.isRestored { plan.recorder?.release() } else { plan.recorder?.discard() }
      throw error as? CodedError ?? CodedError(.inputOutput, "\(error)")
    }
  }

  /// Lets running requests finish, then ends the server and the client. A shared server is left running.
  package func stop(grace: Duration = .seconds(5)) async {
    if !isServerShared { await server.stop(grace: grace) }
    client.shutdown()
  }
}
