import HTTPMessages

/// The bytes that matter where addresses are looked for.
package enum AddressByte {
  static let ampersand = UInt8(ascii: "&")
  static let at = UInt8(ascii: "@")
  static let backslash = UInt8(ascii: "\\")
  static let colon = UInt8(ascii: ":")
  static let dot = UInt8(ascii: ".")
  static let percent = UInt8(ascii: "%")
  package static let slash = UInt8(ascii: "/")

  @inline(__always)
  static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  @inline(__always)
  static func isAlphanumeric(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) }

  /// 0 to 15; nil when the byte is no hexadecimal digit.
  @inline(__always)
  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }
}

/// What looking at a place in a text has shown.
enum AddressLook<Found> {
  /// It is not there.
  case none
  /// The text at hand ends too early to tell.
  case more
  /// It is there.
  case found(Found)
}

/// Whether a host that ends before `index` is at its end there, and not the beginning of a longer one: `api.com` in
/// `api.com.au`, `api.community`, `api.com:8080` or `api.com@host` is none.
///
/// Where the URL's delimiters are encoded, so may be the colon before a port: `api.com%3A8080` is none either.
///
/// - Returns: the index after it, and after the dot of `api.com./`, with which a name may end (RFC 1034, 3.1).
func hostEnds(
  at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, isEncoded: Bool = false
) -> AddressLook<Int> {
  let found = AddressLook<Int>.found(index)
  guard index < text.count else { return isWhole ? found : .more }
  let byte = text[index]
  switch byte {
  case AddressByte.dot:
    guard index + 1 < text.count else { return isWhole ? found : .more }
    if AddressByte.isAlphanumeric(text[index + 1]) { return .none }
    switch DelimiterSpelling.end(of: AddressByte.slash, at: index + 1, in: text, isWhole: isWhole) {
    case .none: break
    case .more: return .more
    case .found: return .found(index + 1)
    }
    // The dot that ends a sentence is none of the host's.
    return unlessPort(at: index + 1, in: text, isWhole: isWhole, hostEnd: index)
  case UInt8(ascii: "-"), UInt8(ascii: "_"), AddressByte.at: return .none
  case AddressByte.colon,
    AddressByte.percent where isEncoded, AddressByte.backslash where isEncoded,
    AddressByte.ampersand where isEncoded:
    return unlessPort(at: index, in: text, isWhole: isWhole, hostEnd: index)
  default: return AddressByte.isAlphanumeric(byte) ? .none : found
  }
}

/// A host's end, unless a colon and a digit stand at `index`.
private func unlessPort(
  at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, hostEnd: Int
) -> AddressLook<Int> {
  switch DelimiterSpelling.end(of: AddressByte.colon, at: index, in: text, isWhole: isWhole) {
  case .none: return .found(hostEnd)
  case .more: return .more
  case .found(let end):
    guard end < text.count else { return isWhole ? .found(hostEnd) : .more }
    return AddressByte.isDigit(text[end]) ? .none : .found(hostEnd)
  }
}
