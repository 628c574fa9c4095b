import Basics

/// Frames of RFC 9113 as bytes, valid or not.
enum Frames {
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// A frame (RFC 9113, 4.1).
  static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let count = payload.count
    return [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags] + number(stream)
      + payload
  }

  static func number(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
    frame(4, values.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] + number($1) })
  }

  static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
    frame(8, stream: stream, number(increment))
  }

  /// GET / with `:authority: a`, in literal and indexed fields of HPACK (RFC 7541, 6).
  static let head: [UInt8] = [0x82, 0x86, 0x84, 0x01, 0x01, UInt8(ascii: "a")]

  static func get(_ stream: UInt32) -> [UInt8] { frame(1, flags: 5, stream: stream, head) }
}

/// A number that several tasks add to.
final class Counter: Sendable {
  private let count = Guarded(0)
  var value: Int { count.withLock { $0 } }

  /// Returns the sum.
  @discardableResult
  func add(_ number: Int) -> Int {
    count.withLock { count in
      count += number
      return count
    }
  }
}
