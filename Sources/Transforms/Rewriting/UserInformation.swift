/// The optional `user:password@` between a URL's slashes and its host (RFC 3986, section 3.2.1).
///
/// It is never rewritten: the credentials are the same at both addresses.
enum UserInformation {
  /// The maximum length in bytes.
  private static let limit = 1024

  /// Finds the end of user information.
  ///
  /// - Parameters:
  ///   - start: the index after the slashes.
  ///   - slash: the range of one of the slashes; user information is encoded in the same way.
  ///   - text: the available text.
  ///   - isWhole: whether `text` ends here and no more bytes follow.
  /// - Returns: the index after the `@`.
  static func end(
    at start: Int, behind slash: Range<Int>, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool
  ) -> AddressLook<Int> {
    let layer = PercentLayer(of: slash, in: text, isWhole: isWhole)
    var index = start
    while index - start < limit {
      switch layer.byte(at: index) {
      case .none: return .none
      case .more: return .more
      case .found(let (byte, end)) where belongs(byte): index = end
      case .found(let (byte, end)) where byte == AddressByte.at: return end - 1 > start ? .found(end) : .none
      case .found(let (byte, _)):
        guard byte == AddressByte.backslash || byte == AddressByte.ampersand else { return .none }
        switch DelimiterSpelling.end(of: AddressByte.at, at: index, in: text, isWhole: isWhole) {
        case .more: return .more
        case .found(let end): return .found(end)
        case .none: break
        }
        switch DelimiterSpelling.end(of: AddressByte.colon, at: index, in: text, isWhole: isWhole) {
        case .more: return .more
        case .found(let end): index = end
        case .none: return .none
        }
      }
    }
    return .none
  }

  /// Whether a byte can be part of user information, end it, or begin an escape of such a byte.
  static func mayHave(_ byte: UInt8) -> Bool {
    byte == AddressByte.at || byte == AddressByte.backslash || byte == AddressByte.ampersand || belongs(byte)
  }

  /// Whether a byte can be part of user information. Bytes that usually end a URL in running text, such as a comma or a
  /// parenthesis, do not count; in user information they are percent-encoded.
  private static func belongs(_ byte: UInt8) -> Bool {
    if AddressByte.isAlphanumeric(byte) { return true }
    return switch byte {
    case UInt8(ascii: "-"), AddressByte.dot, UInt8(ascii: "_"), UInt8(ascii: "~"), AddressByte.percent,
      AddressByte.colon, UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "="):
      true
    default: false
    }
  }
}
