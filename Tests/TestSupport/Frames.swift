/// Frames of RFC 9113 as bytes, valid or not.
package enum Frames {
  package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// A frame (RFC 9113, 4.1).
  package static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let count = payload.count
    return [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags] + number(stream)
      + payload
  }

  package static func number(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  package static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
    frame(4, values.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] + number($1) })
  }

  /// Confirms the peer's settings, which it applies only then.
  package static let settingsAcknowledgement = frame(4, flags: 1)

  package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
    frame(8, stream: stream, number(increment))
  }

  /// GET / with `:authority: a`, in literal and indexed fields of HPACK (RFC 7541, 6).
  package static let head: [UInt8] = [0x82, 0x86, 0x84, 0x01, 0x01, UInt8(ascii: "a")]

  package static func get(_ stream: UInt32) -> [UInt8] { frame(1, flags: 5, stream: stream, head) }

  /// A frame of fields in literals (RFC 7541, 6.2.2), as a whole block.
  package static func headers(_ stream: UInt32, _ fields: [(String, String)], ends: Bool = false) -> [UInt8] {
    var block: [UInt8] = []
    for (name, value) in fields {
      block += [0, UInt8(name.utf8.count)]
      block += name.utf8
      block.append(UInt8(value.utf8.count))
      block += value.utf8
    }
    return frame(1, flags: ends ? 5 : 4, stream: stream, block)
  }

  package static func data(_ stream: UInt32, _ bytes: [UInt8], ends: Bool = false) -> [UInt8] {
    frame(0, flags: ends ? 1 : 0, stream: stream, bytes)
  }

  package static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] { frame(3, stream: stream, number(code)) }

  package static func ping() -> [UInt8] { frame(6, [UInt8](repeating: 0, count: 8)) }

  package static func goAway(last: UInt32, _ code: UInt32 = 0) -> [UInt8] { frame(7, number(last) + number(code)) }
}
