#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Listening sockets that somebody else made for us, such as systemd: `sd_listen_fds(3)`.
package struct ActivatedSockets: Sendable, Equatable {
  /// The control API's TCP socket.
  package var control: Int32?
  /// The control API's Unix socket.
  package var socket: Int32?
  /// Those that nobody here has a use for.
  package var others: [Int32] = []

  package init() {}

  /// - Parameters:
  ///   - variables: this process's: `LISTEN_FDS` and `LISTEN_PID`.
  ///   - pid: this process: what was meant for another is left alone.
  ///   - family: of the address of a socket, nil where it is none: it tells what each is for, whatever its name.
  package init(
    variables: [String: String], pid: Int32, family: (Int32) -> Int32? = ActivatedSockets.family(of:)
  ) {
    guard variables["LISTEN_PID"].flatMap(Int32.init) == pid, let count = variables["LISTEN_FDS"].flatMap(Int32.init),
      1...64 ~= count
    else { return }
    for index in 0..<count {
      let descriptor = 3 + index
      switch family(descriptor) {
      case AF_INET? where control == nil: control = descriptor
      case AF_UNIX? where socket == nil: socket = descriptor
      default: others.append(descriptor)
      }
    }
  }

  /// The kind of a socket's address.
  package static func family(of descriptor: Int32) -> Int32? { address(of: descriptor).map { Int32($0.ss_family) } }

  /// The port of an IPv4 socket.
  static func port(of descriptor: Int32) -> UInt16? {
    guard var address = address(of: descriptor), Int32(address.ss_family) == AF_INET else { return nil }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
  }

  /// The path of a Unix socket.
  static func path(of descriptor: Int32) -> String? {
    guard var address = address(of: descriptor), Int32(address.ss_family) == AF_UNIX else { return nil }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr_un.self, capacity: 1) { address in
        withUnsafeBytes(of: address.pointee.sun_path) { bytes in
          String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
      }
    }
  }

  private static func address(of descriptor: Int32) -> sockaddr_storage? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return result == 0 ? address : nil
  }
}
