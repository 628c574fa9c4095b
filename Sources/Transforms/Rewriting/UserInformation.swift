/// What may stand between a URL's slashes and its host: `user:password@` (RFC 3986, 3.2.1).
///
/// It is left as it is: whom the app or the upstream names so is the same at either address.
enum UserInformation {
  /// None is longer.
  private static let limit = 1024

  /// Where one that begins at `start` ends.
  ///
  /// - Parameters:
  ///   - start: the index after the slashes.
  ///   - slash: where one of them stands: it is encoded as they are.
  ///   - text: what is at hand.
  ///   - isWhole: whether nothing follows `text`.
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

  /// Whether a byte may be in it, may end it, or may begin an escape of what does.
  static func mayHave(_ byte: UInt8) -> Bool {
    byte == AddressByte.at || byte == AddressByte.backslash || byte == AddressByte.ampersand || belongs(byte)
  }

  /// What ends a URL in a text, as a comma or a parenthesis, is percent-encoded by who cares for it.
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
