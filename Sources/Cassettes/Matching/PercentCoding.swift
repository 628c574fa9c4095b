#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension UnsafeRawBufferPointer {
  /// Where a byte first occurs; the C library's search, since this is done for every request.
  @inline(__always)
  func offset(of byte: UInt8) -> Int? {
    guard let start = baseAddress, let found = memchr(start, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(found) - start
  }
}

/// Percent-escapes (RFC 3986, 2.1).
package enum PercentCoding {
  /// The byte that an escape at `index` stands for; nil where there is none.
  @inline(__always)
  package static func byte(at index: Int, in bytes: UnsafeRawBufferPointer) -> UInt8? {
    guard index + 2 < bytes.count, bytes[index] == UInt8(ascii: "%"),
      let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2])
    else { return nil }
    return high << 4 | low
  }

  /// Letters, digits, `-`, `.`, `_` and `~` mean the same with an escape and without (RFC 3986, 2.3).
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte &- 0x30
    case 0x41...0x46, 0x61...0x66: (byte | 0x20) &- 0x61 &+ 10
    default: nil
    }
  }
}

/// The path of a request as it is compared.
enum CanonicalPath {
  /// Adds a path and its length to a hash; an empty one is `/` (RFC 9110, 4.2.3).
  static func append(_ path: UnsafeRawBufferPointer, to hash: inout SipHash) {
    guard !path.isEmpty else {
      hash.append(UInt8(ascii: "/"))
      hash.append(number: 1)
      return
    }
    guard path.offset(of: UInt8(ascii: "%")) != nil else {
      hash.append(path)
      hash.append(number: path.count)
      return
    }
    var length = 0
    forEachByte(of: path) { byte in
      hash.append(byte)
      length += 1
    }
    hash.append(number: length)
  }

  /// A path as it is compared, as bytes.
  static func bytes(of path: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    forEachByte(of: path) { bytes.append($0) }
    return bytes.isEmpty ? [UInt8(ascii: "/")] : bytes
  }

  @inline(__always)
  private static func forEachByte(of path: UnsafeRawBufferPointer, _ body: (UInt8) -> Void) {
    var index = 0
    while index < path.count {
      guard let escaped = PercentCoding.byte(at: index, in: path) else {
        body(path[index])
        index += 1
        continue
      }
      if PercentCoding.isUnreserved(escaped) {
        body(escaped)
      } else {
        body(UInt8(ascii: "%"))
        for offset in 1...2 {
          let digit = path[index + offset]
          body(digit >= 0x61 ? digit & ~0x20 : digit)
        }
      }
      index += 3
    }
  }
}
