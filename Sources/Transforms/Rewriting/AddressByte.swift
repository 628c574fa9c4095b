import HTTPMessages

/// Bytes that occur in addresses, and their classes.
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

  /// The value from 0 to 15, or nil if the byte is not a hexadecimal digit.
  @inline(__always)
  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }
}

/// The result of looking for something at an index of a text.
enum AddressLook<Found> {
  /// Not found.
  case none
  /// More bytes are needed to decide.
  case more
  /// Found.
  case found(Found)
}

/// Checks whether a host ends at `index` and is not the beginning of a longer one: `api.com` must not match in
/// `api.com.au`, `api.community`, `api.com:8080` or `api.com@host`.
///
/// If the URL's delimiters are encoded, the colon before a port may be encoded too, so `api.com%3A8080` must not match
/// either.
///
/// - Returns: the index after the host, including the final dot of `api.com./`, which a host name may have (RFC 1034,
///   section 3.1).
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
    // The dot that ends a sentence is not part of the host.
    return unlessPort(at: index + 1, in: text, isWhole: isWhole, hostEnd: index)
  case UInt8(ascii: "-"), UInt8(ascii: "_"), AddressByte.at: return .none
  case AddressByte.colon,
    AddressByte.percent where isEncoded, AddressByte.backslash where isEncoded,
    AddressByte.ampersand where isEncoded:
    return unlessPort(at: index, in: text, isWhole: isWhole, hostEnd: index)
  default: return AddressByte.isAlphanumeric(byte) ? .none : found
  }
}

/// The end of a host, unless a colon and a digit follow at `index`.
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
