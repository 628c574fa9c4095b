#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

package import HTTPMessages

/// The components of a recorded request's absolute URL.
package struct RecordedURL {
  /// Scheme, `://` and authority; empty if the URL is not absolute.
  let base: Substring
  /// The path as written, or `/` if empty.
  package let path: Substring
  /// The text after the `?`; nil without one.
  package let query: Substring?

  /// - Parameter url: an absolute URL; the whole text is the path if it is not one.
  package init(_ url: String) {
    let whole = url.utf8.prefix { $0 != UInt8(ascii: "#") }
    var start = whole.startIndex
    let delimiters = ":/?".utf8
    if let colon = whole.firstIndex(where: { delimiters.contains($0) }), whole[colon...].starts(with: "://".utf8) {
      let host = whole.index(colon, offsetBy: 3)
      start = whole[host...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? whole.endIndex
    }
    base = Substring(whole[..<start])
    let mark = whole[start...].firstIndex(of: UInt8(ascii: "?")) ?? whole.endIndex
    let path = whole[start..<mark]
    self.path = path.isEmpty ? "/" : Substring(path)
    query = mark == whole.endIndex ? nil : Substring(whole[mark...].dropFirst())
  }

  /// The upstream's origin; nil if the URL is not valid.
  package var origin: Origin? {
    var text = String(base)
    // User information is not part of an origin.
    if let at = base.utf8.lastIndex(of: UInt8(ascii: "@")), let scheme = base.firstRange(of: "://") {
      text = "\(base[..<scheme.upperBound])\(base[at...].dropFirst())"
    }
    return try? Origin(parsing: text)
  }

  /// Path and query, as in a request target.
  package var target: String {
    query.map { "\(path)?\($0)" } ?? String(path)
  }
}

extension String {
  /// The URL without `user:password@`.
  package var withoutUserInformation: String {
    guard let mark = utf8.firstRange(of: "://".utf8) else { return self }
    let authority = utf8[mark.upperBound...].prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return self }
    return String(self[..<mark.upperBound]) + String(self[utf8.index(after: at)...])
  }
}

extension UnsafeRawBufferPointer {
  /// The offset of the first occurrence of a byte. Uses `memchr` because every request needs this.
  @inline(__always)
  func offset(of byte: UInt8) -> Int? {
    guard let start = baseAddress, let found = memchr(start, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(found) - start
  }
}

/// Percent-escapes (RFC 3986, 2.1).
package enum PercentCoding {
  /// The byte that an escape at `index` encodes; nil if there is none.
  @inline(__always)
  package static func byte(at index: Int, in bytes: UnsafeRawBufferPointer) -> UInt8? {
    guard index + 2 < bytes.count, bytes[index] == UInt8(ascii: "%"),
      let high = bytes[index + 1].hexValue, let low = bytes[index + 2].hexValue
    else { return nil }
    return high << 4 | low
  }

  /// Whether the byte means the same escaped and unescaped: letters, digits, `-`, `.`, `_` and `~` (RFC 3986, 2.3).
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit; nil for any other byte.
  @inline(__always)
  var hexValue: UInt8? {
    switch self {
    case 0x30...0x39: self &- 0x30
    case 0x41...0x46, 0x61...0x66: (self | 0x20) &- 0x61 &+ 10
    default: nil
    }
  }
}

/// Normalizes a request path for comparison.
enum CanonicalPath {
  /// Adds a path and its length to a hash; an empty path equals `/` (RFC 9110, 4.2.3).
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

  /// The normalized path of a target as bytes.
  static func bytes(ofTarget target: String) -> [UInt8] {
    Array(target.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }).withUnsafeBytes { bytes(of: $0) }
  }

  /// The normalized path as bytes.
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
