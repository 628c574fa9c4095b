#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Makes sockets that are bound to a port, and says why it cannot.
enum PortSocket {
  enum Kind {
    case stream
    case datagram
  }

  enum Address {
    /// 127.0.0.1.
    case loopback
    /// Every address, v6 and v4 in one: it collides with whatever has this port on any of them.
    case any
  }

  enum Outcome {
    /// The descriptor, close-on-exec; the caller closes it.
    case bound(Int32)
    case taken
    /// `errno`, where the port is not to blame.
    case failed(Int32)
  }

  /// Binds a socket that does not listen.
  ///
  /// - Parameters:
  ///   - port: the port.
  ///   - address: where.
  ///   - kind: TCP or UDP.
  ///   - reusing: whether `SO_REUSEADDR` is set before: only a program that listens, or one that did not set it, is in
  ///     the way then.
  /// - Returns: the socket, or why there is none.
  static func bind(_ port: UInt16, at address: Address, _ kind: Kind = .stream, reusing: Bool = false) -> Outcome {
    switch address {
    case .loopback:
      return bindV4(port, 0x7F00_0001, kind, reusing)
    case .any:
      let outcome = bindV6(port, kind, reusing)
      // A system without v6 has only the other half to look at.
      if case .failed(let code) = outcome, code == EAFNOSUPPORT || code == EADDRNOTAVAIL {
        return bindV4(port, 0, kind, reusing)
      }
      return outcome
    }
  }

  /// Whether a socket could be bound, which is closed again.
  static func canBind(_ port: UInt16, at address: Address, _ kind: Kind = .stream, reusing: Bool = false) -> Outcome {
    let outcome = bind(port, at: address, kind, reusing: reusing)
    if case .bound(let descriptor) = outcome { close(descriptor) }
    return outcome
  }

  static func setReusing(_ descriptor: Int32) { set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) }

  private static func bindV4(_ port: UInt16, _ host: UInt32, _ kind: Kind, _ reusing: Bool) -> Outcome {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(host).bigEndian
    return bind(AF_INET, &address, kind, reusing)
  }

  private static func bindV6(_ port: UInt16, _ kind: Kind, _ reusing: Bool) -> Outcome {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    return bind(AF_INET6, &address, kind, reusing)
  }

  private static func bind<SocketAddress>(
    _ family: Int32, _ address: inout SocketAddress, _ kind: Kind, _ reusing: Bool
  ) -> Outcome {
    let descriptor = make(family, kind)
    guard descriptor >= 0 else { return .failed(errno) }
    if family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    // For datagrams it would mean sharing the port.
    if reusing && kind == .stream { setReusing(descriptor) }
    let size = socklen_t(MemoryLayout<SocketAddress>.size)
    let result = withUnsafePointer(to: &address) { address in
      #if canImport(Darwin)
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { Darwin.bind(descriptor, $0, size) }
      #else
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, size) }
      #endif
    }
    guard result != 0 else { return .bound(descriptor) }
    let code = errno
    close(descriptor)
    return code == EADDRINUSE ? .taken : .failed(code)
  }

  private static func make(_ family: Int32, _ kind: Kind) -> Int32 {
    #if canImport(Darwin)
      let descriptor = socket(family, kind == .stream ? SOCK_STREAM : SOCK_DGRAM, 0)
      if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      return descriptor
    #else
      // Close-on-exec from the first moment: a child that starts just now must not hold the port.
      let type = Int32(kind == .stream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue)
      return socket(family, type | Int32(SOCK_CLOEXEC.rawValue), 0)
    #endif
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
