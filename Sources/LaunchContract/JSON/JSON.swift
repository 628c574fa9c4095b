/// A JSON value that keeps what matters for fidelity: numbers as their text, members in order, duplicates too.
///
/// ```swift
/// let value = try JSON.parse(Array(#"{"total": 0.00}"#.utf8))
/// value["total"]  // .number("0.00")
/// ```
package enum JSON: Sendable, Equatable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// The number's text as it was written. Must be a number by RFC 8259, 6.
  case number(String)
  /// The text without its escapes.
  case string(String)
  /// The elements in order.
  case array([JSON])
  /// The members in order; a name may occur more than once.
  case object([Member])

  /// A name and its value in an object.
  package struct Member: Sendable, Equatable {
    /// The name without its escapes.
    package var key: String
    /// What stands under it.
    package var value: JSON

    package init(_ key: String, _ value: JSON) {
      self.key = key
      self.value = value
    }
  }

  /// Arrays and objects may lie this deep in each other; deeper ones are refused, so that no input exhausts the
  /// stack.
  package static let maximumDepth = 512

  /// Reads one JSON text (RFC 8259): UTF-8, with or without a byte order mark, and nothing after it but white space.
  ///
  /// An escape that is half of a surrogate pair becomes U+FFFD; anything else that the RFC does not allow is refused.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSON {
    var reader = JSONReader(bytes)
    let value = try reader.value()
    try reader.end()
    return value
  }

  /// Reads one JSON text; as the other `parse`.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
      try parse(UnsafeRawBufferPointer(buffer))
    }
  }

  /// The value of the first member with a name; nil if there is none, or if this is not an object.
  package subscript(_ key: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key.hasSameBytes(as: key) }?.value
  }

  /// The text of a string; nil for any other kind.
  package var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The number where it is a whole one, however it is written: 12, 12.0 and 1.2e1 are 12; nil for any other kind.
  package var int: Int? {
    guard case .number(let text) = self else { return nil }
    // A Double would round what has too many digits.
    return Int(text) ?? (text.contains { ".eE".contains($0) } ? Double(text).flatMap { Int(exactly: $0) } : nil)
  }

  /// The number, rounded to what a Double can hold; nil for any other kind.
  package var double: Double? {
    guard case .number(let text) = self else { return nil }
    return Double(text)
  }

  /// The value of `true` and `false`; nil for any other kind.
  package var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  /// The elements of an array; nil for any other kind.
  package var array: [JSON]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The members of an object; nil for any other kind.
  package var object: [Member]? {
    guard case .object(let members) = self else { return nil }
    return members
  }
}

// Swift's `==` of strings calls `é` and `e` with a combining accent equal; in a recording they are two texts
// (RFC 8259, 8.3), so strings compare by their bytes here.
extension JSON {
  /// Whether both are written the same but for white space and escapes: 1.0 is not 1, and members in another order
  /// make another value.
  package static func == (left: JSON, right: JSON) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left.hasSameBytes(as: right)
    case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}

extension JSON.Member {
  /// Whether name and value are the same.
  package static func == (left: Self, right: Self) -> Bool {
    left.key.hasSameBytes(as: right.key) && left.value == right.value
  }
}

extension String {
  /// Whether both have the same Unicode scalars.
  package func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    var (left, right) = (self, other)
    return left.withUTF8 { left in
      right.withUTF8 { right in
        var index = 0
        while index < left.count, left[index] == right[index] { index += 1 }
        return index == left.count
      }
    }
  }
}
