#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Calls on a client's connection, none of which waits or raises SIGPIPE.
enum Peer {
  /// The next connection, close-on-exec; negative when there is none.
  static func accept(_ listener: Int32) -> Int32 {
    #if canImport(Darwin)
      let descriptor = Darwin.accept(listener, nil, nil)
    #else
      let descriptor = Glibc.accept(listener, nil, nil)
    #endif
    guard descriptor >= 0 else { return descriptor }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return descriptor
  }

  /// Whose process it is, as the kernel says.
  static func user(of descriptor: Int32) -> uid_t? {
    #if canImport(Darwin)
      var user = uid_t()
      var group = gid_t()
      return getpeereid(descriptor, &user, &group) == 0 ? user : nil
    #else
      // struct ucred: process, user, group (unix(7), SO_PEERCRED).
      var credentials: [UInt32] = [0, 0, 0]
      var size = socklen_t(12)
      guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == 12 else { return nil }
      return credentials[1]
    #endif
  }

  /// Whether a client of this user gets an answer: only this process's own user and root do.
  static func isWelcome(_ user: uid_t?, own: uid_t = geteuid()) -> Bool { user == own || user == 0 }

  /// Whether all of it was taken.
  static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      Darwin.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT)) == bytes.count
    #else
      Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) == bytes.count
    #endif
  }
}
