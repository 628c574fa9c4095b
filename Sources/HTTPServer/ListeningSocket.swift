import Basics
import CMicroHTTPD

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A listening socket; its owner must close it exactly once.
struct ListeningSocket: Sendable {
  /// The address of the socket.
  enum Place: Sendable, Equatable, CustomStringConvertible {
    case port(UInt16)
    case path(String)

    /// 0 for a path.
    var port: UInt16 { if case .port(let port) = self { port } else { 0 } }
    var path: String? { if case .path(let path) = self { path } else { nil } }
    var description: String { path ?? "127.0.0.1 port \(port)" }
  }

  /// The maximum number of waiting connections; the system may have a lower limit.
  static let backlog: Int32 = 4096

  let descriptor: Int32
  let place: Place
  /// The socket file, if this process created it.
  let file: SocketFile?

  var isUnix: Bool { place.path != nil }

  /// Frees the port or removes the file.
  func close() {
    // Before the descriptor can be reused.
    file?.remove()
    Socket.close(descriptor)
  }

  /// Listens on 127.0.0.1.
  ///
  /// - Parameter port: the port; nil for a free one.
  /// - Returns: the socket.
  /// - Throws: ``CodedError`` if the port is in use or not permitted.
  static func onLoopback(port: UInt16?) throws(CodedError) -> ListeningSocket {
    try on("127.0.0.1", port: port)
  }

  /// Listens on an IPv4 address of this machine.
  ///
  /// - Parameters:
  ///   - host: the address, such as `192.0.2.1`; `0.0.0.0` for all.
  ///   - port: the port; nil for a free one.
  /// - Returns: the socket.
  /// - Throws: ``CodedError`` if the address is not this machine's, or the port is in use or not permitted.
  static func on(_ host: String, port: UInt16?) throws(CodedError) -> ListeningSocket {
    // While a socket does not listen, Linux reserves its port if the program chose it, but not if the kernel did
    // (SOCK_BINDPORT_LOCK). Another process may then take the port.
    guard let port else {
      while true {
        let chosen = try bound(to: nil, of: host)
        chosen.close()
        if let socket = try? bound(to: chosen.place.port, of: host) { return socket }
      }
    }
    return try bound(to: port, of: host)
  }

  private static func bound(to port: UInt16?, of host: String) throws(CodedError) -> ListeningSocket {
    let descriptor = try Socket.make(AF_INET, for: .init(port: port, of: host))
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = SocketAddress(port: port ?? 0, of: host)
    let isUp = address.withPointer { address, length in
      bind(descriptor, address, length) == 0 && listen(descriptor, backlog) == 0
        && getsockname(descriptor, address, &length) == 0
    }
    guard isUp, let bound = address.port else {
      throw Socket.closing(descriptor, SocketFailure(port: port, of: host).error("cannot listen"))
    }
    return ListeningSocket(descriptor: descriptor, place: .port(bound), file: nil)
  }

  /// Listens on a Unix socket that only this user can reach.
  ///
  /// Replaces a file that no process listens on any more. If two processes do this at the same moment, the later one
  /// wins; callers that must exclude this hold a lock of the folder.
  ///
  /// - Parameter path: at most ``SocketAddress/longestPath`` bytes.
  /// - Returns: the socket.
  /// - Throws: ``CodedError`` if the path is too long, in use or not permitted.
  static func onPath(_ path: String) throws(CodedError) -> ListeningSocket {
    try SocketFile.check(path)
    try SocketFile.makeRoom(at: path)
    let descriptor = try Socket.make(AF_UNIX, for: .init(path: path))
    // unix(7): the file gets the socket's own mode. So others can never connect, and the process's umask, which
    // other threads use too, is not changed.
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
  /// - Parameter descriptor: a listening socket on a loopback address or a Unix path; remains the caller's if this
  ///   throws.
  /// - Returns: the socket.
  /// - Throws: ``CodedError`` if the socket is unsuitable.
  static func inherited(_ descriptor: Int32) throws(CodedError) -> ListeningSocket {
    func error(_ what: String) -> CodedError {
      CodedError(
        what, at: "inherited descriptor \(descriptor)",
        next: "pass a listening stream socket on 127.0.0.1, [::1] or a Unix path, and check the socket unit")
    }
    guard Socket.option(SO_ACCEPTCONN, of: descriptor) == 1 else { throw error("not a listening socket") }
    guard Socket.option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue) else {
      throw error("not a stream socket")
    }
    var address = SocketAddress()
    guard address.withPointer({ getsockname(descriptor, $0, &$1) }) == 0 else {
      throw error("the socket has no address")
    }
    guard let place = address.path.map(Place.path) ?? address.loopbackPort.map(Place.port) else {
      throw error("the socket can be reached from other machines")
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    return ListeningSocket(descriptor: descriptor, place: place, file: nil)
  }
}

/// The file of a Unix socket.
struct SocketFile: Sendable {
  private let path: String
  private let device: dev_t
  private let inode: ino_t

  /// Identifies the file just created at `path`.
  init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  /// Removes the file, unless it has been replaced.
  func remove() {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
    unlink(path)
  }

  /// Rejects paths that the system would truncate or misread.
  static func check(_ path: String) throws(CodedError) {
    let count = path.utf8.count
    guard count > 0, !path.utf8.contains(0) else {
      throw CodedError("not a path for a Unix socket", at: "'\(path)'", next: "pass the path of a file")
    }
    guard count <= SocketAddress.longestPath else {
      throw CodedError(
        "a Unix socket's path has at most \(SocketAddress.longestPath) bytes, and this one has \(count)",
        at: path, next: "choose a folder with a shorter path")
    }
  }

  /// Removes the file of a socket on which no process listens.
  static func makeRoom(at path: String) throws(CodedError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw CodedError(
        "a file that is not a socket exists", at: path, next: "move it away or choose another path")
    }
    let probe = try Socket.make(AF_UNIX, for: .init(path: path))
    defer { Socket.close(probe) }
    var address = SocketAddress(path: path)
    let isAnswered = address.withPointer { connect(probe, $0, $1) } == 0
    // EAGAIN: the backlog is full, so a process is listening.
    guard !isAnswered, errno != EAGAIN else {
      throw CodedError(
        "another process listens on this path", at: path,
        next: "stop it ('ss -lxp' shows it) or choose another path")
    }
    guard errno == ECONNREFUSED || errno == ENOENT else {
      throw SocketFailure(path: path).error("cannot check whether a process listens here")
    }
    unlink(path)
  }
}

/// Describes a socket error, using `errno` at the time it is created.
struct SocketFailure {
  private let location: String
  private let isPath: Bool
  private let isAnyPort: Bool
  private let code = errno

  init(port: UInt16?, of host: String = "127.0.0.1") {
    location = port.map { "\(host) port \($0)" } ?? "\(host), any port"
    isPath = false
    isAnyPort = port == nil
  }

  init(path: String) {
    location = path
    isPath = true
    isAnyPort = false
  }

  func error(_ what: String) -> CodedError {
    CodedError("\(what): \(String(cString: strerror(code)))", at: location, next: next)
  }

  private var next: String {
    switch code {
    case EMFILE, ENFILE: "raise the limit of open files ('ulimit -n')"
    case ENOENT, ENOTDIR: "create the folder first"
    case _ where isPath: "choose a path in a folder that you own"
    case EADDRINUSE where isAnyPort: "all ports are in use; stop programs that hold some"
    case EADDRINUSE: "stop the program that uses this port ('ss -ltnp' shows it) or choose another port"
    case EADDRNOTAVAIL: "give an address of this machine ('ip address' lists them)"
    case EACCES: "choose a port above 1023, or run with the privilege to use it"
    default: "try another port"
    }
  }
}
