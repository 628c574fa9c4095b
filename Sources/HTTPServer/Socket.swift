import CMicroHTTPD
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Calls on sockets, none of which waits or raises SIGPIPE.
enum Socket {
  /// A stream socket that no child inherits.
  ///
  /// - Parameters:
  ///   - family: `AF_INET` or `AF_UNIX`.
  ///   - failure: names what it is for; evaluated after the failure.
  /// - Returns: the descriptor.
  /// - Throws: ``ServerError`` when there are no more descriptors.
  static func make(_ family: Int32, for failure: @autoclosure () -> SocketFailure) throws(ServerError) -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw failure().error("cannot make a socket") }
    return descriptor
  }

  /// Closes the socket of what could not be done.
  static func closing(_ descriptor: Int32, _ error: ServerError) -> ServerError {
    close(descriptor)
    return error
  }

  static func close(_ descriptor: Int32) { Glibc.close(descriptor) }

  /// How many descriptors this process may have (getrlimit(2)).
  static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int(clamping: limit.rlim_cur)
  }

  /// An option of the socket level; nil for what is no socket.
  static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }

  /// Who is at the other end of a Unix socket.
  static func peer(of descriptor: Int32) -> Peer? {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    return diorama_peer(descriptor, &pid, &uid) == 0 ? Peer(uid: uid, pid: pid) : nil
  }

  /// The peer's next bytes will not be read: whoever reads sees the end.
  static func endReading(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RD)) }

  /// Ends both directions; whoever waits for the socket wakes up.
  static func end(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Ends the connection with a reset: the peer must not take it for an orderly end.
  ///
  /// A Unix socket knows none.
  static func abort(_ descriptor: Int32) {
    // connect(2): "TCP sockets … may be dissolved by connecting to an address with sa_family AF_UNSPEC".
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
  }

  static func sendAndEndWriting(_ descriptor: Int32, _ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Reads what is there and drops it.
  ///
  /// - Returns: false once the peer has ended.
  static func drop(_ descriptor: Int32) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      // A bound, since the caller has others to serve; what is left is told again.
      for _ in 0..<16 {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { continue }
        return count < 0 && (errno == EAGAIN || errno == EINTR)
      }
      return true
    }
  }
}
