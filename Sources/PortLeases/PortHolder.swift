#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Keeps a port of 127.0.0.1 for the program it is meant for, while this object lives.
///
/// A socket that is bound but not listening keeps other programs out. It is bound without options, so a second holder is
/// refused, and only then gets `SO_REUSEADDR`, so a program that sets it too, as nearly every server does, can bind and
/// listen beside it.
final class PortHolder: Sendable {
  enum Outcome {
    case holder(PortHolder)
    /// Some program uses the port, on any address, with TCP or UDP.
    case taken
    /// The `errno` of an error that is not the port's fault.
    case failed(Int32)
  }

  let port: UInt16
  /// Close-on-exec, and closed with this object.
  let descriptor: Int32

  private init(port: UInt16, descriptor: Int32) {
    self.port = port
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Takes a port that no program uses.
  ///
  /// - Parameters:
  ///   - port: the port.
  ///   - reusable: whether a program that sets `SO_REUSEADDR` can bind beside the holder. If not, the holder is cheaper,
  ///     but must be gone before the program binds.
  /// - Returns: the holder, or the reason for failure.
  static func take(_ port: UInt16, reusable: Bool = true) -> Outcome { take(port, reusing: false, reusable: reusable) }

  /// Takes those of the given ports that are unused except for a former user's connections in `TIME_WAIT`.
  ///
  /// Such connections only stop a program that binds without `SO_REUSEADDR`. Takes many ports at once, since asking the
  /// kernel about all sockets costs little more than asking about one.
  static func takeBesideFormerUsers(_ ports: [UInt16]) -> [PortHolder] {
    let holders = ports.compactMap { port in
      if case .holder(let holder) = take(port, reusing: true) { holder } else { nil }
    }
    guard !holders.isEmpty, let sockets = SocketDiagnosis.sockets(on: Set(holders.map(\.port))) else { return [] }
    // Another holder looks the same, and does not prevent this one from binding. Each checks after binding, so at least
    // one of two sees the other. A kernel that does not list our own socket lists no other holder's either.
    return holders.filter { holder in
      guard let own = holder.inode, let found = sockets[holder.port] else { return false }
      return found.contains { $0.inode == own } && found.allSatisfy { $0.inode == own || $0.isTimeWait }
    }
  }

  /// Holds a leased port again: beside its user's connections, but not while the user listens.
  static func resume(_ port: UInt16) -> PortHolder? {
    guard case .bound(let descriptor) = PortSocket.bind(port, at: .loopback, reusing: true) else { return nil }
    return PortHolder(port: port, descriptor: descriptor)
  }

  /// Whether some program listens on a port on any address, even if a holder has it.
  static func isListenedOn(_ port: UInt16) -> Bool {
    if case .taken = PortSocket.canBind(port, at: .any, reusing: true) { true } else { false }
  }

  private static func take(_ port: UInt16, reusing: Bool, reusable: Bool = true) -> Outcome {
    let datagrams = PortSocket.canBind(port, at: .any, .datagram)
    guard case .bound = datagrams else { return outcome(datagrams, port) }
    let everywhere = PortSocket.bind(port, at: .any, reusing: reusing)
    guard reusable, case .bound(let descriptor) = everywhere else { return outcome(everywhere, port) }
    // Other programs may listen on other addresses once the port is leased.
    close(descriptor)
    let loopback = PortSocket.bind(port, at: .loopback, reusing: reusing)
    if !reusing, case .bound(let descriptor) = loopback { PortSocket.setReusing(descriptor) }
    return outcome(loopback, port)
  }

  private static func outcome(_ outcome: PortSocket.Outcome, _ port: UInt16) -> Outcome {
    switch outcome {
    case .bound(let descriptor): return .holder(PortHolder(port: port, descriptor: descriptor))
    case .taken: return .taken
    case .failed(let code): return .failed(code)
    }
  }

  private var inode: UInt64? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}

/// Creates sockets bound to a port.
enum PortSocket {
  enum Kind {
    case stream
    case datagram
  }

  enum Address {
    /// 127.0.0.1.
    case loopback
    /// All addresses, IPv6 and IPv4 in one: conflicts with any use of the port.
    case any
  }

  enum Outcome {
    /// The descriptor, close-on-exec, to be closed by the caller.
    case bound(Int32)
    case taken
    /// The `errno` of an error that is not the port's fault.
    case failed(Int32)
  }

  /// Binds a socket without listening.
  ///
  /// - Parameters:
  ///   - port: the port.
  ///   - address: the address.
  ///   - kind: TCP or UDP.
  ///   - reusing: whether to set `SO_REUSEADDR` first: only programs that listen, or that did not set it, then conflict.
  /// - Returns: the socket, or the reason for failure.
  static func bind(_ port: UInt16, at address: Address, _ kind: Kind = .stream, reusing: Bool = false) -> Outcome {
    switch address {
    case .loopback:
      return bindV4(port, 0x7F00_0001, kind, reusing)
    case .any:
      let outcome = bindV6(port, kind, reusing)
      // Without IPv6, check IPv4 only.
      if case .failed(let code) = outcome, code == EAFNOSUPPORT || code == EADDRNOTAVAIL {
        return bindV4(port, 0, kind, reusing)
      }
      return outcome
    }
  }

  /// Whether a socket can be bound; closes it again.
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
    // For datagrams, it would mean sharing the port.
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
      // Close-on-exec from the start: a child process created at this moment must not hold the port.
      let type = Int32(kind == .stream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue)
      return socket(family, type | Int32(SOCK_CLOEXEC.rawValue), 0)
    #endif
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
