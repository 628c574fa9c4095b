/// Knows, at every byte of a text, whether an absolute URL may begin there: not within another URL's query, and not
/// in the middle of a word.
struct TokenTracker {
  /// Whether a `?`, a `#` or another URL's `://` stands between here and the beginning of the token, that is of a
  /// possible URL around this place.
  private var isInQuery = false
  /// The same in a URL that is percent-encoded whole.
  private var isInEncodedQuery = false
  private var isAfterLetter = false
  /// Whether what stands before this place ends every token: a URL without a scheme can only begin behind that.
  private var isAfterBoundary = true
  private var escape = Escape.none
  /// The value of `\uXXXX` as far as it is read.
  private var code: UInt16 = 0
  /// The last eight bytes, to tell at a `;` whether it ends an entity.
  private var history: UInt64 = 0

  /// Where we are in an escape as JSON and JavaScript have it.
  private enum Escape: UInt8 {
    case none, backslash, hex1, hex2, hex3, hex4
  }

  /// Whether a URL may begin with this byte, the next of the text.
  @inline(__always)
  func mayBegin(with byte: UInt8) -> Bool {
    // A backslash before a letter ends a token; no `\uXXXX` can go on with an `h`.
    if escape != .none { return !isAfterLetter }
    return !isInQuery && !isInEncodedQuery && (!isAfterLetter || isAfterPercentEscape)
  }

  /// Whether a URL without a scheme, `//host`, may begin with the next byte of the text.
  @inline(__always)
  var mayBeginReference: Bool { isAfterBoundary && !isInQuery && !isInEncodedQuery && escape == .none }

  /// Whether the last three bytes are `%3D` or the like, whose letter is none of a word.
  private var isAfterPercentEscape: Bool {
    UInt8(truncatingIfNeeded: history >> 16) == AddressByte.percent
      && AddressByte.hexValue(UInt8(truncatingIfNeeded: history >> 8)) != nil
      && AddressByte.hexValue(UInt8(truncatingIfNeeded: history)) != nil
  }

  /// Goes past one byte.
  @inline(__always)
  mutating func pass(_ byte: UInt8) {
    if escape != .none, passEscaped(byte) { return }
    isAfterBoundary = false
    isAfterLetter = AddressByte.isLetter(byte)
    if !isAfterLetter { passOther(byte) }
    history = history << 8 | UInt64(byte)
    if UInt8(truncatingIfNeeded: history >> 16) == AddressByte.percent { passPercentEscape() }
  }

  /// Three bytes that begin with a percent sign are past: what they stand for counts in a URL that is encoded whole.
  private mutating func passPercentEscape() {
    guard let high = AddressByte.hexValue(UInt8(truncatingIfNeeded: history >> 8)),
      let low = AddressByte.hexValue(UInt8(truncatingIfNeeded: history))
    else { return }
    switch high << 4 | low {
    case UInt8(ascii: "?"), UInt8(ascii: "#"): isInEncodedQuery = true
    case AddressByte.slash:
      // `%3A%2F%2F` began another host's URL.
      if history & 0x0000_FFFF_DFFF_FFDF == Self.encodedColonSlash { isInEncodedQuery = true }
    case 0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "("),
      UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ","):
      isInEncodedQuery = false
      isAfterBoundary = true
    case UInt8(ascii: "="): isAfterBoundary = true
    default: break
    }
  }

  /// Whether a byte ends every token, even behind a backslash: what stands before it does not count any more, and after it
  /// this is as at the beginning of a text.
  ///
  /// No address has such a byte in it. So brackets are none of them, which an address of IPv6 has.
  @inline(__always)
  static func isBoundary(_ byte: UInt8) -> Bool { boundaries.contains(byte) }

  /// Goes past bytes with which nothing can begin and that end nothing, as far as they go.
  ///
  /// - Parameters:
  ///   - text: what is at hand.
  ///   - start: the index of the next byte.
  ///   - last: the last index that may be passed.
  /// - Returns: the index after them.
  @inline(__always)
  mutating func passPlain(_ text: UnsafeBufferPointer<UInt8>, from start: Int, through last: Int) -> Int {
    // After a percent sign two bytes have to be looked at.
    guard escape == .none, UInt8(truncatingIfNeeded: history) != AddressByte.percent,
      UInt8(truncatingIfNeeded: history >> 8) != AddressByte.percent
    else { return start }
    let isInQuery = isInQuery || isInEncodedQuery
    var index = start
    while index <= last {
      // No scheme begins in a query, or in the middle of a word.
      guard
        Self.plain.contains(text[index])
          || (Self.isOfScheme(text[index]) && (isInQuery || (index > start && AddressByte.isLetter(text[index - 1]))))
      else { break }
      index += 1
    }
    guard index > start else { return start }
    isAfterBoundary = false
    isAfterLetter = AddressByte.isLetter(text[index - 1])
    for passed in max(start, index - 8)..<index { history = history << 8 | UInt64(text[passed]) }
    return index
  }

  /// Goes past a URL's host, with which no word and no query begins.
  @inline(__always)
  mutating func passedHost() {
    self = TokenTracker()
  }

  @inline(__always)
  private mutating func passOther(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "?"), UInt8(ascii: "#"): isInQuery = true
    case AddressByte.slash:
      // `://` began another host's URL: what is in its path is its own, as much as what is in its query.
      if history & 0xFFFF == Self.colonSlash { isInQuery = true }
    case 0x00...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "<"),
      UInt8(ascii: ">"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "{"), UInt8(ascii: "}"),
      UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: "|"):
      isInQuery = false
      isInEncodedQuery = false
      isAfterBoundary = true
    case UInt8(ascii: "="): isAfterBoundary = true
    // The next item of a form begins.
    case UInt8(ascii: "&"): isInEncodedQuery = false
    case UInt8(ascii: ";"):
      // `&amp;` is how HTML writes the `&` between two query items.
      if !endsEntityOfQuery {
        isInQuery = false
        isInEncodedQuery = false
        isAfterBoundary = true
      }
    case AddressByte.backslash: escape = .backslash
    default: break
    }
  }

  /// Goes past a byte after a backslash; false when it is then an ordinary byte.
  private mutating func passEscaped(_ byte: UInt8) -> Bool {
    switch escape {
    case .none: return false
    case .backslash:
      switch byte {
      case AddressByte.backslash: return true
      case AddressByte.slash:
        // `\/` is a slash: the URL goes on.
        escape = .none
        isAfterLetter = false
        return true
      case UInt8(ascii: "u"):
        escape = .hex1
        code = 0
        isAfterLetter = false
        return true
      case UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        escape = .none
        isInQuery = false
        isAfterLetter = false
        isAfterBoundary = true
        return true
      default:
        escape = .none
        isInQuery = false
        return false
      }
    case .hex1, .hex2, .hex3, .hex4:
      guard let digit = AddressByte.hexValue(byte) else {
        escape = .none
        isInQuery = false
        return false
      }
      code = code << 4 | UInt16(digit)
      guard escape == .hex4 else {
        escape = Escape(rawValue: escape.rawValue + 1) ?? .none
        return true
      }
      escape = .none
      // What the escape stands for counts: `\u0026` is the `&` within a query, `\u003c` a `<` that ends it.
      if code < 0x80, code != UInt16(AddressByte.backslash) {
        isAfterLetter = AddressByte.isLetter(UInt8(code))
        isAfterBoundary = false
        passOther(UInt8(code))
      }
      return true
    }
  }

  /// Whether a `;` here ends an entity for `&`, `/`, `:` or `=`.
  private var endsEntityOfQuery: Bool {
    Self.entities.contains { entity in
      history & (UInt64.max >> UInt64(64 - 8 * entity.count)) | entity.caseBits == entity.bytes
    }
  }

  /// An entity's spelling without the `;`, as the low bytes of an integer.
  private struct Entity {
    let bytes: UInt64
    let count: Int
    /// 0x20 at the letters.
    let caseBits: UInt64

    init(_ text: StaticString) {
      var bytes: UInt64 = 0
      var caseBits: UInt64 = 0
      text.withUTF8Buffer { buffer in
        for byte in buffer {
          bytes = bytes << 8 | UInt64(byte)
          caseBits = caseBits << 8 | (AddressByte.isLetter(byte) ? 0x20 : 0)
        }
      }
      self.bytes = bytes
      self.caseBits = caseBits
      count = text.utf8CodeUnitCount
    }
  }

  /// Whether it is an `h` or a `w`.
  @inline(__always)
  private static func isOfScheme(_ byte: UInt8) -> Bool {
    byte | 0x20 == UInt8(ascii: "h") || byte | 0x20 == UInt8(ascii: "w")
  }

  /// Bytes of ASCII, one bit each, and with them all others or none.
  private struct ByteSet {
    let low: UInt64
    let high: UInt64
    let hasOthers: Bool

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
      byte < 0x80 ? (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 != 0 : hasOthers
    }
  }

  /// `0x00` to `0x20`, `0x7F`, and `"'`<>(){},|`.
  private static let boundaries = ByteSet(low: 0x5000_1385_FFFF_FFFF, high: 0xB800_0001_0000_0000, hasOthers: false)
  /// All letters but those with which a scheme begins, digits, and what means nothing here: `!$*+-.:@^_~`.
  private static let plain = ByteSet(low: 0x07FF_6C12_0000_0000, high: 0x477F_FEFE_C77F_FEFF, hasOthers: true)

  /// `%3A%2F`, without the bit that tells the case of its letters.
  private static let encodedColonSlash =
    "%3A%2F".utf8.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & 0x0000_FFFF_DFFF_FFDF
  private static let colonSlash = UInt64(AddressByte.colon) << 8 | UInt64(AddressByte.slash)

  private static let entities: [Entity] = [
    Entity("&amp"), Entity("&#38"), Entity("&#x26"), Entity("&#47"), Entity("&#x2f"), Entity("&#58"), Entity("&#x3a"),
    Entity("&#61"), Entity("&#x3d"), Entity("&sol"), Entity("&colon"),
  ]
}
