extension JSON {
  /// The layout of encoded JSON.
  package enum Style: Sendable {
    /// One line without white space.
    case compact
    /// One line with a space after each colon and comma.
    case line
    /// One line for each element and member, indented by two spaces per level. Arrays of numbers only stay on one
    /// line.
    case pretty
  }

  /// Appends the value's JSON text.
  ///
  /// Members keep their order and numbers their text; only characters that must be escaped are. Equal values always
  /// give the same bytes.
  ///
  /// - Parameters:
  ///   - output: the buffer to append to.
  ///   - style: the layout.
  ///   - level: for `.pretty`, the indentation level of the surrounding text.
  package func encode(into output: inout [UInt8], style: Style, level: Int = 0) {
    // Not recursive, like parsing: see `JSONReader.value`.
    var open: [Container] = []
    begin(into: &output, &open)
    while let container = open.last {
      let depth = level + open.count
      guard container.next < container.count else {
        if style == .pretty, !container.isFlat, container.count > 0 { Self.newLine(depth - 1, into: &output) }
        output.append(UInt8(ascii: container.isObject ? "}" : "]"))
        open.removeLast()
        continue
      }
      if container.next > 0 { output.append(UInt8(ascii: ",")) }
      if style == .pretty, !container.isFlat { Self.newLine(depth, into: &output) }
      if style == .line || (style == .pretty && container.isFlat), container.next > 0 {
        output.append(UInt8(ascii: " "))
      }
      open[open.count - 1].next += 1
      guard container.isObject else {
        container.elements[container.next].begin(into: &output, &open)
        continue
      }
      let member = container.members[container.next]
      Self.encode(member.key, into: &output)
      output.append(UInt8(ascii: ":"))
      if style != .compact { output.append(UInt8(ascii: " ")) }
      member.value.begin(into: &output, &open)
    }
  }

  /// An array or object being written.
  private struct Container {
    var isObject = false
    var elements: [JSON] = []
    var members: [Member] = []
    var next = 0
    /// Whether it stays on one line in any style.
    var isFlat = false

    var count: Int { isObject ? members.count : elements.count }
  }

  /// Writes a scalar value, or the opening bracket of a container.
  private func begin(into output: inout [UInt8], _ open: inout [Container]) {
    switch self {
    case .null: output.append(contentsOf: "null".utf8)
    case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let text): output.append(contentsOf: text.utf8)
    case .string(let text): Self.encode(text, into: &output)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      var isFlat = true
      for element in elements {
        if case .number = element { continue }
        isFlat = false
        break
      }
      open.append(Container(elements: elements, isFlat: isFlat))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      open.append(Container(isObject: true, members: members))
    }
  }

  /// The value's JSON text.
  package func encoded(_ style: Style = .compact) -> [UInt8] {
    var output: [UInt8] = []
    encode(into: &output, style: style)
    return output
  }

  /// Appends a line break and the indentation of a level.
  fileprivate static func newLine(_ level: Int, into output: inout [UInt8]) {
    output.append(0x0A)
    for _ in 0..<level * 2 { output.append(0x20) }
  }

  /// Appends a string in quotes.
  package static func encode(_ text: String, into output: inout [UInt8]) {
    var text = text
    output.append(UInt8(ascii: "\""))
    text.withUTF8 { bytes in
      var runStart = 0
      for index in bytes.indices {
        let byte = bytes[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        output.append(contentsOf: bytes[runStart..<index])
        runStart = index + 1
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case 0..<0x20:
          let digits = byte & 0x0F
          output.append(contentsOf: (byte < 0x10 ? "u000" : "u001").utf8)
          output.append(digits < 10 ? 0x30 + digits : 0x61 + digits - 10)
        default: output.append(byte)
        }
      }
      output.append(contentsOf: bytes[runStart...])
    }
    output.append(UInt8(ascii: "\""))
  }
}

/// Writes JSON text piece by piece, in the same layout as ``JSON/encode(into:style:level:)`` but without a tree: for
/// large or frequent texts. Names of members are written as they are, without escapes.
///
/// ```swift
/// var writer = JSONWriter(style: .compact)
/// writer.object { $0.member("status", number: "200") }
/// ```
package struct JSONWriter {
  /// The text so far.
  package private(set) var output: [UInt8]
  private let style: JSON.Style
  private var level: Int
  /// Whether the open array or object is still empty.
  private var isEmpty = true

  /// - Parameters:
  ///   - output: the text to append to.
  ///   - style: the layout.
  ///   - level: for `.pretty`, the indentation level of the surrounding text.
  ///   - capacity: how many bytes to allocate at first.
  package init(_ output: [UInt8] = [], style: JSON.Style, level: Int = 0, capacity: Int = 0) {
    self.output = output
    self.output.reserveCapacity(capacity)
    self.style = style
    self.level = level
  }

  /// Writes an object; the closure writes its members.
  package mutating func object(_ members: (inout JSONWriter) -> Void) {
    container(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
  }

  /// Writes an array; the closure writes each of its elements with ``element(_:)``.
  package mutating func array(_ elements: (inout JSONWriter) -> Void) {
    container(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
  }

  /// Writes an element of an array; the closure writes its members.
  package mutating func element(_ members: (inout JSONWriter) -> Void) {
    separate()
    object(members)
  }

  /// Writes a member; the closure writes its value.
  package mutating func member(_ name: StaticString, _ value: (inout JSONWriter) -> Void) {
    key(name)
    value(&self)
  }

  /// Writes a member that is a string.
  package mutating func member(_ name: StaticString, string: String) {
    key(name)
    JSON.encode(string, into: &output)
  }

  /// Writes a member that is a number, given as JSON.
  package mutating func member(_ name: StaticString, number: String) {
    key(name)
    output.append(contentsOf: number.utf8)
  }

  /// Writes a member that is any value.
  package mutating func member(_ name: StaticString, _ value: JSON) {
    key(name)
    value.encode(into: &output, style: style, level: level)
  }

  private mutating func container(_ opening: UInt8, _ closing: UInt8, _ content: (inout JSONWriter) -> Void) {
    output.append(opening)
    level += 1
    isEmpty = true
    content(&self)
    level -= 1
    if !isEmpty, style == .pretty { JSON.newLine(level, into: &output) }
    output.append(closing)
    isEmpty = false
  }

  /// Separates a member or element from the one before.
  private mutating func separate() {
    if !isEmpty { output.append(UInt8(ascii: ",")) }
    if style == .pretty { JSON.newLine(level, into: &output) }
    if style == .line, !isEmpty { output.append(0x20) }
    isEmpty = false
  }

  private mutating func key(_ name: StaticString) {
    separate()
    output.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { output.append(contentsOf: $0) }
    output.append(UInt8(ascii: "\""))
    output.append(UInt8(ascii: ":"))
    if style != .compact { output.append(0x20) }
  }
}
