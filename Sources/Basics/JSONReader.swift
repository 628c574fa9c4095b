/// Reads JSON as whole values, or member by member, so that a large document need not be in memory as one tree.
///
/// ```swift
/// var reader = JSONReader(bytes)
/// var elements = try reader.beginArray()
/// while try reader.nextElement(&elements) { use(try reader.value()) }
/// try reader.end()
/// ```
///
/// The bytes must outlive the reader.
package struct JSONReader {
  /// The progress in an object or array.
  package struct Progress {
    var isFirst = true

    /// Before the first member or element.
    package init() {}
  }

  /// The whole text.
  package let bytes: UnsafeRawBufferPointer
  var position: Int
  private var depth = 0
  private let name: String
  private let advice: String

  /// - Parameters:
  ///   - bytes: the text.
  ///   - name: the name of the text, for errors.
  ///   - advice: what to do about an error.
  package init(_ bytes: UnsafeRawBufferPointer, name: String = "", advice: String = "") {
    self.bytes = bytes
    self.name = name
    self.advice = advice
    let hasMark = bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
    position = hasMark ? 3 : 0
  }

  /// The number of bytes read.
  package var offset: Int { position }

  /// Returns a reader at another position of the text, at the same depth of nesting.
  package func moved(to offset: Int) -> JSONReader {
    var other = self
    other.position = offset
    return other
  }

  /// The next byte after white space; nil at the end.
  package mutating func peek() -> UInt8? {
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case 0x20, 0x0A:
        position += 1
        skipSpaces()
      case 0x0D, 0x09: position += 1
      default: return byte
      }
    }
    return nil
  }

  /// Skips spaces, eight at a time, since indented text has many.
  private mutating func skipSpaces() {
    while position + 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let others = word ^ 0x2020_2020_2020_2020
      // The lowest bit that differs is in the first byte that is not a space.
      guard others == 0 else {
        position += others.trailingZeroBitCount / 8
        return
      }
      position += 8
    }
  }

  /// Reads the next value.
  package mutating func value() throws(CodedError) -> JSON {
    // The open objects and arrays, innermost last. Not recursive, since threads of C libraries may have a small stack.
    var open: [Container] = []
    var next = try scalar(orOpen: &open)
    while true {
      let last = open.count - 1
      if let value = next {
        guard last >= 0 else { return value }
        open[last].append(value)
      }
      if open[last].isObject {
        if let key = try nextKey(&open[last].progress) {
          open[last].key = key
          next = try scalar(orOpen: &open)
        } else {
          next = .object(open.removeLast().members)
        }
      } else {
        next =
          try nextElement(&open[last].progress)
          ? try scalar(orOpen: &open) : .array(open.removeLast().elements)
      }
    }
  }

  /// Checks that only white space is left.
  package mutating func end() throws(CodedError) {
    guard peek() == nil else { throw unexpected("the end after the value") }
  }

  /// Begins the next value, an object.
  package mutating func beginObject() throws(CodedError) -> Progress {
    try begin(UInt8(ascii: "{"), "an object")
  }

  /// The name of the next member, whose value must be read next; nil at the end of the object.
  package mutating func nextKey(_ progress: inout Progress) throws(CodedError) -> String? {
    try nextName(&progress).map(string)
  }

  /// Like ``nextKey(_:)``, as the range of the name.
  mutating func nextName(_ progress: inout Progress) throws(CodedError) -> JSONText? {
    guard try next(&progress, until: UInt8(ascii: "}"), "',' or '}' after a member") else { return nil }
    guard peek() == UInt8(ascii: "\"") else { throw unexpected("a member's name in quotes") }
    let name = try text()
    guard peek() == UInt8(ascii: ":") else { throw unexpected("':' after a member's name") }
    position += 1
    return name
  }

  /// Begins the next value, an array.
  package mutating func beginArray() throws(CodedError) -> Progress {
    try begin(UInt8(ascii: "["), "an array")
  }

  /// Whether there is another element, which must be read next.
  package mutating func nextElement(_ progress: inout Progress) throws(CodedError) -> Bool {
    try next(&progress, until: UInt8(ascii: "]"), "',' or ']' after an element")
  }

  private struct Container {
    let isObject: Bool
    var progress: Progress
    var key = ""
    var members: [JSON.Member] = []
    var elements: [JSON] = []

    mutating func append(_ value: JSON) {
      if isObject {
        // Most objects have a few members; this saves allocations.
        if members.isEmpty { members.reserveCapacity(4) }
        members.append(JSON.Member(key, value))
      } else {
        elements.append(value)
      }
    }
  }

  /// Reads the next value if it is a scalar; otherwise begins the object or array and returns nil.
  private mutating func scalar(orOpen open: inout [Container]) throws(CodedError) -> JSON? {
    guard let byte = peek() else { throw unexpected("a value") }
    switch byte {
    case UInt8(ascii: "\""): return .string(string(try text()))
    case UInt8(ascii: "{"):
      open.append(Container(isObject: true, progress: try beginObject()))
      return nil
    case UInt8(ascii: "["):
      open.append(Container(isObject: false, progress: try beginArray()))
      return nil
    case UInt8(ascii: "-"), 0x30...0x39:
      return .number(String(decoding: bytes[try number()], as: UTF8.self))
    case UInt8(ascii: "t"):
      try word("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try word("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try word("null")
      return .null
    default: throw unexpected("a value")
    }
  }

  private mutating func begin(_ opening: UInt8, _ what: String) throws(CodedError) -> Progress {
    guard peek() == opening else { throw unexpected(what) }
    guard depth < JSON.maximumDepth else {
      throw failure("arrays and objects are nested more than \(JSON.maximumDepth) levels deep", at: position)
    }
    depth += 1
    position += 1
    return Progress()
  }

  private mutating func next(
    _ progress: inout Progress, until closing: UInt8, _ separator: String
  ) throws(CodedError) -> Bool {
    let byte = peek()
    if byte == closing {
      position += 1
      depth -= 1
      return false
    }
    if progress.isFirst {
      progress.isFirst = false
    } else {
      guard byte == UInt8(ascii: ",") else { throw unexpected(separator) }
      position += 1
    }
    return true
  }

  mutating func word(_ word: StaticString) throws(CodedError) {
    let count = word.utf8CodeUnitCount
    let isThere =
      position + count <= bytes.count
      && (0..<count).allSatisfy { bytes[position + $0] == word.utf8Start[$0] }
    guard isThere else { throw unexpected("'\(word)'") }
    position += count
  }

  /// Skips a number (RFC 8259, 6) and returns its range.
  mutating func number() throws(CodedError) -> Range<Int> {
    let start = position
    if bytes[position] == UInt8(ascii: "-") { position += 1 }
    if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
      position += 1
      if position < bytes.count, 0x30...0x39 ~= bytes[position] {
        throw failure("a number with a leading zero", at: start)
      }
    } else {
      try digits()
    }
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
        position += 1
      }
      try digits()
    }
    return start..<position
  }

  private mutating func digits() throws(CodedError) {
    let start = position
    while position < bytes.count, 0x30...0x39 ~= bytes[position] {
      position += 1
    }
    guard position > start else { throw unexpected("a digit") }
  }

  /// An error at the current position, or at another: what is expected and what is found.
  func unexpected(_ expected: String, at place: Int? = nil) -> CodedError {
    let place = place ?? position
    guard place < bytes.count else {
      return failure("expected \(expected), found the end of the text", at: bytes.count)
    }
    let byte = bytes[place]
    let found = 0x21...0x7E ~= byte ? "'\(Character(Unicode.Scalar(byte)))'" : "the byte 0x\(hex(byte))"
    return failure("expected \(expected), found \(found)", at: place)
  }

  func failure(_ problem: String, at offset: Int) -> CodedError {
    CodedError(advice.isEmpty ? problem : "\(problem); \(advice)", at: offset, of: bytes, name: name)
  }

  func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }
}

/// The range of a valid string in a JSON text.
struct JSONText {
  /// The bytes between its quotes.
  var range: Range<Int>
  /// The size in bytes of UTF-8 without the escapes.
  var length: Int
  /// Whether it has escapes.
  var hasEscapes: Bool { length != range.count }
}

extension JSONReader {
  /// Skips a string (RFC 8259, 7) and returns its range. The position is at its opening quote.
  mutating func text() throws(CodedError) -> JSONText {
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
    // Escapes are ASCII and express whole characters, so the text without them is valid if this is.
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
  ///   - text: a string of these bytes.
  ///   - output: a buffer of its length.
  /// - Returns: the number of bytes written.
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
      for unit in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter where written < output.count {
        output[written] = unit
        written += 1
      }
      at = escape.end
    }
  }

  /// Decodes the escape whose backslash is at an offset.
  ///
  /// - Returns: the character, and the offset after the escape.
  @inline(__always)
  private func escape(at place: Int, _ opening: Int) throws(CodedError) -> (scalar: Unicode.Scalar, end: Int) {
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

  // Half of a surrogate pair becomes U+FFFD.
  private func unicodeEscape(at place: Int, _ opening: Int) throws(CodedError) -> (scalar: Unicode.Scalar, end: Int) {
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

  private func fourHexDigits(at place: Int, _ opening: Int) throws(CodedError) -> UInt32 {
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

  /// Searches for the next quote, backslash or control character, eight bytes at a time.
  ///
  /// - Parameters:
  ///   - start: the offset where to begin.
  ///   - isASCII: becomes false if a byte up to there, or in the same eight, is not ASCII.
  /// - Returns: its offset, or that of the end.
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

  private func endless(_ opening: Int) -> CodedError {
    failure("the text ends inside the string that begins here", at: opening)
  }
}

/// UTF-8 (RFC 3629).
private enum UTF8Text {
  /// The number of bytes before the first invalid sequence.
  static func validPrefix(of bytes: UnsafeRawBufferPointer) -> Int {
    var at = 0
    while at < bytes.count {
      // Most text is ASCII: eight bytes at a time.
      if at + 8 <= bytes.count,
        bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        at += 8
        continue
      }
      let length = sequence(of: bytes, at: at)
      guard length > 0 else { return at }
      at += length
    }
    return at
  }

  /// The length of the sequence at an offset (RFC 3629, 4); 0 if it is invalid.
  private static func sequence(of bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    let lead = bytes[offset]
    let second: ClosedRange<UInt8>
    let length: Int
    switch lead {
    case 0x00...0x7F: return 1
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return 0
    }
    guard offset + length <= bytes.count, second ~= bytes[offset + 1] else { return 0 }
    for index in 2..<max(2, length) where !(0x80...0xBF ~= bytes[offset + index]) {
      return 0
    }
    return length
  }
}
