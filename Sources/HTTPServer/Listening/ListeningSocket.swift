import CMicroHTTPD

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A socket at which connections wait to be accepted; whoever holds it closes it, once.
struct ListeningSocket: Sendable {
  /// Where clients reach it.
  enum Place: Sendable, Equatable, CustomStringConvertible {
    case port(UInt16)
    case path(String)

    /// 0 for a path.
    var port: UInt16 { if case .port(let port) = self { port } else { 0 } }
    var path: String? { if case .path(let path) = self { path } else { nil } }
    var description: String { path ?? "127.0.0.1 port \(port)" }
  }

  /// Connections that may wait; the system may have a lower limit.
  private static let backlog: Int32 = 4096

  let descriptor: Int32
  let place: Place
  /// What this process has put into the file system for it.
  let file: SocketFile?

  var isUnix: Bool { place.path != nil }

  /// Frees the port, or takes the file away.
  func close() {
    // Before its number can stand for another file.
    file?.remove()
    Socket.close(descriptor)
  }

  /// Listens on 127.0.0.1.
  ///
  /// - Parameter port: nil takes a free one.
  /// - Returns: the socket.
  /// - Throws: ``ServerError`` when the port is taken or may not be used.
  static func onLoopback(port: UInt16?) throws(ServerError) -> ListeningSocket {
    let descriptor = try Socket.make(AF_INET, for: .init(port: port))
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = SocketAddress(port: port ?? 0)
    let isUp = address.withPointer { address, length in
      bind(descriptor, address, length) == 0 && listen(descriptor, backlog) == 0
        && getsockname(descriptor, address, &length) == 0
    }
    guard isUp, let bound = address.loopbackPort else {
      throw Socket.closing(descriptor, SocketFailure(port: port).error("cannot listen"))
    }
    return ListeningSocket(descriptor: descriptor, place: .port(bound), file: nil)
  }

  /// Listens on a Unix socket that only this user can reach.
  ///
  /// A file that a process left behind is replaced; one on which somebody answers is not. Of two processes that do
  /// this at the very same moment the later one wins: who must be sure holds a lock of the folder.
  ///
  /// - Parameter path: at most ``SocketAddress/longestPath`` bytes.
  /// - Returns: the socket.
  /// - Throws: ``ServerError`` when the path is too long, taken, or may not be used.
  static func onPath(_ path: String) throws(ServerError) -> ListeningSocket {
    try SocketFile.check(path)
    try SocketFile.makeRoom(at: path)
    let descriptor = try Socket.make(AF_UNIX, for: .init(path: path))
    // unix(7): the file gets the socket's own mode. So there is no moment at which others can connect, and the
    // process's umask, which other threads use too, stays as it is.
    fchmod(descriptor, 0o600)
    var address = SocketAddress(path: path)
    guard address.withPointer({ bind(descriptor, $0, $1) }) == 0 else {
      throw Socket.closing(descriptor, SocketFailure(path: path).error("cannot make the socket"))
    }
    guard let file = SocketFile(at: path), chmod(path, 0o600) == 0, listen(descriptor, backlog) == 0 else {
      let error = SocketFailure(path: path).error("cannot listen")
      unlink(path)
      throw Socket.closing(descriptor, error)
    }
    return ListeningSocket(descriptor: descriptor, place: .path(path), file: file)
  }

  /// Takes over a socket that another process has bound.
  ///
  /// - Parameter descriptor: listens on a loopback address or is a Unix socket; it stays the caller's when this throws.
  /// - Returns: the socket.
  /// - Throws: ``ServerError`` when it is no such socket.
  static func inherited(_ descriptor: Int32) throws(ServerError) -> ListeningSocket {
    func error(_ what: String) -> ServerError {
      ServerError(
        what: what, where: "inherited descriptor \(descriptor)",
        next: "pass a listening stream socket on 127.0.0.1, [::1] or a Unix path, and check the socket unit")
    }
    guard Socket.option(SO_ACCEPTCONN, of: descriptor) == 1 else { throw error("it is not a socket that listens") }
    guard Socket.option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue) else {
      throw error("it is not a stream socket")
    }
    var address = SocketAddress()
    guard address.withPointer({ getsockname(descriptor, $0, &$1) }) == 0 else { throw error("it has no address") }
    guard let place = address.path.map(Place.path) ?? address.loopbackPort.map(Place.port) else {
      throw error("it can be reached from other machines")
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    return ListeningSocket(descriptor: descriptor, place: place, file: nil)
  }
}
