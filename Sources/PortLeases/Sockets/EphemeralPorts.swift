/// The ports that the system hands out by itself, for outgoing connections and to programs that bind port 0.
package enum EphemeralPorts {
  /// Whether a pool has some of them, so that an unheld port may be lost to anybody at any time.
  package static func overlap(_ pool: ClosedRange<UInt16>) -> Bool { range.overlaps(pool) }

  /// As the system says, else what all but the oldest use.
  static var range: ClosedRange<UInt16> {
    ProcFile.read("/proc/sys/net/ipv4/ip_local_port_range").flatMap(parse) ?? 32768...65535
  }

  /// Reads `32768	60999`.
  static func parse(_ text: [UInt8]) -> ClosedRange<UInt16>? {
    let numbers = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
    guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
    return numbers[0]...numbers[1]
  }
}
