/// The ports on which some program listens (`proc_net_tcp(5)`).
enum ListeningPorts {
  /// All of them, TCP on v4 and v6.
  static func all() -> Set<UInt16> {
    var ports = Set<UInt16>()
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
      if let table = ProcFile.read(path) { parse(table, into: &ports) }
    }
    return ports
  }

  /// Reads a table: a line a socket, such as `   0: 0100007F:4E20 00000000:0000 0A …`; state 0A is `LISTEN`.
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
