#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the kernel knows about the TCP sockets of a port (`sock_diag(7)`).
///
/// Unlike `/proc/net/tcp` it also lists sockets that are bound and silent, from Linux 6.8 on.
enum SocketDiagnosis {
  struct Entry: Equatable {
    let inode: UInt64
    let isTimeWait: Bool
  }

  /// Sockets by their local port, v4 and v6, of these ports alone.
  ///
  /// - Returns: nil where the kernel does not say.
  static func sockets(on ports: Set<UInt16>) -> [UInt16: [Entry]]? {
    #if canImport(Darwin)
      return nil
    #else
      var found: [UInt16: [Entry]] = [:]
      for family in [AF_INET, AF_INET6] {
        guard dump(UInt8(family), of: ports, into: &found) else { return nil }
      }
      return found
    #endif
  }

  /// Reads the messages of one answer.
  ///
  /// - Returns: whether the answer is complete; nil when it is an error or no such message.
  static func parse(_ bytes: [UInt8], of ports: Set<UInt16>, into found: inout [UInt16: [Entry]]) -> Bool? {
    func number(_ offset: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    var start = 0
    while start + 16 <= bytes.count {
      let length = number(start, 4)
      guard length >= 16, start + length <= bytes.count else { return nil }
      switch number(start + 4, 2) {
      case 3: return true  // NLMSG_DONE
      case 20 where length >= 16 + 72:  // SOCK_DIAG_BY_FAMILY with struct inet_diag_msg
        let body = start + 16
        let port = UInt16(bytes[body + 4]) << 8 | UInt16(bytes[body + 5])
        if ports.contains(port) {
          let entry = Entry(inode: UInt64(number(body + 68, 4)), isTimeWait: bytes[body + 1] == 6)
          found[port, default: []].append(entry)
        }
      default: return nil
      }
      start += (length + 3) & ~3
    }
    return false
  }

  #if !canImport(Darwin)
    private static func dump(_ family: UInt8, of ports: Set<UInt16>, into found: inout [UInt16: [Entry]]) -> Bool {
      let descriptor = socket(16, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 4)  // AF_NETLINK, NETLINK_SOCK_DIAG
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      // struct nlmsghdr: length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, number, port id.
      var request: [UInt8] = [72, 0, 0, 0, 20, 0, 0x01, 0x03, 1, 0, 0, 0, 0, 0, 0, 0]
      // struct inet_diag_req_v2: family, protocol, no extensions, every state (bound and silent, too), every port.
      request += [family, UInt8(IPPROTO_TCP), 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]
      request += [UInt8](repeating: 0, count: 72 - request.count)
      guard send(descriptor, request, request.count, 0) == request.count else { return false }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0, let isComplete = parse(Array(buffer[..<count]), of: ports, into: &found) else { return false }
        if isComplete { return true }
      }
    }
  #endif
}
