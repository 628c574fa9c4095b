import ControlAPI
import HTTPMessages
package import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The control API of one daemon: what all its listeners share.
///
/// ```swift
/// let server = ControlServer(manager, token: token, version: "1.0")
/// try server.listen(onUnixSocket: path, handler: server.handler(.unixSocket))
/// let reserved = try server.reserve()
/// try reserved.serve(handler: server.handler(.loopback(port: reserved.port)))
/// …
/// server.close()
/// ```
package final class ControlServer: Sendable {
  /// The most bytes of a request's body, where nothing else is said.
  package static let bodyLimit = 8 << 20
  /// How often a stream of events that has nothing to say says so, for middle men who cut silent connections.
  package static let keepAlive = Duration.seconds(15)

  let operations: any ControlOperations
  let token: Secret
  let health: Health
  let streams: EventStreams
  let calls = CallCounts()
  let bodyLimit: Int
  let keepAlive: Duration
  let report: @Sendable (String) -> Void
  private let isClosing = Guarded(false)

  /// - Parameters:
  ///   - operations: the manager.
  ///   - token: what a client over TCP has to show.
  ///   - version: the daemon's.
  ///   - bodyLimit: the most bytes of a request's body.
  ///   - keepAlive: how often a silent stream of events says that it is still there.
  ///   - report: told in one line of what went wrong in the daemon itself.
  package init(
    _ operations: any ControlOperations, token: Secret, version: String, bodyLimit: Int = ControlServer.bodyLimit,
    keepAlive: Duration = ControlServer.keepAlive, report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.operations = operations
    self.token = token
    health = Health(version: version, pid: getpid())
    streams = EventStreams()
    self.bodyLimit = bodyLimit
    self.keepAlive = keepAlive
    self.report = report
  }

  /// What answers at one listener.
  package func handler(_ way: AccessPolicy.Way) -> ControlHandler {
    ControlHandler(server: self, policy: AccessPolicy(way, token: token))
  }

  /// The daemon ends: who asks from now on is told so. Event streams go on to the end of their environments.
  package func refuse() { isClosing.withLock { $0 = true } }

  /// The same, and event streams end now, wherever they are.
  package func close() {
    refuse()
    streams.close()
  }

  var isClosed: Bool { isClosing.withLock { $0 } }
}
