import Basics
#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The portserver's address: a path, or `@` and a name in the abstract namespace.
struct PortserverAddress: CustomStringConvertible {
  let description: String
  private let bytes: [UInt8]

  /// Parses an address as portpicker's clients do.
  ///
  /// - Throws: ``CodedError`` if it is empty or too long.
  init(_ address: String) throws(CodedError) {
    description = address
    let isAbstract = address.hasPrefix("@")
    // unix(7): an abstract name begins with a zero byte, a path ends with one.
    bytes = isAbstract ? [0] + address.utf8.dropFirst() : address.utf8 + [0]
    guard bytes.count > 1 else {
      throw CodedError(.inputOutput, "invalid portserver address '\(address)'; use a path, or '@' and a name")
    }
    guard bytes.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path), !bytes.dropFirst().dropLast().contains(0)
    else {
      throw CodedError(.inputOutput, "the portserver address \(address) is too long for the system; use a shorter one")
    }
  }

  /// Nil for an abstract name.
  var path: String? { bytes.first == 0 ? nil : description }

  /// Creates a non-blocking listening socket.
  ///
  /// - Returns: the descriptor, close-on-exec, to be closed by the caller.
  /// - Throws: ``CodedError`` if another process listens on the address or it cannot be used.
  func listen() throws(CodedError) -> Int32 {
    if let path { try removeStale(path) }
    let descriptor = Self.socket()
    guard descriptor >= 0 else { throw failure(errno) }
    let isUp = call(descriptor, bind) == 0 && (path.map { chmod($0, 0o600) == 0 } ?? true)
    #if canImport(Darwin)
      guard isUp, Darwin.listen(descriptor, 1024) == 0 else { throw closing(descriptor) }
    #else
      guard isUp, Glibc.listen(descriptor, 1024) == 0 else { throw closing(descriptor) }
    #endif
    return descriptor
  }

  /// Removes the socket of a killed process. A socket on which a process listens, or any other file, is kept.
  private func removeStale(_ path: String) throws(CodedError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw CodedError(.inputOutput, "the portserver address \(path) is not a socket; move it, or use another address")
    }
    let probe = Self.socket()
    guard probe >= 0 else { throw failure(errno) }
    defer { close(probe) }
    guard call(probe, connect) != 0, errno == ECONNREFUSED else { throw failure(EADDRINUSE) }
    unlink(path)
  }

  private func call(_ descriptor: Int32, _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let head = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(head + bytes.count))
      }
    }
  }

  private static func socket() -> Int32 {
    #if canImport(Darwin)
      let descriptor = Darwin.socket(AF_UNIX, SOCK_STREAM, 0)
      if descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      }
      return descriptor
    #else
      let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
      return Glibc.socket(AF_UNIX, Int32(type), 0)
    #endif
  }

  private func closing(_ descriptor: Int32) -> CodedError {
    let code = errno
    close(descriptor)
    return failure(code)
  }

  private func failure(_ code: Int32) -> CodedError {
    let advice =
      switch code {
      case EADDRINUSE: "another portserver or daemon listens there; stop it"
      case EMFILE, ENFILE: "raise the limit of open files ('ulimit -n')"
      default: "check its folder and permissions"
      }
    return CodedError(
      .inputOutput,
      "the portserver cannot listen on \(description) (\(String(cString: strerror(code)))): \(advice), or use another "
        + "'--portserver-address' (an empty one turns it off)")
  }
}
