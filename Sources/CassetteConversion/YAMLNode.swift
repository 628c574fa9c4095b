import Basics
import Cassettes

/// A value of a YAML file, or of a JSON file with the same content, with its position.
package struct YAMLNode: Sendable {
  enum Content: Sendable {
    case null
    /// A scalar of any kind as written. The reader decides how to interpret it.
    case text(String)
    /// A scalar that was written in Base64 (`!binary`, `!!binary`).
    case bytes([UInt8])
    case sequence([YAMLNode])
    /// Members in order; names may occur more than once.
    case mapping([(key: String, value: YAMLNode)])
  }

  var content: Content
  /// Line and column, from 1; nil in a JSON file.
  var place: (line: Int, column: Int)?
  /// Whether it is a scalar without quotation marks, which may be read as a number or a Boolean.
  var isPlain = false

  /// The value of a name: the last one, as in other YAML readers. Nil if the name is missing or its value is null.
  subscript(_ key: String) -> YAMLNode? {
    guard let value = mapping?.last(where: { $0.key.hasSameBytes(as: key) })?.value, !value.isNull else { return nil }
    return value
  }

  var isNull: Bool {
    if case .null = content { true } else { false }
  }

  /// A scalar as text. Bytes that are not valid UTF-8 are decoded as ISO 8859-1.
  var text: String? {
    switch content {
    case .text(let text): text
    case .bytes(let bytes):
      String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    default: nil
    }
  }

  /// A scalar as bytes.
  var bytes: [UInt8]? {
    switch content {
    case .text(let text): Array(text.utf8)
    case .bytes(let bytes): bytes
    default: nil
    }
  }

  var sequence: [YAMLNode]? {
    guard case .sequence(let elements) = content else { return nil }
    return elements
  }

  var mapping: [(key: String, value: YAMLNode)]? {
    guard case .mapping(let members) = content else { return nil }
    return members
  }
}

extension YAMLNode {
  /// Converts a JSON value, because VCR and vcrpy can also write JSON.
  init(_ value: JSON) {
    switch value {
    case .null: content = .null
    case .bool(let value): content = .text("\(value)")
    case .number(let text), .string(let text): content = .text(text)
    case .array(let elements): content = .sequence(elements.map { YAMLNode($0) })
    case .object(let members): content = .mapping(members.map { ($0.key, YAMLNode($0.value)) })
    }
  }
}
