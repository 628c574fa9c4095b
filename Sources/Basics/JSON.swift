/// A JSON value that keeps numbers as text, and members in order, including duplicates.
///
/// ```swift
/// let value = try JSON.parse(Array(#"{"total": 0.00}"#.utf8))
/// value["total"]  // .number("0.00")
/// ```
package enum JSON: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// The text of the number as written: a number by RFC 8259, 6.
  case number(String)
  /// The text without its escapes.
  case string(String)
  /// The elements in order.
  case array([JSON])
  /// The members in order; a name may repeat.
  case object([Member])

  /// A name and its value in an object.
  package struct Member: Sendable, Hashable {
    /// The name without its escapes.
    package var key: String
    /// The value.
    package var value: JSON

    package init(_ key: String, _ value: JSON) {
      self.key = key
      self.value = value
    }
  }

  /// The maximum nesting of arrays and objects, so that no input exhausts the stack.
  package static let maximumDepth = 512

  /// Parses a JSON text (RFC 8259) in UTF-8, with or without a byte order mark.
  ///
  /// Half of an escaped surrogate pair becomes U+FFFD; anything else that the RFC does not allow is an error.
  ///
  /// - Parameters:
  ///   - bytes: the text.
  ///   - name: the name of the text, for errors.
  ///   - advice: what to do about an error.
  /// - Returns: the value.
  /// - Throws: ``CodedError`` of kind `broken`, with the line and the column.
  package static func parse(
    _ bytes: UnsafeRawBufferPointer, name: String = "", advice: String = ""
  ) throws(CodedError) -> JSON {
    var reader = JSONReader(bytes, name: name, advice: advice)
    let value = try reader.value()
    try reader.end()
    return value
  }

  /// Parses a JSON text, like the other `parse`.
  package static func parse(_ bytes: [UInt8], name: String = "", advice: String = "") throws(CodedError) -> JSON {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CodedError) in
      try parse(UnsafeRawBufferPointer(buffer), name: name, advice: advice)
    }
  }

  /// The value of the first member with a name; nil if there is none, or for any other kind.
  package subscript(_ key: String) -> JSON? {
    object?[key]
  }

  /// An integer.
  package static func int(_ value: Int) -> JSON { .number(String(value)) }

  /// A number with a fraction, such as 10.0.
  package static func double(_ value: Double) -> JSON { .number("\(value)") }

  /// An object, sorted by name.
  package static func object(_ members: [String: JSON]) -> JSON {
    .object(members.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) })
  }

  /// The text of a string; nil for any other kind.
  package var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The integer, however written: 12, 12.0 and 1.2e1 are 12; nil for any other kind.
  package var int: Int? {
    guard case .number(let text) = self else { return nil }
    // A Double would round what has too many digits.
    return Int(text) ?? (text.contains { ".eE".contains($0) } ? Double(text).flatMap { Int(exactly: $0) } : nil)
  }

  /// The number, rounded to a Double; nil for any other kind.
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

  /// The members of an object by name, of duplicates the first; nil for any other kind.
  package var dictionary: [String: JSON]? {
    object.map { Dictionary($0.lazy.map { ($0.key, $0.value) }) { first, _ in first } }
  }

  /// A string unchanged; other values as JSON.
  package var text: String { string ?? String(decoding: encoded(), as: UTF8.self) }
}

// Swift's `==` treats `é` and `e` with a combining accent as equal. In a recording they differ (RFC 8259, 8.3), so strings
// are compared by their bytes here.
extension JSON {
  /// Whether both have the same text except for white space and escapes: 1.0 is not 1, and the order of members counts.
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

extension [JSON.Member] {
  /// The value of the first member with a name. Setting nil removes the member; a new member is appended.
  package subscript(_ name: String) -> JSON? {
    get { first { $0.key.hasSameBytes(as: name) }?.value }
    set {
      let index = firstIndex { $0.key.hasSameBytes(as: name) }
      switch (index, newValue) {
      case (let index?, let value?): self[index].value = value
      case (let index?, nil): remove(at: index)
      case (nil, let value?): append(.init(name, value))
      case (nil, nil): break
      }
    }
  }
}

extension [String: JSON] {
  /// Applies a merge patch (RFC 7396): null removes a member, an object is merged into an existing one, and any other value
  /// replaces the old one.
  package mutating func merge(patch: [String: JSON]) {
    for (name, change) in patch {
      if change == .null {
        self[name] = nil
      } else if let members = change.dictionary {
        var target = self[name]?.dictionary ?? [:]
        target.merge(patch: members)
        self[name] = .object(target)
      } else {
        self[name] = change
      }
    }
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
