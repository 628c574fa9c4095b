import Basics
import ChildProcesses
import ControlAPI
import HTTPMessages
import HTTPServer
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The listeners of the control API: a loopback port and a Unix socket. They have a server of their own, so that
/// traffic in environments can't block the control API.
final class ControlListeners: Sendable {
  /// The loopback port.
  let port: UInt16
  /// The path of the Unix socket; empty if there is none.
  let socket: String
  private let server: HTTPServer
  private let reserved: Guarded<ReservedListener?>
  private let sockets: ActivatedSockets
  private let log: Log

  /// Reserves the port. Clients that connect wait until ``open(_:)``.
  ///
  /// - Parameters:
  ///   - options: the daemon's options.
  ///   - files: the last daemon's port, and the path of the Unix socket.
  ///   - log: receives warnings.
  /// - Throws: ``CodedError`` if the configured port is taken, or the system is out of threads or descriptors.
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

  /// Reserves the configured port, or the last daemon's port, or any port.
  private static func reserve(
    _ server: HTTPServer, wanted: UInt16?, last: UInt16?, _ log: Log
  ) throws -> ReservedListener {
    if let wanted { return try server.reserve(wanted) }
    guard let last else { return try server.reserve() }
    do {
      return try server.reserve(last)
    } catch {
      log.warning("control port changed, since another program uses the old one", ["port": .int(Int(last))])
      return try server.reserve()
    }
  }

  /// Starts serving.
  ///
  /// - Throws: ``CodedError`` if the Unix socket can't be created.
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

  /// Completes running requests, then closes all connections.
  func close(grace: Duration = .seconds(5)) async {
    reserved.withLock { $0.take() }?.close()
    await server.stop(grace: grace)
  }
}

/// Listening sockets inherited from the parent process, such as systemd: `sd_listen_fds(3)`.
package struct ActivatedSockets: Sendable, Equatable {
  /// The control API's TCP socket.
  package var control: Int32?
  /// The control API's Unix socket.
  package var socket: Int32?
  /// Sockets that the daemon doesn't use.
  package var others: [Int32] = []

  package init() {}

  /// - Parameters:
  ///   - variables: the process's variables `LISTEN_FDS` and `LISTEN_PID`.
  ///   - pid: this process. Sockets meant for another process are ignored.
  ///   - family: returns the address family of a socket, nil if it isn't one. It decides the purpose of each socket;
  ///     names don't matter.
  package init(
    variables: [String: String], pid: Int32, family: (Int32) -> Int32? = ActivatedSockets.family(of:)
  ) {
    guard variables["LISTEN_PID"].flatMap(Int32.init) == pid, let count = variables["LISTEN_FDS"].flatMap(Int32.init),
      1...64 ~= count
    else { return }
    for index in 0..<count {
      let descriptor = 3 + index
      switch family(descriptor) {
      case AF_INET? where control == nil: control = descriptor
      case AF_UNIX? where socket == nil: socket = descriptor
      default: others.append(descriptor)
      }
    }
  }

  /// The address family of a socket.
  package static func family(of descriptor: Int32) -> Int32? { address(of: descriptor).map { Int32($0.ss_family) } }

  /// The port of an IPv4 socket.
  static func port(of descriptor: Int32) -> UInt16? {
    guard var address = address(of: descriptor), Int32(address.ss_family) == AF_INET else { return nil }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
  }

  /// The path of a Unix socket.
  static func path(of descriptor: Int32) -> String? {
    guard var address = address(of: descriptor), Int32(address.ss_family) == AF_UNIX else { return nil }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr_un.self, capacity: 1) { address in
        withUnsafeBytes(of: address.pointee.sun_path) { bytes in
          String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
      }
    }
  }

  private static func address(of descriptor: Int32) -> sockaddr_storage? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return result == 0 ? address : nil
  }
}
