package import Basics
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A server for HTTP/1.1, by libmicrohttpd, and for HTTP/2 with prior knowledge (RFC 9113, 3.3), by nghttp2: any number of
/// listening sockets, a pool of threads, and streaming in both directions without blocking a thread.
///
/// ```swift
/// let server = try HTTPServer()
/// let listener = try server.listen(handler: handler)  // a free port on 127.0.0.1
/// …
/// await server.stop()
/// ```
package final class HTTPServer: Sendable {
  let core: ServerCore

  /// Starts the threads, without listening.
  ///
  /// - Throws: ``CodedError`` if the system refuses threads or descriptors.
  package init(_ configuration: Configuration = .init()) throws {
    core = try ServerCore(configuration)
  }

  deinit {
    // A server dropped without stopping gets no grace period, but its threads still end.
    let core = core
    Task { await core.stop(grace: .zero) }
  }

  /// Stops the server: refuses new connections, closes idle ones and lets running requests finish.
  ///
  /// Requests that still run after `grace` are cancelled and their connections cut. When this returns, all connections,
  /// threads and descriptors are gone. Further calls wait for the same stop.
  ///
  /// - Parameter grace: the time for running requests to finish.
  package func stop(grace: Duration = .seconds(5)) async {
    await core.stop(grace: grace)
  }
}

extension HTTPServer {
  /// Accepts connections on 127.0.0.1.
  ///
  /// - Parameters:
  ///   - port: the port; nil for a free one.
  ///   - handler: answers the requests.
  /// - Returns: the listener, which you need not keep.
  /// - Throws: ``CodedError`` if the port is in use or the server has stopped.
  @discardableResult
  package func listen(on port: UInt16? = nil, handler: any RequestHandler) throws -> Listener {
    try core.serve(ListeningSocket.onLoopback(port: port), handler: handler)
  }

  /// Accepts connections on a Unix socket accessible to this user (and root) only: the file's mode is 0600.
  ///
  /// Replaces the file of a process that was killed. ``Listener/close()`` and ``stop(grace:)`` remove the file.
  /// ``Request/peer`` identifies the client process.
  ///
  /// - Parameters:
  ///   - path: at most 107 bytes (103 on Apple platforms).
  ///   - handler: answers the requests.
  /// - Returns: the listener, which you need not keep.
  /// - Throws: ``CodedError`` if the path is too long or not usable, if another process listens on it, or if the
  ///   server has stopped.
  @discardableResult
  package func listen(onUnixSocket path: String, handler: any RequestHandler) throws -> Listener {
    try core.serve(ListeningSocket.onPath(path), handler: handler)
  }

  /// Accepts connections on a socket that is already listening, such as one passed by systemd.
  ///
  /// - Parameters:
  ///   - descriptor: a listening stream socket on a loopback address or a Unix path. The server takes ownership, unless
  ///     it throws because the socket is unsuitable. The file of a Unix socket is not removed.
  ///   - handler: answers the requests.
  /// - Returns: the listener, which you need not keep.
  /// - Throws: ``CodedError`` if the socket is unsuitable or the server has stopped.
  @discardableResult
  package func listen(descriptor: Int32, handler: any RequestHandler) throws -> Listener {
    try core.serve(ListeningSocket.inherited(descriptor), handler: handler)
  }

  /// Reserves a port on 127.0.0.1, or on another IPv4 address of this machine. Connections to it wait until they are
  /// served.
  ///
  /// - Parameters:
  ///   - port: the port; nil for a free one.
  ///   - host: the address; `0.0.0.0` for all.
  /// - Returns: the reserved port, which you must keep.
  /// - Throws: ``CodedError`` if the port is in use.
  package func reserve(_ port: UInt16? = nil, on host: String = "127.0.0.1") throws -> ReservedListener {
    ReservedListener(try .on(host, port: port), core: core)
  }

  /// Opens a listening socket on an IPv4 address of this machine, for something else than this server to accept on.
  ///
  /// - Parameters:
  ///   - host: the address; `0.0.0.0` for all.
  ///   - port: the port; nil for a free one.
  /// - Returns: the descriptor, which the caller owns, and the port.
  /// - Throws: ``CodedError`` if the port is in use.
  package static func socket(on host: String, port: UInt16?) throws(CodedError) -> (descriptor: Int32, port: UInt16) {
    let socket = try ListeningSocket.on(host, port: port)
    return (socket.descriptor, socket.place.port)
  }
}

extension HTTPServer {
  /// Limits and timeouts of a server. The defaults suit a server on a loopback address.
  package struct Configuration: Sendable {
    /// The number of threads that serve requests.
    package var threads: Int
    /// The maximum number of connections. Further ones wait in the listener's backlog.
    package var maximumConnections: Int
    /// The maximum size of a request head in bytes. A larger head gets a 431, or a 414 if the request line alone is
    /// larger.
    ///
    /// Each connection that has had a request holds about this much memory.
    package var headerLimit: Int
    /// The maximum size of a request body in bytes; a larger one gets a 413.
    package var bodyLimit: Int
    /// Seconds after which an inactive connection is closed, unless it waits for its handler.
    package var idleSeconds: Int
    /// Seconds in which a complete request head must arrive, from connecting or from the first bytes after a response.
    ///
    /// Protects against clients that hold connections by sending slowly.
    package var headSeconds: Int

    package init(
      threads: Int = Self.defaultThreads, maximumConnections: Int = 4096, headerLimit: Int = 32_768,
      bodyLimit: Int = 8 << 30, idleSeconds: Int = 75, headSeconds: Int = 20
    ) {
      self.threads = max(1, threads)
      self.maximumConnections = max(1, maximumConnections)
      self.headerLimit = max(1024, headerLimit)
      self.bodyLimit = max(0, bodyLimit)
      self.idleSeconds = max(1, idleSeconds)
      self.headSeconds = max(1, headSeconds)
    }

    /// One thread per online processor, at most four.
    package static var defaultThreads: Int { max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4)) }

    /// The memory of a connection in libmicrohttpd, in bytes.
    ///
    /// It holds the request head, an index of its fields, and then the response head too. It exceeds the limit so that
    /// a response still fits after a request head of the maximum size.
    var poolSize: Int { headerLimit + max(4096, headerLimit / 4) }
  }
}

/// A port on 127.0.0.1 or a Unix socket on which a server accepts connections.
///
/// It listens until ``close()`` or until the server stops, even if this value is dropped.
package final class Listener: Sendable {
  /// The port; 0 for a Unix socket.
  package let port: UInt16
  /// The path of a Unix socket (abstract names begin with `@`); nil for a TCP port.
  package let path: String?
  private let id: UInt32
  private let core: ServerCore

  init(place: ListeningSocket.Place, id: UInt32, core: ServerCore) {
    port = place.port
    path = place.path
    self.id = id
    self.core = core
  }

  /// Refuses new connections, like a port without a listener, or accepts them again. The port stays reserved, and
  /// accepted connections stay open. Works on Linux.
  ///
  /// - Parameter isRefusing: whether to refuse connections.
  /// - Returns: false if the port is lost to another program.
  package func setRefusing(_ isRefusing: Bool) -> Bool { core.setRefusing(isRefusing, id) }

  /// Stops accepting connections, and frees the port or removes the socket file.
  ///
  /// Accepted connections stay open. Closing again has no effect.
  package func close() {
    core.closeListener(id)
  }
}

/// A reserved port on 127.0.0.1: clients can connect, and wait until they are served.
///
/// ```swift
/// let reserved = try server.reserve(20_011)  // no other process can take the port now
/// …                                          // prepare what the handler needs
/// try reserved.serve(handler: handler)
/// ```
/// Dropping it before ``serve(handler:)`` frees the port.
package final class ReservedListener: Sendable {
  /// The port.
  package let port: UInt16
  private let core: ServerCore
  private let socket: Guarded<ListeningSocket?>

  init(_ socket: ListeningSocket, core: ServerCore) {
    port = socket.place.port
    self.core = core
    self.socket = Guarded(socket)
  }

  deinit { close() }

  /// Starts serving waiting and new connections.
  ///
  /// - Parameter handler: answers the requests.
  /// - Returns: the listener, which you need not keep.
  /// - Throws: ``CodedError`` if the port was already served or closed, or if the server has stopped; the port is then
  ///   free.
  @discardableResult
  package func serve(handler: any RequestHandler) throws -> Listener {
    guard let socket = socket.withLock({ $0.take() }) else {
      throw CodedError(
        "the reserved port is already served or closed", at: "127.0.0.1 port \(port)", next: "reserve it again"
      )
    }
    return try core.serve(socket, handler: handler)
  }

  /// Frees the port and refuses waiting connections.
  ///
  /// Has no effect after ``serve(handler:)`` or when called again.
  package func close() {
    socket.withLock { $0.take() }?.close()
  }
}

extension CodedError {
  /// An error of the server.
  ///
  /// - Parameters:
  ///   - what: what happened.
  ///   - place: where it happened, such as a port or a header field.
  ///   - next: what to do about it.
  package init(_ what: String, at place: String, next: String) {
    self.init(.inputOutput, "\(what); \(next)", at: place)
  }
}
