#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Keeps a port of 127.0.0.1 from everybody but the program that it is meant for, while this value lives.
///
/// A socket that is bound and never listens keeps others out. It is bound plainly, so that a second holder is
/// refused, and only then gets `SO_REUSEADDR`, so that a program which sets the same (nearly every server does) can
/// bind and listen beside it.
final class PortHolder: Sendable {
  enum Outcome {
    case holder(PortHolder)
    /// Some program has it, on whatever address, TCP or UDP.
    case taken
    /// `errno`, where the port is not to blame.
    case failed(Int32)
  }

  let port: UInt16
  /// Close-on-exec; it is closed with this value.
  let descriptor: Int32

  private init(port: UInt16, descriptor: Int32) {
    self.port = port
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Takes a port that nobody else has.
  ///
  /// - Parameters:
  ///   - port: the port.
  ///   - reusable: whether a program that sets `SO_REUSEADDR` can bind beside the holder; else the holder costs less,
  ///     and has to be gone before anybody can bind.
  /// - Returns: the holder, or why there is none.
  static func take(_ port: UInt16, reusable: Bool = true) -> Outcome { take(port, reusing: false, reusable: reusable) }

  /// Takes those of some ports that nobody else has, except for connections of a former user that only wait for their
  /// time to pass (`TIME_WAIT`).
  ///
  /// They keep out a program that binds without `SO_REUSEADDR`. Many at once, since asking the kernel about all costs
  /// little more than asking about one.
  static func takeBesideFormerUsers(_ ports: [UInt16]) -> [PortHolder] {
    let holders = ports.compactMap { port in
      if case .holder(let holder) = take(port, reusing: true) { holder } else { nil }
    }
    guard !holders.isEmpty, let sockets = SocketDiagnosis.sockets(on: Set(holders.map(\.port))) else { return [] }
    // Another holder looks just like this one and is no obstacle to it. Each looks after it has bound, so that of two
    // at least one sees the other. A kernel that does not list its own socket lists no other's.
    return holders.filter { holder in
      guard let own = holder.inode, let found = sockets[holder.port] else { return false }
      return found.contains { $0.inode == own } && found.allSatisfy { $0.inode == own || $0.isTimeWait }
    }
  }

  /// Holds a port that is leased already: beside its user's connections, though not while he listens.
  static func resume(_ port: UInt16) -> PortHolder? {
    guard case .bound(let descriptor) = PortSocket.bind(port, at: .loopback, reusing: true) else { return nil }
    return PortHolder(port: port, descriptor: descriptor)
  }

  /// Whether some program listens on a port, on whatever address, seen beside a holder.
  static func isListenedOn(_ port: UInt16) -> Bool {
    if case .taken = PortSocket.canBind(port, at: .any, reusing: true) { true } else { false }
  }

  private static func take(_ port: UInt16, reusing: Bool, reusable: Bool = true) -> Outcome {
    let datagrams = PortSocket.canBind(port, at: .any, .datagram)
    guard case .bound = datagrams else { return outcome(datagrams, port) }
    let everywhere = PortSocket.bind(port, at: .any, reusing: reusing)
    guard reusable, case .bound(let descriptor) = everywhere else { return outcome(everywhere, port) }
    // On the other addresses others may listen, too, once the port is leased.
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
