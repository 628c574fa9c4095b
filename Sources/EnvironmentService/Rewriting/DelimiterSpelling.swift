import HTTPMessages

/// How a delimiter of a URL, a colon or a slash, is written in JSON, scripts, HTML and query items.
///
/// As itself; a slash after backslashes, `\/`; `\u002f` after one or, in JSON within JSON, more backslashes; `\x2f`;
/// `%2F`, `%252F` and so on; `&#47;`, `&#x2F;`, `&sol;`, `&colon;`.
enum DelimiterSpelling {
  /// Backslashes before a slash: 0, or 1 as some write JSON, or 3 in JSON within JSON.
  private static let mostBackslashes = 3
  /// How often a percent sign may be encoded itself.
  private static let mostEncodings = 3
  /// Digits of an entity's number.
  private static let mostDigits = 7

  /// Where a delimiter that begins at `start` ends.
  ///
  /// - Parameters:
  ///   - byte: the delimiter.
  ///   - start: an index into `text`.
  ///   - text: what is at hand.
  ///   - isWhole: whether nothing follows `text`.
  /// - Returns: the index after it.
  static func end(
    of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool
  ) -> AddressLook<Int> {
    let missing: AddressLook<Int> = isWhole ? .none : .more
    guard start < text.count else { return missing }
    switch text[start] {
    case byte: return .found(start + 1)
    case AddressByte.backslash: return escape(of: byte, at: start, in: text, missing)
    case AddressByte.percent: return percent(of: byte, at: start, in: text, missing)
    case UInt8(ascii: "&"): return entity(of: byte, at: start, in: text, missing)
    default: return .none
    }
  }

  private static func escape(
    of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>, _ missing: AddressLook<Int>
  ) -> AddressLook<Int> {
    var index = start
    while index < text.count, text[index] == AddressByte.backslash, index - start < mostBackslashes { index += 1 }
    guard index < text.count else { return missing }
    switch text[index] {
    case AddressByte.slash where byte == AddressByte.slash: return .found(index + 1)
    case UInt8(ascii: "u"): return hexadecimal(byte, digits: 4, at: index + 1, in: text, missing)
    case UInt8(ascii: "x"): return hexadecimal(byte, digits: 2, at: index + 1, in: text, missing)
    default: return .none
    }
  }

  private static func percent(
    of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>, _ missing: AddressLook<Int>
  ) -> AddressLook<Int> {
    var index = start + 1
    for _ in 0...mostEncodings {
      // The delimiter itself, or a percent sign that is encoded: one digit may leave both open.
      let own = hexadecimal(byte, digits: 2, at: index, in: text, missing)
      guard case .none = own else { return own }
      switch hexadecimal(AddressByte.percent, digits: 2, at: index, in: text, missing) {
      case .none: return .none
      case .more: return .more
      case .found(let end): index = end
      }
    }
    return .none
  }

  private static func entity(
    of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>, _ missing: AddressLook<Int>
  ) -> AddressLook<Int> {
    guard start + 1 < text.count else { return missing }
    guard text[start + 1] == UInt8(ascii: "#") else {
      switch byte {
      case AddressByte.slash: return literal("sol;", at: start + 1, in: text, missing)
      case AddressByte.colon: return literal("colon;", at: start + 1, in: text, missing)
      default: return .none
      }
    }
    var index = start + 2
    guard index < text.count else { return missing }
    let isHexadecimal = text[index] | 0x20 == UInt8(ascii: "x")
    if isHexadecimal { index += 1 }
    var value = 0
    let first = index
    while true {
      guard index < text.count else { return missing }
      if text[index] == UInt8(ascii: ";") { return index > first && value == Int(byte) ? .found(index + 1) : .none }
      guard index - first < mostDigits, let digit = AddressByte.hexValue(text[index]), isHexadecimal || digit < 10
      else {
        return .none
      }
      value = value * (isHexadecimal ? 16 : 10) + Int(digit)
      index += 1
    }
  }

  private static func literal(
    _ expected: StaticString, at start: Int, in text: UnsafeBufferPointer<UInt8>, _ missing: AddressLook<Int>
  ) -> AddressLook<Int> {
    expected.withUTF8Buffer { expected in
      for offset in 0..<expected.count {
        guard start + offset < text.count else { return missing }
        guard text[start + offset] == expected[offset] else { return .none }
      }
      return .found(start + expected.count)
    }
  }

  /// So many digits that are a byte's number.
  private static func hexadecimal(
    _ byte: UInt8, digits: Int, at start: Int, in text: UnsafeBufferPointer<UInt8>, _ missing: AddressLook<Int>
  ) -> AddressLook<Int> {
    for offset in 0..<digits {
      guard start + offset < text.count else { return missing }
      let shift = UInt8(4 * (digits - 1 - offset))
      let expected = shift > 4 ? 0 : byte >> shift & 15
      guard AddressByte.hexValue(text[start + offset]) == expected else { return .none }
    }
    return .found(start + digits)
  }
}
