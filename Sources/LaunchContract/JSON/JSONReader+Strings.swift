/// The range of a valid string in a JSON text.
struct JSONText {
  /// The bytes between its quotes.
  var range: Range<Int>
  /// How many bytes of UTF-8 it has without its escapes.
  var length: Int
  /// Whether it has any.
  var hasEscapes: Bool { length != range.count }
}

extension JSONReader {
  /// Goes past the string at the position, where its opening quote stands (RFC 8259, 7), and says where it stands.
  mutating func text() throws(JSONError) -> JSONText {
    let opening = position
    let start = opening + 1
    var isASCII = true
    var end = endOfRun(from: start, isASCII: &isASCII)
    var length = end - start
    while true {
      guard end < bytes.count else { throw endless(opening) }
      if bytes[end] == UInt8(ascii: "\"") { break }
      guard bytes[end] == UInt8(ascii: "\\") else {
        throw failure("a control character, 0x\(hex(bytes[end])), has to be escaped in a string", at: end)
      }
      let escape = try escape(at: end, opening)
      length += UTF8.width(escape.scalar)
      end = endOfRun(from: escape.end, isASCII: &isASCII)
      length += end - escape.end
    }
    position = end + 1
    // Escapes are ASCII and stand for whole characters: what is UTF-8 with them is so without.
    if !isASCII {
      let valid = start + UTF8Text.validPrefix(of: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      guard valid == end else {
        throw failure("a string is not UTF-8: it has the byte 0x\(hex(bytes[valid]))", at: valid)
      }
    }
    return JSONText(range: start..<end, length: length)
  }

  /// The text of a string without its escapes.
  func string(_ text: JSONText) -> String {
    guard text.hasEscapes else { return String(decoding: bytes[text.range], as: UTF8.self) }
    return String(unsafeUninitializedCapacity: text.length) { resolve(text, into: UnsafeMutableRawBufferPointer($0)) }
  }

  /// The bytes of a string without its escapes.
  func utf8(_ text: JSONText) -> [UInt8] {
    guard text.hasEscapes else { return Array(bytes[text.range]) }
    return Array(unsafeUninitializedCapacity: text.length) { output, count in
      count = resolve(text, into: UnsafeMutableRawBufferPointer(output))
    }
  }

  /// Writes a string without its escapes.
  ///
  /// - Parameters:
  ///   - text: of these bytes.
  ///   - output: with room for its length, past which nothing is written.
  /// - Returns: how many bytes were written: its length.
  private func resolve(_ text: JSONText, into output: UnsafeMutableRawBufferPointer) -> Int {
    var isASCII = true
    var at = text.range.lowerBound
    var written = 0
    while true {
      // A run ends at the latest at the closing quote.
      let end = endOfRun(from: at, isASCII: &isASCII)
      guard end - at <= output.count - written else { return written }
      UnsafeMutableRawBufferPointer(rebasing: output[written...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[at..<end]))
      written += end - at
      guard end < text.range.upperBound, let escape = try? escape(at: end, at) else { return written }
      // A character may have up to four.
      for unit in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter where written < output.count {
        output[written] = unit
        written += 1
      }
      at = escape.end
    }
  }

  /// Reads the escape whose backslash stands at an offset.
  ///
  /// - Returns: what it stands for, and where it ends.
  @inline(__always)
  private func escape(at place: Int, _ opening: Int) throws(JSONError) -> (scalar: Unicode.Scalar, end: Int) {
    guard place + 1 < bytes.count else { throw endless(opening) }
    let byte = bytes[place + 1]
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return (Unicode.Scalar(byte), place + 2)
    case UInt8(ascii: "b"): return ("\u{08}", place + 2)
    case UInt8(ascii: "f"): return ("\u{0C}", place + 2)
    case UInt8(ascii: "n"): return ("\n", place + 2)
    case UInt8(ascii: "r"): return ("\r", place + 2)
    case UInt8(ascii: "t"): return ("\t", place + 2)
    case UInt8(ascii: "u"): return try unicodeEscape(at: place, opening)
    default: throw unexpected("one of \" \\ / b f n r t u after a backslash", at: place + 1)
    }
  }

  // A half of a surrogate pair without the other becomes U+FFFD.
  private func unicodeEscape(at place: Int, _ opening: Int) throws(JSONError) -> (scalar: Unicode.Scalar, end: Int) {
    let code = try fourHexDigits(at: place + 2, opening)
    let end = place + 6
    if 0xD800...0xDBFF ~= code, end + 1 < bytes.count,
      bytes[end] == UInt8(ascii: "\\"), bytes[end + 1] == UInt8(ascii: "u")
    {
      let low = try fourHexDigits(at: end + 2, opening)
      if 0xDC00...0xDFFF ~= low, let pair = Unicode.Scalar(0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)) {
        return (pair, end + 6)
      }
    }
    return (Unicode.Scalar(code) ?? "\u{FFFD}", end)
  }

  private func fourHexDigits(at place: Int, _ opening: Int) throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for place in place..<place + 4 {
      guard place < bytes.count else { throw endless(opening) }
      let byte = bytes[place]
      switch byte {
      case 0x30...0x39: code = code << 4 | UInt32(byte - 0x30)
      case 0x41...0x46, 0x61...0x66: code = code << 4 | UInt32((byte | 0x20) - 0x61 + 10)
      default: throw unexpected("four hexadecimal digits after \\u", at: place)
      }
    }
    return code
  }

  /// The next quote, backslash or control character at or after an offset, or the end: eight bytes at a time.
  ///
  /// - Parameters:
  ///   - start: the offset.
  ///   - isASCII: becomes false where a byte before it, or in the same eight, is not ASCII.
  /// - Returns: its offset.
  @inline(__always)
  private func endOfRun(from start: Int, isASCII: inout Bool) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs = ones &* 0x80
    var at = start
    var seen: UInt64 = 0
    defer { if seen & highs != 0 { isASCII = false } }
    while at + 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      seen |= word
      // A byte of `x` is 0 if its high bit is set in (x - ones) & ~x; borrows only disturb bytes above a hit.
      let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
      let hits =
        ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & highs
      if hits != 0 { return at + hits.trailingZeroBitCount / 8 }
      at += 8
    }
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { return at }
      seen |= UInt64(byte)
      at += 1
    }
    return at
  }

  private func endless(_ opening: Int) -> JSONError {
    failure("the text ends inside the string that begins here", at: opening)
  }
}
