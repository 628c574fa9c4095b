/// Reads JSON step by step: a whole value at once, or an object or array member by member.
///
/// A large document need so never be in memory as one tree:
/// ```swift
/// var reader = JSONReader(bytes)
/// var elements = try reader.beginArray()
/// while try reader.nextElement(&elements) { use(try reader.value()) }
/// try reader.end()
/// ```
/// The bytes have to outlive it.
package struct JSONReader {
  /// How far the reading of one object or array has come.
  package struct Progress {
    var isFirst = true

    /// Before the first member or element.
    package init() {}
  }

  /// The whole text.
  package let bytes: UnsafeRawBufferPointer
  var position: Int
  private var depth = 0

  package init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    let hasMark = bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
    position = hasMark ? 3 : 0
  }

  /// Bytes read so far.
  package var offset: Int { position }

  /// As this one, at another place of the text.
  ///
  /// - Parameter offset: where something begins that lies as deep in arrays and objects as what this one would read next.
  /// - Returns: a reader before it.
  package func moved(to offset: Int) -> JSONReader {
    var other = self
    other.position = offset
    return other
  }

  /// The first byte of what comes next, after white space; nil at the end.
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

  /// Goes past spaces, eight at a time: where a text is indented there are many.
  private mutating func skipSpaces() {
    while position + 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let others = word ^ 0x2020_2020_2020_2020
      // The lowest bit that differs lies in the first byte that is no space.
      guard others == 0 else {
        position += others.trailingZeroBitCount / 8
        return
      }
      position += 8
    }
  }

  /// Reads the value that comes next, whole.
  ///
  /// - Returns: the value.
  /// - Throws: ``JSONError`` at the first thing that is no JSON.
  package mutating func value() throws(JSONError) -> JSON {
    // Objects and arrays that are still open, innermost last: no recursion, since the threads of C libraries may have
    // little stack.
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

  /// Makes sure that nothing but white space is left.
  package mutating func end() throws(JSONError) {
    guard peek() == nil else { throw unexpected("the end after the value") }
  }

  /// Steps into the object that comes next.
  package mutating func beginObject() throws(JSONError) -> Progress {
    try begin(UInt8(ascii: "{"), "an object")
  }

  /// The name of the next member, whose value then has to be read; nil when the object has ended.
  package mutating func nextKey(_ progress: inout Progress) throws(JSONError) -> String? {
    try nextName(&progress).map(string)
  }

  /// As ``nextKey(_:)``: where the name stands.
  mutating func nextName(_ progress: inout Progress) throws(JSONError) -> JSONText? {
    guard try next(&progress, until: UInt8(ascii: "}"), "',' or '}' after a member") else { return nil }
    guard peek() == UInt8(ascii: "\"") else { throw unexpected("a member's name in quotes") }
    let name = try text()
    guard peek() == UInt8(ascii: ":") else { throw unexpected("':' after a member's name") }
    position += 1
    return name
  }

  /// Steps into the array that comes next.
  package mutating func beginArray() throws(JSONError) -> Progress {
    try begin(UInt8(ascii: "["), "an array")
  }

  /// Whether there is one more element, which then has to be read.
  package mutating func nextElement(_ progress: inout Progress) throws(JSONError) -> Bool {
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
        // Most objects have a few members: not one allocation after the other for them.
        if members.isEmpty { members.reserveCapacity(4) }
        members.append(JSON.Member(key, value))
      } else {
        elements.append(value)
      }
    }
  }

  /// Reads the value that comes next where it is neither object nor array; else steps into it and returns nil.
  private mutating func scalar(orOpen open: inout [Container]) throws(JSONError) -> JSON? {
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

  private mutating func begin(_ opening: UInt8, _ what: String) throws(JSONError) -> Progress {
    guard peek() == opening else { throw unexpected(what) }
    guard depth < JSON.maximumDepth else {
      throw failure("arrays and objects lie more than \(JSON.maximumDepth) deep in each other", at: position)
    }
    depth += 1
    position += 1
    return Progress()
  }

  private mutating func next(
    _ progress: inout Progress, until closing: UInt8, _ separator: String
  ) throws(JSONError) -> Bool {
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

  mutating func word(_ word: StaticString) throws(JSONError) {
    let count = word.utf8CodeUnitCount
    let isThere =
      position + count <= bytes.count
      && (0..<count).allSatisfy { bytes[position + $0] == word.utf8Start[$0] }
    guard isThere else { throw unexpected("'\(word)'") }
    position += count
  }

  /// Goes past the number at the position (RFC 8259, 6), and says where it stands.
  mutating func number() throws(JSONError) -> Range<Int> {
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

  private mutating func digits() throws(JSONError) {
    let start = position
    while position < bytes.count, 0x30...0x39 ~= bytes[position] {
      position += 1
    }
    guard position > start else { throw unexpected("a digit") }
  }

  /// An error at the position, or at another place: what should be there, and what is.
  func unexpected(_ expected: String, at place: Int? = nil) -> JSONError {
    let place = place ?? position
    guard place < bytes.count else {
      return failure("expected \(expected), found the end of the text", at: bytes.count)
    }
    let byte = bytes[place]
    let found = 0x21...0x7E ~= byte ? "'\(Character(Unicode.Scalar(byte)))'" : "the byte 0x\(hex(byte))"
    return failure("expected \(expected), found \(found)", at: place)
  }

  func failure(_ problem: String, at offset: Int) -> JSONError {
    JSONError(problem, at: offset, of: bytes)
  }

  func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }
}
