import Basics
import CMicroHTTPD
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Socket calls that neither block nor raise SIGPIPE.
enum Socket {
  /// Creates a non-blocking stream socket that child processes do not inherit.
  ///
  /// - Parameters:
  ///   - family: `AF_INET` or `AF_UNIX`.
  ///   - failure: describes the socket's purpose; evaluated after a failure.
  /// - Returns: the descriptor.
  /// - Throws: ``CodedError`` if no descriptors are left.
  static func make(_ family: Int32, for failure: @autoclosure () -> SocketFailure) throws(CodedError) -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw failure().error("cannot create a socket") }
    return descriptor
  }

  /// Closes a socket and passes the error on.
  static func closing(_ descriptor: Int32, _ error: CodedError) -> CodedError {
    close(descriptor)
    return error
  }

  static func close(_ descriptor: Int32) { Glibc.close(descriptor) }

  /// Sends small writes at once (TCP_NODELAY in tcp(7)).
  static func sendAtOnce(_ descriptor: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The maximum number of descriptors of this process (getrlimit(2)).
  static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int(clamping: limit.rlim_cur)
  }

  /// A socket-level option; nil if the descriptor is not a socket.
  static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }

  /// The process at the other end of a Unix socket.
  static func peer(of descriptor: Int32) -> Peer? {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    return diorama_peer(descriptor, &pid, &uid) == 0 ? Peer(uid: uid, pid: pid) : nil
  }

  /// Discards the peer's next bytes: the reader sees the end of the stream.
  static func endReading(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RD)) }

  /// Breaks a connection whose server closes it right afterwards.
  static func `break`(_ descriptor: Int32, _ fault: ConnectionFault) {
    switch fault {
    case .close(let bytes):
      // What does not fit into the socket's buffer is not sent: the connection is to break anyway.
      _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
    case .reset:
      // Connecting to AF_UNSPEC dissolves the association (connect(2)); an open TCP connection is reset (RFC 9293,
      // 3.10.5). SO_LINGER would not do, because the server first shuts the socket down, which sends a FIN.
      var address = sockaddr()
      address.sa_family = sa_family_t(AF_UNSPEC)
      connect(descriptor, &address, socklen_t(MemoryLayout<sockaddr>.size))
    }
  }

  /// Ends both directions and wakes the thread waiting for the socket.
  static func end(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Resets the connection, so the peer does not mistake it for an orderly end. Has no effect on Unix sockets.
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

  /// Reads and drops available bytes.
  ///
  /// - Returns: false if the peer has closed its sending side.
  static func drop(_ descriptor: Int32) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      // Bounded, since the caller has other connections to serve; the rest is reported again.
      for _ in 0..<16 {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { continue }
        return count < 0 && (errno == EAGAIN || errno == EINTR)
      }
      return true
    }
  }
}

/// A socket address in the form that system calls use.
struct SocketAddress {
  /// The maximum length of a Unix socket's path in bytes; the system needs one more for the terminator.
  static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private var storage = sockaddr_storage()
  private var length: socklen_t

  /// An empty address for the system to fill in.
  init() {
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  }

  /// A port on an IPv4 address.
  init(port: UInt16, of host: String = "127.0.0.1") {
    length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
  }

  /// A Unix socket path of at most ``longestPath`` bytes.
  init(path: String) {
    length = socklen_t(MemoryLayout<sockaddr_un>.size)
    storage.ss_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &storage) { bytes in
      let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
      for (index, byte) in path.utf8.prefix(Self.longestPath).enumerated() { bytes[start + index] = byte }
    }
  }

  /// Passes the address to a system call.
  mutating func withPointer<Result>(
    _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
  }

  var isUnix: Bool { storage.ss_family == sa_family_t(AF_UNIX) }

  /// The port of an IPv4 address.
  var port: UInt16? {
    guard Int32(storage.ss_family) == AF_INET else { return nil }
    return withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(as: sockaddr_in.self).sin_port) }
  }

  /// The port, if this is a loopback address of this machine.
  var loopbackPort: UInt16? {
    withUnsafeBytes(of: storage) { bytes in
      switch Int32(storage.ss_family) {
      case AF_INET:
        let address = bytes.load(as: sockaddr_in.self)
        return address.sin_addr.s_addr.bigEndian >> 24 == 127 ? UInt16(bigEndian: address.sin_port) : nil
      case AF_INET6:
        let address = bytes.load(as: sockaddr_in6.self)
        let isLoopback = withUnsafeBytes(of: address.sin6_addr) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
        return isLoopback ? UInt16(bigEndian: address.sin6_port) : nil
      default: return nil
      }
    }
  }

  /// The path of a Unix socket; a leading `@` marks a Linux abstract name.
  var path: String? {
    guard isUnix else { return nil }
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
    let name = withUnsafeBytes(of: storage) { Array($0.prefix(Int(length)).dropFirst(start)) }
    guard name.first == 0 else { return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) }
    return "@" + String(decoding: name.dropFirst(), as: UTF8.self)
  }
}
