import CMicroHTTPD

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Calls on sockets, none of which waits or raises SIGPIPE.
enum Socket {
  /// A socket that listens on 127.0.0.1, and its port.
  ///
  /// - Parameter port: nil takes a free one.
  /// - Returns: the descriptor, which the caller closes, and the port.
  /// - Throws: ``ServerError`` when the port is taken or may not be used.
  static func listen(on port: UInt16?) throws(ServerError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw failure("cannot make a socket", on: port) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = (port ?? 0).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isUp = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, 4096) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard isUp else {
      let error = failure("cannot listen", on: port)
      close(descriptor)
      throw error
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func failure(_ what: String, on port: UInt16?) -> ServerError {
    let code = errno
    let location = port.map { "127.0.0.1 port \($0)" } ?? "127.0.0.1, any port"
    let next =
      switch code {
      case EADDRINUSE where port != nil:
        "stop the program that has this port ('ss -ltnp' names it) or choose another port"
      case EADDRINUSE: "all ports are taken: end programs that hold some"
      case EACCES: "choose a port from 1024 up, or run with the right to use it"
      case EMFILE, ENFILE: "raise the limit of open files ('ulimit -n')"
      default: "try another port"
      }
    return ServerError(what: "\(what): \(String(cString: strerror(code)))", where: location, next: next)
  }

  /// The peer's next bytes will not be read: whoever reads sees the end.
  static func endReading(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RD)) }

  /// Ends both directions; whoever waits for the socket wakes up.
  static func end(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Ends the connection with a reset: the peer must not take it for an orderly end.
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
