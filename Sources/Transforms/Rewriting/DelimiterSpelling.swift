import HTTPMessages

/// The spellings of a URL delimiter, a colon or a slash, in JSON, scripts, HTML and query items.
///
/// Supported are the literal character; a slash after backslashes, `\/`; `\u002f` after one or, for JSON in JSON, more
/// backslashes; `\x2f`; `&#47;`, `&#x2F;`, `&sol;`, `&colon;`; `%2F`, `%252F` and so on; and percent-encoded forms of
/// all these, as for JSON or HTML in a query item: `%5C%2F`, `%5Cu002f`, `%26%2347%3B`.
enum DelimiterSpelling {
  /// Backslashes before a slash: 0, 1 as in some JSON, or 3 in JSON within JSON.
  private static let mostBackslashes = 3
  /// How often a percent sign may itself be encoded.
  private static let mostEncodings = 3
  /// The maximum number of digits in an entity.
  private static let mostDigits = 7

  /// Finds the end of a delimiter.
  ///
  /// - Parameters:
  ///   - byte: the delimiter.
  ///   - start: an index into `text`.
  ///   - text: the available text.
  ///   - isWhole: whether `text` ends here and no more bytes follow.
  /// - Returns: the index after the delimiter.
  static func end(
    of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool
  ) -> AddressLook<Int> {
    guard start < text.count else { return isWhole ? .none : .more }
    switch text[start] {
    case byte: return .found(start + 1)
    case AddressByte.backslash, AddressByte.ampersand:
      return escape(of: byte, at: start, in: PercentLayer(text: text, depth: 0, isWhole: isWhole))
    case AddressByte.percent: return percent(of: byte, at: start, in: text, isWhole: isWhole)
    default: return .none
    }
  }

  /// A percent-encoded delimiter, or a percent-encoded escape of it.
  private static func percent(
    of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool
  ) -> AddressLook<Int> {
    for depth in 1...mostEncodings + 1 {
      let layer = PercentLayer(text: text, depth: depth, isWhole: isWhole)
      switch layer.byte(at: start) {
      case .none: return .none
      case .more: return .more
      case .found(let (found, end)):
        if found == byte { return .found(end) }
        // An encoded percent sign: the bytes after it are encoded once more.
        guard found == AddressByte.percent else { return escape(of: byte, at: start, in: layer) }
      }
    }
    return .none
  }

  /// The delimiter as a JSON, script or HTML escape.
  private static func escape(of byte: UInt8, at start: Int, in layer: PercentLayer) -> AddressLook<Int> {
    var index = start
    for count in 0...mostBackslashes {
      let found: (byte: UInt8, end: Int)
      switch layer.byte(at: index) {
      case .none: return .none
      case .more: return .more
      case .found(let here): found = here
      }
      switch found.byte {
      case AddressByte.backslash: index = found.end
      case AddressByte.ampersand where count == 0: return entity(of: byte, at: found.end, in: layer)
      case AddressByte.slash where byte == AddressByte.slash && count > 0: return .found(found.end)
      case UInt8(ascii: "u") where count > 0: return hexadecimal(byte, digits: 4, at: found.end, in: layer)
      case UInt8(ascii: "x") where count > 0: return hexadecimal(byte, digits: 2, at: found.end, in: layer)
      default: return .none
      }
    }
    return .none
  }

  private static func entity(of byte: UInt8, at start: Int, in layer: PercentLayer) -> AddressLook<Int> {
    switch literal("#", at: start, in: layer) {
    case .more: return .more
    case .found(let end): return number(byte, at: end, in: layer)
    case .none: break
    }
    switch byte {
    case AddressByte.slash: return literal("sol;", at: start, in: layer)
    case AddressByte.colon: return literal("colon;", at: start, in: layer)
    case AddressByte.at: return literal("commat;", at: start, in: layer)
    default: return .none
    }
  }

  /// The number of an entity and the semicolon after it.
  private static func number(_ byte: UInt8, at start: Int, in layer: PercentLayer) -> AddressLook<Int> {
    var index = start
    var isHexadecimal = false
    var value = 0
    var digits = 0
    while digits <= mostDigits {
      let found: (byte: UInt8, end: Int)
      switch layer.byte(at: index) {
      case .none: return .none
      case .more: return .more
      case .found(let here): found = here
      }
      index = found.end
      if found.byte == UInt8(ascii: ";") { return digits > 0 && value == Int(byte) ? .found(index) : .none }
      if digits == 0, !isHexadecimal, found.byte | 0x20 == UInt8(ascii: "x") {
        isHexadecimal = true
        continue
      }
      guard let digit = AddressByte.hexValue(found.byte), isHexadecimal || digit < 10 else { return .none }
      value = value * (isHexadecimal ? 16 : 10) + Int(digit)
      digits += 1
    }
    return .none
  }

  private static func literal(_ expected: StaticString, at start: Int, in layer: PercentLayer) -> AddressLook<Int> {
    expected.withUTF8Buffer { expected in
      var index = start
      for byte in expected {
        switch layer.byte(at: index) {
        case .more: return .more
        case .found(let (found, end)) where found == byte: index = end
        case .none, .found: return .none
        }
      }
      return .found(index)
    }
  }

  /// A byte as a hexadecimal number with exactly this many digits.
  private static func hexadecimal(
    _ byte: UInt8, digits: Int, at start: Int, in layer: PercentLayer
  ) -> AddressLook<Int> {
    for offset in 0..<digits {
      guard start + offset < layer.text.count else { return layer.isWhole ? .none : .more }
      let shift = UInt8(4 * (digits - 1 - offset))
      let expected = shift > 4 ? 0 : byte >> shift & 15
      guard AddressByte.hexValue(layer.text[start + offset]) == expected else { return .none }
    }
    return .found(start + digits)
  }
}
