/// Tracks whether an absolute URL may begin at the current byte of a text: not in the query of another URL, and not in
/// the middle of a word.
struct TokenTracker {
  /// Whether the current token, which may be a URL, already contains a `?`, a `#` or the `://` of another URL.
  private var isInQuery = false
  /// The same for a URL that is percent-encoded as a whole.
  private var isInEncodedQuery = false
  private var isAfterLetter = false
  /// Whether the previous byte ends every token. A URL without a scheme can only begin after such a byte.
  private var isAfterBoundary = true
  private var escape = Escape.none
  /// The value of `\uXXXX`, as far as it was read.
  private var code: UInt16 = 0
  /// The last eight bytes, needed at a `;` to check whether it ends an entity.
  private var history: UInt64 = 0

  /// The position in a JSON or JavaScript escape sequence.
  private enum Escape: UInt8 {
    case none, backslash, hex1, hex2, hex3, hex4
  }

  /// Whether a URL may begin with this byte, the next one of the text.
  @inline(__always)
  func mayBegin(with byte: UInt8) -> Bool {
    // A backslash before a letter ends a token; an `h` cannot continue a `\uXXXX`.
    if escape != .none { return !isAfterLetter }
    return !isInQuery && !isInEncodedQuery && (!isAfterLetter || isAfterPercentEscape)
  }

  /// Whether a URL without a scheme (`//host`) may begin with the next byte.
  @inline(__always)
  var mayBeginReference: Bool { isAfterBoundary && !isInQuery && !isInEncodedQuery && escape == .none }

  /// Whether the last three bytes are a percent escape such as `%3D`, whose letter is not part of a word.
  private var isAfterPercentEscape: Bool {
    UInt8(truncatingIfNeeded: history >> 16) == AddressByte.percent
      && AddressByte.hexValue(UInt8(truncatingIfNeeded: history >> 8)) != nil
      && AddressByte.hexValue(UInt8(truncatingIfNeeded: history)) != nil
  }

  /// Advances by one byte.
  @inline(__always)
  mutating func pass(_ byte: UInt8) {
    if escape != .none, passEscaped(byte) { return }
    isAfterBoundary = false
    isAfterLetter = AddressByte.isLetter(byte)
    if !isAfterLetter { passOther(byte) }
    history = history << 8 | UInt64(byte)
    if UInt8(truncatingIfNeeded: history >> 16) == AddressByte.percent { passPercentEscape() }
  }

  /// Handles a percent escape that just ended; its value matters in a URL that is percent-encoded as a whole.
  private mutating func passPercentEscape() {
    guard let high = AddressByte.hexValue(UInt8(truncatingIfNeeded: history >> 8)),
      let low = AddressByte.hexValue(UInt8(truncatingIfNeeded: history))
    else { return }
    switch high << 4 | low {
    case UInt8(ascii: "?"), UInt8(ascii: "#"): isInEncodedQuery = true
    case AddressByte.slash:
      // `%3A%2F%2F` begins the URL of another host.
      if history & 0x0000_FFFF_DFFF_FFDF == Self.encodedColonSlash { isInEncodedQuery = true }
    case 0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "("),
      UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ","):
      isInEncodedQuery = false
      isAfterBoundary = true
    case UInt8(ascii: "="): isAfterBoundary = true
    default: break
    }
  }

  /// Whether a byte ends every token, even after a backslash. Bytes before it no longer matter: the state after it is
  /// the same as at the beginning of a text.
  ///
  /// No address contains such a byte. Brackets are not included because IPv6 addresses contain them.
  @inline(__always)
  static func isBoundary(_ byte: UInt8) -> Bool { boundaries.contains(byte) }

  /// Skips bytes that neither begin nor end anything.
  ///
  /// - Parameters:
  ///   - text: the available text.
  ///   - start: the index of the next byte.
  ///   - last: the last index that may be skipped.
  /// - Returns: the index of the first byte that was not skipped.
  @inline(__always)
  mutating func passPlain(_ text: UnsafeBufferPointer<UInt8>, from start: Int, through last: Int) -> Int {
    // The two bytes after a percent sign must be examined.
    guard escape == .none, UInt8(truncatingIfNeeded: history) != AddressByte.percent,
      UInt8(truncatingIfNeeded: history >> 8) != AddressByte.percent
    else { return start }
    let isInQuery = isInQuery || isInEncodedQuery
    var index = start
    while index <= last {
      // A scheme cannot begin in a query or in the middle of a word.
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

  /// Resets the state after a URL's host: neither a word nor a query has begun.
  @inline(__always)
  mutating func passedHost() {
    self = TokenTracker()
  }

  @inline(__always)
  private mutating func passOther(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "?"), UInt8(ascii: "#"): isInQuery = true
    case AddressByte.slash:
      // `://` begins the URL of another host. Its path belongs to that host, as its query does.
      if history & 0xFFFF == Self.colonSlash { isInQuery = true }
    case 0x00...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "<"),
      UInt8(ascii: ">"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "{"), UInt8(ascii: "}"),
      UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: "|"):
      isInQuery = false
      isInEncodedQuery = false
      isAfterBoundary = true
    case UInt8(ascii: "="): isAfterBoundary = true
    // The next item of a form begins here.
    case UInt8(ascii: "&"): isInEncodedQuery = false
    case UInt8(ascii: ";"):
      // `&amp;` is the HTML spelling of the `&` between two query items.
      if !endsEntityOfQuery {
        isInQuery = false
        isInEncodedQuery = false
        isAfterBoundary = true
      }
    case AddressByte.backslash: escape = .backslash
    default: break
    }
  }

  /// Advances over a byte after a backslash. Returns false if the byte must be handled as an ordinary byte.
  private mutating func passEscaped(_ byte: UInt8) -> Bool {
    switch escape {
    case .none: return false
    case .backslash:
      switch byte {
      case AddressByte.backslash: return true
      case AddressByte.slash:
        // `\/` is a slash, so the URL continues.
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
      // The decoded character counts: `\u0026` is the `&` in a query, `\u003c` a `<` that ends it.
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

  /// An entity without its `;`, as the low bytes of an integer.
  private struct Entity {
    let bytes: UInt64
    let count: Int
    /// 0x20 for each letter.
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

  /// Whether a byte is an `h` or a `w`, the first letter of a scheme.
  @inline(__always)
  private static func isOfScheme(_ byte: UInt8) -> Bool {
    byte | 0x20 == UInt8(ascii: "h") || byte | 0x20 == UInt8(ascii: "w")
  }

  /// A set of ASCII bytes as a bit mask, optionally with all bytes from 0x80.
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
  /// All letters except those that begin a scheme, digits, bytes from 0x80, and `!$*+-.:@^_~`, which have no meaning
  /// here.
  private static let plain = ByteSet(low: 0x07FF_6C12_0000_0000, high: 0x477F_FEFE_C77F_FEFF, hasOthers: true)

  /// `%3A%2F` without the case bits of its letters.
  private static let encodedColonSlash =
    "%3A%2F".utf8.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & 0x0000_FFFF_DFFF_FFDF
  private static let colonSlash = UInt64(AddressByte.colon) << 8 | UInt64(AddressByte.slash)

  private static let entities: [Entity] = [
    Entity("&amp"), Entity("&#38"), Entity("&#x26"), Entity("&#47"), Entity("&#x2f"), Entity("&#58"), Entity("&#x3a"),
    Entity("&#61"), Entity("&#x3d"), Entity("&sol"), Entity("&colon"),
  ]
}
