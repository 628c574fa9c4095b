#if canImport(Darwin)
  import Darwin
#else
  import CPosixSpawn
  import Glibc
#endif

/// Two connected descriptors, close-on-exec from the start: a child that another thread starts at this moment does not
/// keep them open.
package enum DescriptorPair {
  /// Creates a pipe.
  ///
  /// - Throws: ``NotStarted`` if no descriptors are left.
  package static func pipe() throws(NotStarted) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    #if canImport(Darwin)
      // Darwin has no pipe2; children are started with POSIX_SPAWN_CLOEXEC_DEFAULT if it matters.
      guard Darwin.pipe(&ends) == 0 else { throw failure("a pipe") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #else
      guard diorama_pipe2(&ends, O_CLOEXEC) == 0 else { throw failure("a pipe") }
    #endif
    return (ends[0], ends[1])
  }

  /// Creates a socket pair, for writing to a child without SIGPIPE (see ``send(_:to:)``).
  ///
  /// - Throws: ``NotStarted`` if no descriptors are left.
  package static func sockets() throws(NotStarted) -> (theirs: Int32, ours: Int32) {
    var ends: [Int32] = [0, 0]
    #if canImport(Darwin)
      guard socketpair(AF_UNIX, SOCK_STREAM, 0, &ends) == 0 else { throw failure("a socket") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      var on: Int32 = 1
      setsockopt(ends[1], SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #else
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw failure("a socket") }
    #endif
    return (ends[0], ends[1])
  }

  #if os(Linux)
    /// Creates a socket pair that keeps the boundaries of packets (`SOCK_SEQPACKET`).
    ///
    /// Both ends block. The child gets the first one by ``Spawn/FileAction/pass(_:as:)``.
    ///
    /// - Returns: the ends, both close-on-exec.
    /// - Throws: ``NotStarted`` if no descriptors are left.
    package static func packetSockets() throws(NotStarted) -> (theirs: Int32, ours: Int32) {
      var ends: [Int32] = [0, 0]
      let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
      guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw failure("a socket") }
      return (ends[0], ends[1])
    }
  #endif

  /// Writes all bytes, blocking while the other side does not read.
  ///
  /// - Returns: false if the other side has closed.
  @discardableResult
  package static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var rest = bytes[...]
    while !rest.isEmpty {
      #if canImport(Darwin)
        let count = rest.withUnsafeBytes { Darwin.send(socket, $0.baseAddress, $0.count, flags) }
      #else
        let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, flags) }
      #endif
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  private static func failure(_ what: String) -> NotStarted {
    NotStarted(
      status: 126,
      message: "cannot create \(what): \(String(cString: strerror(errno))); raise the limit of open files ('ulimit -n')"
    )
  }
}
