extension JSONReader {
  /// The text of the string at the position, where its opening quote stands (RFC 8259, 7).
  mutating func string() throws(JSONError) -> String {
    let opening = position
    let start = opening + 1
    let end = endOfRun(from: start)
    guard end < bytes.count else { throw endless(opening) }
    if bytes[end] == UInt8(ascii: "\"") {
      // The common case: nothing to resolve, one copy.
      position = end + 1
      guard let text = UTF8Text.string(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) else {
        throw notUTF8(in: start..<end)
      }
      return text
    }
    return try stringWithEscapes(opening: opening, firstRun: start..<end)
  }

  private mutating func stringWithEscapes(opening: Int, firstRun: Range<Int>) throws(JSONError) -> String {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[firstRun]))
    position = firstRun.upperBound
    while true {
      guard position < bytes.count else { throw endless(opening) }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        guard let text = scratch.withUnsafeBytes({ UTF8Text.string($0) }) else {
          throw notUTF8(in: firstRun.lowerBound..<position)
        }
        return text
      case UInt8(ascii: "\\"):
        try escape(opening)
      default:
        throw failure(
          "a control character, 0x\(hex(bytes[position])), has to be escaped in a string", at: position)
      }
      let end = endOfRun(from: position)
      scratch.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
      position = end
    }
  }

  /// Resolves the escape at the position into the scratch.
  private mutating func escape(_ opening: Int) throws(JSONError) {
    guard position + 1 < bytes.count else { throw endless(opening) }
    let byte = bytes[position + 1]
    position += 2
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scratch.append(byte)
    case UInt8(ascii: "b"): scratch.append(0x08)
    case UInt8(ascii: "f"): scratch.append(0x0C)
    case UInt8(ascii: "n"): scratch.append(0x0A)
    case UInt8(ascii: "r"): scratch.append(0x0D)
    case UInt8(ascii: "t"): scratch.append(0x09)
    case UInt8(ascii: "u"): try unicodeEscape(opening)
    default:
      position -= 1
      throw unexpected("one of \" \\ / b f n r t u after a backslash")
    }
  }

  // The position is after `\u`. A half of a surrogate pair without the other becomes U+FFFD.
  private mutating func unicodeEscape(_ opening: Int) throws(JSONError) {
    var code = try fourHexDigits(opening)
    if 0xD800...0xDBFF ~= code, position + 1 < bytes.count,
      bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
    {
      let afterFirst = position
      position += 2
      let low = try fourHexDigits(opening)
      if 0xDC00...0xDFFF ~= low {
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      } else {
        position = afterFirst
      }
    }
    scratch.append(contentsOf: UTF8.encode(Unicode.Scalar(code) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
  }

  private mutating func fourHexDigits(_ opening: Int) throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard position < bytes.count else { throw endless(opening) }
      let byte = bytes[position]
      switch byte {
      case 0x30...0x39: code = code << 4 | UInt32(byte - 0x30)
      case 0x41...0x46, 0x61...0x66: code = code << 4 | UInt32((byte | 0x20) - 0x61 + 10)
      default: throw unexpected("four hexadecimal digits after \\u")
      }
      position += 1
    }
    return code
  }

  /// The next quote, backslash or control character at or after an offset, or the end: eight bytes at a time.
  private func endOfRun(from start: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs = ones &* 0x80
    var at = start
    while at + 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      // A byte of `x` is 0 where its high bit stands in (x - ones) & ~x; borrows only disturb bytes above a hit.
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
      at += 1
    }
    return at
  }

  private func endless(_ opening: Int) -> JSONError {
    failure("the text ends inside the string that begins here", at: opening)
  }

  private func notUTF8(in range: Range<Int>) -> JSONError {
    let offset = range.lowerBound + UTF8Text.validPrefix(of: UnsafeRawBufferPointer(rebasing: bytes[range]))
    guard offset < bytes.count else { return failure("a string is not UTF-8", at: bytes.count) }
    return failure("a string is not UTF-8: it has the byte 0x\(hex(bytes[offset]))", at: offset)
  }
}
