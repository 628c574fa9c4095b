import ChildProcesses
import ControlAPI
import HTTPMessages
import HTTPServer
import LaunchContract

/// Where the control API listens: a loopback port and a Unix socket, on a server of its own, so that nothing that
/// environments serve keeps anybody from asking.
final class ControlListeners: Sendable {
  /// The loopback port, once it is known.
  let port: UInt16
  /// Path of the Unix socket; empty where there is none.
  let socket: String
  private let server: HTTPServer
  private let reserved: Guarded<ReservedListener?>
  private let sockets: ActivatedSockets
  private let log: Log

  /// Takes the port: who connects from now on waits until ``open(_:)``.
  ///
  /// - Parameters:
  ///   - options: the daemon's.
  ///   - files: where the last daemon was, and where the Unix socket goes.
  ///   - log: is told what could not be kept.
  /// - Throws: ``ServerError`` when the port that was asked for is taken, or the system has no threads or descriptors.
  init(_ options: Daemon.Options, files: ControlFiles, log: Log) throws {
    var configuration = HTTPServer.Configuration()
    configuration.maximumConnections = OpenFiles.controlConnections
    configuration.bodyLimit = options.configuration.limits.bodyBytes
    server = try HTTPServer(configuration)
    sockets = options.sockets
    self.log = log
    socket = options.sockets.socket.map { ActivatedSockets.path(of: $0) ?? "" } ?? files.socket
    if let descriptor = options.sockets.control {
      port = ActivatedSockets.port(of: descriptor) ?? 0
      reserved = Guarded(nil)
      return
    }
    let listener = try Self.reserve(server, wanted: options.configuration.control.port, last: files.lastPort, log)
    port = listener.port
    reserved = Guarded(listener)
  }

  /// The one that is asked for, or else the one that clients may still know, or else any.
  private static func reserve(
    _ server: HTTPServer, wanted: UInt16?, last: UInt16?, _ log: Log
  ) throws -> ReservedListener {
    if let wanted { return try server.reserve(wanted) }
    guard let last else { return try server.reserve() }
    do {
      return try server.reserve(last)
    } catch {
      log.warning("the control port has changed: another program has the old one", ["port": .int(Int(last))])
      return try server.reserve()
    }
  }

  /// Answers from now on.
  ///
  /// - Throws: ``ServerError`` when the Unix socket cannot be made.
  func open(_ control: ControlServer) throws {
    if let descriptor = sockets.socket {
      try server.listen(descriptor: descriptor, handler: control.handler(.unixSocket))
    } else {
      try server.listen(onUnixSocket: socket, handler: control.handler(.unixSocket))
    }
    let handler = control.handler(.loopback(port: port))
    if let descriptor = sockets.control {
      try server.listen(descriptor: descriptor, handler: handler)
    } else {
      try reserved.withLock { $0.take() }?.serve(handler: handler)
    }
  }

  /// Running requests finish, then nobody is answered any more.
  func close(grace: Duration = .seconds(5)) async {
    reserved.withLock { $0.take() }?.close()
    await server.stop(grace: grace)
  }
}
