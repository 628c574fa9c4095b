import ControlAPI
import HTTPMessages
package import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The control API of one daemon: what all its doors share.
///
/// ```swift
/// let surface = ControlSurface(host, token: token, version: "1.0")
/// try server.listen(onUnixSocket: path, handler: surface.door(.unixSocket))
/// let reserved = try server.reserve()
/// try reserved.serve(handler: surface.door(.loopback(port: reserved.port)))
/// …
/// surface.close()
/// ```
package final class ControlSurface: Sendable {
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
  ///   - operations: the host.
  ///   - token: what a client over TCP has to show.
  ///   - version: the daemon's.
  ///   - bodyLimit: the most bytes of a request's body.
  ///   - keepAlive: how often a silent stream of events says that it is still there.
  ///   - report: told in one line of what went wrong in the daemon itself.
  package init(
    _ operations: any ControlOperations, token: Secret, version: String, bodyLimit: Int = ControlSurface.bodyLimit,
    keepAlive: Duration = ControlSurface.keepAlive, report: @escaping @Sendable (String) -> Void = { _ in }
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
  package func door(_ way: Gate.Way) -> ControlDoor {
    ControlDoor(surface: self, gate: Gate(way, token: token))
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
