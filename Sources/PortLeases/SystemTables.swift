#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The kernel's information about the TCP sockets of a port (`sock_diag(7)`).
///
/// Unlike `/proc/net/tcp`, it includes sockets that are bound but not listening, from Linux 6.8 on.
enum SocketDiagnosis {
  struct Entry: Equatable {
    let inode: UInt64
    let isTimeWait: Bool
  }

  /// The sockets of the given local ports, IPv4 and IPv6.
  ///
  /// - Returns: nil if the kernel does not support it.
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

  /// Parses the messages of one response.
  ///
  /// - Returns: whether the response is complete; nil for an error or an unknown message.
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
      // struct inet_diag_req_v2: family, protocol, no extensions, every state (bound but not listening too), every port.
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

/// The ports on which programs listen (`proc_net_tcp(5)`).
enum ListeningPorts {
  /// All TCP ports, IPv4 and IPv6.
  static func all() -> Set<UInt16> {
    var ports = Set<UInt16>()
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
      if let table = ProcFile.read(path) { parse(table, into: &ports) }
    }
    return ports
  }

  /// Parses a table with one socket per line, such as `   0: 0100007F:4E20 00000000:0000 0A …`; state 0A is `LISTEN`.
  static func parse(_ table: [UInt8], into ports: inout Set<UInt16>) {
    for line in table.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
      guard fields.count > 3, fields[3].elementsEqual("0A".utf8),
        let colon = fields[1].lastIndex(of: UInt8(ascii: ":")),
        let port = UInt16(String(decoding: fields[1][(colon + 1)...], as: UTF8.self), radix: 16)
      else { continue }
      ports.insert(port)
    }
  }
}

/// The ports that the system assigns to outgoing connections and to programs that bind port 0.
package enum EphemeralPorts {
  /// Whether a pool contains some of them: any program may get such a port while it is not held.
  package static func overlap(_ pool: ClosedRange<UInt16>) -> Bool { range.overlaps(pool) }

  /// The system's range, or the usual default.
  static var range: ClosedRange<UInt16> {
    ProcFile.read("/proc/sys/net/ipv4/ip_local_port_range").flatMap(parse) ?? 32768...65535
  }

  /// Parses `32768	60999`.
  static func parse(_ text: [UInt8]) -> ClosedRange<UInt16>? {
    let numbers = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
    guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
    return numbers[0]...numbers[1]
  }
}
