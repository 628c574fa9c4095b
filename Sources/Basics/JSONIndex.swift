/// The positions of a JSON value's parts in its text. The whole value is checked; strings and numbers are decoded on
/// access.
///
/// Much cheaper than the tree of ``JSONReader/value()`` where only a part of the value is needed:
///
/// ```swift
/// var index = JSONIndex()
/// while try reader.nextElement(&elements) {
///   try index.read(&reader)
///   index.withValue { use($0["request"]?["url"]?.string) }
/// }
/// ```
///
/// An index can be reused for one value after another, and keeps its memory.
package struct JSONIndex {
  /// A value, or the name of a member, which precedes its value.
  struct Part {
    enum Kind: UInt8 { case null, yes, no, number, text, array, object }

    var kind: Kind
    /// The range in the text; for a string, without the quotes.
    var range: Range<Int>
    /// The size of a string in bytes without its escapes, or the number of elements or members.
    var length = 0
    /// The number of the part after this one and its content. While an array or object is open, the one that contains it,
    /// or -1.
    var next: Int
  }

  private var parts: [Part] = []
  private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)

  package init() {}

  /// Reads the next value.
  ///
  /// - Parameter reader: the reader, which moves past the value.
  /// - Throws: ``CodedError``, like ``JSONReader/value()``; the index is empty then.
  package mutating func read(_ reader: inout JSONReader) throws(CodedError) {
    parts.removeAll(keepingCapacity: true)
    bytes = reader.bytes
    do { try fill(&reader) } catch {
      parts = []
      throw error
    }
  }

  private mutating func fill(_ reader: inout JSONReader) throws(CodedError) {
    // The innermost open array or object; not recursive, like `JSONReader.value`.
    var open = -1
    var progress = JSONReader.Progress()
    repeat {
      if open >= 0 {
        let hasMore: Bool
        if parts[open].kind == .object {
          let name = try reader.nextName(&progress)
          if let name { append(name) }
          hasMore = name != nil
        } else {
          hasMore = try reader.nextElement(&progress)
        }
        guard hasMore else {
          let outer = parts[open].next
          parts[open].next = parts.count
          parts[open].range = parts[open].range.lowerBound..<reader.position
          open = outer
          progress.isFirst = false
          continue
        }
        parts[open].length += 1
      }
      guard let byte = reader.peek() else { throw reader.unexpected("a value") }
      let start = reader.position
      switch byte {
      case UInt8(ascii: "\""): append(try reader.text())
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let isObject = byte == UInt8(ascii: "{")
        progress = isObject ? try reader.beginObject() : try reader.beginArray()
        parts.append(Part(kind: isObject ? .object : .array, range: start..<start, next: open))
        open = parts.count - 1
      case UInt8(ascii: "-"), 0x30...0x39: append(.number, try reader.number())
      case UInt8(ascii: "t"):
        try reader.word("true")
        append(.yes, start..<reader.position)
      case UInt8(ascii: "f"):
        try reader.word("false")
        append(.no, start..<reader.position)
      case UInt8(ascii: "n"):
        try reader.word("null")
        append(.null, start..<reader.position)
      default: throw reader.unexpected("a value")
      }
    } while open >= 0
  }

  private mutating func append(_ kind: Part.Kind, _ range: Range<Int>) {
    parts.append(Part(kind: kind, range: range, next: parts.count + 1))
  }

  private mutating func append(_ text: JSONText) {
    parts.append(Part(kind: .text, range: text.range, length: text.length, next: parts.count + 1))
  }

  /// Calls `body` with the value that was read. The value is valid only in the closure, and only while the text exists.
  package func withValue<Result, Failure: Error>(
    _ body: (Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try parts.withUnsafeBufferPointer { (parts) throws(Failure) in
      precondition(!parts.isEmpty, "no value was read")
      return try body(Value(parts: parts, bytes: bytes, index: 0))
    }
  }

  /// A value, with the accessors of ``JSON``.
  package struct Value {
    let parts: UnsafeBufferPointer<Part>
    let bytes: UnsafeRawBufferPointer
    let index: Int

    private var part: Part { parts[index] }

    /// The value of the first member with a name; nil if there is none, or if this is not an object.
    package subscript(_ key: StaticString) -> Value? {
      guard part.kind == .object else { return nil }
      var name = index + 1
      while name < part.next {
        if isName(parts[name], key) { return at(name + 1) }
        name = parts[name + 1].next
      }
      return nil
    }

    private func isName(_ part: Part, _ key: StaticString) -> Bool {
      guard part.length == key.utf8CodeUnitCount else { return false }
      let key = UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)
      let text = JSONText(range: part.range, length: part.length)
      return text.hasEscapes
        ? JSONReader(bytes).utf8(text).elementsEqual(key) : bytes[part.range].elementsEqual(key)
    }

    private func at(_ index: Int) -> Value { Value(parts: parts, bytes: bytes, index: index) }

    /// Whether it is `null`.
    package var isNull: Bool { part.kind == .null }

    /// Whether it is an object.
    package var isObject: Bool { part.kind == .object }

    /// The size of a string in bytes; nil for any other kind.
    package var length: Int? { part.kind == .text ? part.length : nil }

    /// The text of a string; nil for any other kind.
    package var string: String? { text.map { JSONReader(bytes).string($0) } }

    /// The text of a string as UTF-8; nil for any other kind.
    package var utf8: [UInt8]? { text.map { JSONReader(bytes).utf8($0) } }

    /// The text of a string, number or Boolean; nil for any other kind.
    package var scalar: String? {
      switch part.kind {
      case .text: string
      case .number, .yes, .no: String(decoding: bytes[part.range], as: UTF8.self)
      default: nil
      }
    }

    /// A copy of the value.
    package var json: JSON {
      switch part.kind {
      case .null: return .null
      case .yes: return .bool(true)
      case .no: return .bool(false)
      case .number: return .number(scalar ?? "")
      case .text: return .string(string ?? "")
      case .array: return .array((array.map(Array.init) ?? []).map(\.json))
      case .object:
        var members: [JSON.Member] = []
        var name = index + 1
        while name < part.next {
          members.append(.init(at(name).string ?? "", at(name + 1).json))
          name = parts[name + 1].next
        }
        return .object(members)
      }
    }

    private var text: JSONText? {
      part.kind == .text ? JSONText(range: part.range, length: part.length) : nil
    }

    /// The integer, like ``JSON/int``.
    package var int: Int? {
      guard part.kind == .number else { return nil }
      let text = bytes[part.range]
      // So few digits cannot overflow.
      guard text.count <= 18, text.allSatisfy({ 0x30...0x39 ~= $0 }) else { return number?.int }
      return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// The number, rounded to a Double; nil for any other kind.
    package var double: Double? { number?.double }

    private var number: JSON? {
      part.kind == .number ? .number(String(decoding: bytes[part.range], as: UTF8.self)) : nil
    }

    /// The value of `true` and `false`; nil for any other kind.
    package var bool: Bool? {
      switch part.kind {
      case .yes: true
      case .no: false
      default: nil
      }
    }

    /// The elements of an array; nil for any other kind.
    package var array: Elements? {
      part.kind == .array ? Elements(value: self, index: index + 1) : nil
    }

    /// The elements of an array in order.
    package struct Elements: Sequence, IteratorProtocol {
      fileprivate let value: Value
      fileprivate var index: Int

      /// The number of all elements.
      package var count: Int { value.part.length }

      package mutating func next() -> Value? {
        guard index < value.part.next else { return nil }
        defer { index = value.parts[index].next }
        return value.at(index)
      }
    }
  }
}
