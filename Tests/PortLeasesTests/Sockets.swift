#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What another program does with a port.
final class TestSocket {
  let descriptor: Int32

  /// - Parameter reuse: whether it sets `SO_REUSEADDR` before it binds, as nearly every server does.
  init(reuse: Bool = true) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = reuse ? 1 : 0
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// 0, or errno.
  func bind(_ port: UInt16, address: UInt32 = 0x7F00_0001) -> Int32 { call(Glibc.bind, port, address) }

  /// 0, or errno.
  func connect(_ port: UInt16) -> Int32 { call(Glibc.connect, port, 0x7F00_0001) }

  /// 0, or errno.
  func listen() -> Int32 { Glibc.listen(descriptor, 8) == 0 ? 0 : errno }

  /// Whether a connection waits.
  var hasConnection: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 10_000) == 1
  }

  private func call(
    _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ port: UInt16, _ host: UInt32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(host).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return result == 0 ? 0 : errno
  }
}
