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
    fileprivate var isFirst = true

    /// Before the first member or element.
    package init() {}
  }

  /// The whole text.
  package let bytes: UnsafeRawBufferPointer
  var position: Int
  private var depth = 0
  /// Where strings with escapes are put together; kept, so that its memory is.
  var scratch: [UInt8] = []

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
    other.scratch = []
    return other
  }

  /// The first byte of what comes next, after white space; nil at the end.
  package mutating func peek() -> UInt8? {
    while position < bytes.count {
      // Where it is indented there are many spaces.
      if position + 8 <= bytes.count,
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) == 0x2020_2020_2020_2020
      {
        position += 8
        continue
      }
      let byte = bytes[position]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      position += 1
    }
    return nil
  }

  /// Reads the value that comes next, whole.
  ///
  /// - Parameter isUnneeded: whether a member is left out, however deep it lies: it is checked, and never made.
  /// - Returns: the value.
  /// - Throws: ``JSONError`` at the first thing that is no JSON, the same whatever is left out.
  package mutating func value(omitting isUnneeded: ((String) -> Bool)? = nil) throws(JSONError) -> JSON {
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
          if let isUnneeded, isUnneeded(key) {
            try skip()
            next = nil
            continue
          }
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

  /// Reads past the value that comes next, as carefully as ``value(omitting:)``.
  package mutating func skip() throws(JSONError) {
    var open: [Container] = []
    _ = try scalar(orOpen: &open)
    while let last = open.indices.last {
      let hasMore =
        open[last].isObject
        ? try nextKey(&open[last].progress) != nil : try nextElement(&open[last].progress)
      if hasMore {
        _ = try scalar(orOpen: &open)
      } else {
        open.removeLast()
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
    guard try next(&progress, until: UInt8(ascii: "}"), "',' or '}' after a member") else { return nil }
    guard peek() == UInt8(ascii: "\"") else { throw unexpected("a member's name in quotes") }
    let key = try string()
    guard peek() == UInt8(ascii: ":") else { throw unexpected("':' after a member's name") }
    position += 1
    return key
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
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"):
      open.append(Container(isObject: true, progress: try beginObject()))
      return nil
    case UInt8(ascii: "["):
      open.append(Container(isObject: false, progress: try beginArray()))
      return nil
    case UInt8(ascii: "-"), 0x30...0x39: return .number(try number())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
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

  private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    let count = word.utf8CodeUnitCount
    let isThere =
      position + count <= bytes.count
      && (0..<count).allSatisfy { bytes[position + $0] == word.utf8Start[$0] }
    guard isThere else { throw unexpected("'\(word)'") }
    position += count
    return value
  }

  /// The text of the number at the position (RFC 8259, 6).
  private mutating func number() throws(JSONError) -> String {
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
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while position < bytes.count, 0x30...0x39 ~= bytes[position] {
      position += 1
    }
    guard position > start else { throw unexpected("a digit") }
  }

  /// An error at the position: what should be there, and what is.
  func unexpected(_ expected: String) -> JSONError {
    guard position < bytes.count else {
      return failure("expected \(expected), found the end of the text", at: bytes.count)
    }
    let byte = bytes[position]
    let found = 0x21...0x7E ~= byte ? "'\(Character(Unicode.Scalar(byte)))'" : "the byte 0x\(hex(byte))"
    return failure("expected \(expected), found \(found)", at: position)
  }

  func failure(_ problem: String, at offset: Int) -> JSONError {
    JSONError(problem, at: offset, of: bytes)
  }

  func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }
}
