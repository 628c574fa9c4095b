/// UTF-8 as RFC 3629 has it.
enum UTF8Text {
  /// The text; nil where the bytes are not UTF-8.
  ///
  /// `String(validating:as:)` says the same, and takes most of its time to find out of what type its bytes are.
  static func string(_ bytes: UnsafeRawBufferPointer) -> String? {
    guard validPrefix(of: bytes) == bytes.count else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// How many bytes at the beginning are valid UTF-8: all of them, or those before the first sequence that is not.
  static func validPrefix(of bytes: UnsafeRawBufferPointer) -> Int {
    var at = 0
    while at < bytes.count {
      // Most texts are ASCII: eight bytes at a time.
      if at + 8 <= bytes.count,
        bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        at += 8
        continue
      }
      let length = sequence(of: bytes, at: at)
      guard length > 0 else { return at }
      at += length
    }
    return at
  }

  /// The length of the valid sequence at an offset; 0 where there is none (RFC 3629, 4).
  private static func sequence(of bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    let lead = bytes[offset]
    let second: ClosedRange<UInt8>
    let length: Int
    switch lead {
    case 0x00...0x7F: return 1
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return 0
    }
    guard offset + length <= bytes.count, second ~= bytes[offset + 1] else { return 0 }
    for index in 2..<max(2, length) where !(0x80...0xBF ~= bytes[offset + index]) {
      return 0
    }
    return length
  }
}
