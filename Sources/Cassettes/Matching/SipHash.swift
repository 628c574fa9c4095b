/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, 2012). The result does not depend on how the input is
/// split.
///
/// The standard library's `Hasher` promises neither the width nor independence of splitting.
package struct SipHash {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64
  /// Up to seven bytes of an incomplete word, the first one lowest.
  private var tail: UInt64 = 0
  private var count: UInt64 = 0

  /// Creates a hash with a 128-bit key in two words; the default is not a secret.
  package init(key0: UInt64 = 0x6469_6F72_616D_6131, key1: UInt64 = 0x6D61_7463_686B_6579) {
    v0 = key0 ^ 0x736F_6D65_7073_6575
    v1 = key1 ^ 0x646F_7261_6E64_6F6D ^ 0xEE
    v2 = key0 ^ 0x6C79_6765_6E65_7261
    v3 = key1 ^ 0x7465_6462_7974_6573
  }

  /// Adds bytes.
  @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 8 <= bytes.count {
      append(word: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    while offset < bytes.count {
      append(bytes[offset])
      offset += 1
    }
  }

  /// Adds one byte.
  @inline(__always)
  package mutating func append(_ byte: UInt8) {
    tail |= UInt64(byte) << ((count & 7) * 8)
    count &+= 1
    if count & 7 == 0 {
      compress(tail)
      tail = 0
    }
  }

  /// Adds a number as eight bytes.
  @inline(__always)
  mutating func append(number: Int) {
    append(word: UInt64(truncatingIfNeeded: number))
  }

  /// Adds eight bytes, the first one lowest, at any alignment.
  @inline(__always)
  private mutating func append(word: UInt64) {
    let shift = (count & 7) * 8
    compress(tail | word << shift)
    tail = shift == 0 ? 0 : word >> (64 - shift)
    count &+= 8
  }

  /// Returns the hash; nothing can be added afterwards.
  @inline(__always)
  package mutating func finish() -> (UInt64, UInt64) {
    compress(tail | count << 56)
    v2 ^= 0xEE
    for _ in 0..<4 { round() }
    let first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    for _ in 0..<4 { round() }
    return (first, v0 ^ v1 ^ v2 ^ v3)
  }

  @inline(__always)
  private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    round()
    v0 ^= word
  }

  @inline(__always)
  private mutating func round() {
    v0 &+= v1
    v1 = rotate(v1, 13) ^ v0
    v0 = rotate(v0, 32)
    v2 &+= v3
    v3 = rotate(v3, 16) ^ v2
    v0 &+= v3
    v3 = rotate(v3, 21) ^ v0
    v2 &+= v1
    v1 = rotate(v1, 17) ^ v2
    v2 = rotate(v2, 32)
  }

  @inline(__always)
  private func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 {
    word << count | word >> (64 - count)
  }
}

extension SipHash {
  /// Adds a string and its length.
  mutating func append(text: String) {
    var text = text
    let count = text.withUTF8 { bytes in
      append(UnsafeRawBufferPointer(bytes))
      return bytes.count
    }
    append(number: count)
  }
}
