import HTTPMessages

/// The bytes that matter where addresses are looked for.
enum AddressByte {
  static let backslash = UInt8(ascii: "\\")
  static let colon = UInt8(ascii: ":")
  static let dot = UInt8(ascii: ".")
  static let percent = UInt8(ascii: "%")
  static let slash = UInt8(ascii: "/")

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
func hostEnds(
  at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, isEncoded: Bool = false
) -> AddressLook<Void> {
  guard index < text.count else { return isWhole ? .found(()) : .more }
  let byte = text[index]
  switch byte {
  case AddressByte.dot, AddressByte.colon:
    guard index + 1 < text.count else { return isWhole ? .found(()) : .more }
    let next = text[index + 1]
    let goesOn = byte == AddressByte.dot ? AddressByte.isAlphanumeric(next) : AddressByte.isDigit(next)
    return goesOn ? .none : .found(())
  case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "@"): return .none
  case AddressByte.percent where isEncoded, AddressByte.backslash where isEncoded, UInt8(ascii: "&") where isEncoded:
    switch DelimiterSpelling.end(of: AddressByte.colon, at: index, in: text, isWhole: isWhole) {
    case .none: return .found(())
    case .more: return .more
    case .found(let end):
      guard end < text.count else { return isWhole ? .found(()) : .more }
      return AddressByte.isDigit(text[end]) ? .none : .found(())
    }
  default: return AddressByte.isAlphanumeric(byte) ? .none : .found(())
  }
}
