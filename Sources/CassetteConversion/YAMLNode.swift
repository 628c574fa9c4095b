import Cassettes
import LaunchContract

/// A value of a YAML file, or of a JSON file that says the same, with its place there.
package struct YAMLNode: Sendable {
  enum Content: Sendable {
    case null
    /// A scalar of any kind, as it is written: whoever reads it knows what it is to be.
    case text(String)
    /// A scalar that was written in Base64 (`!binary`, `!!binary`).
    case bytes([UInt8])
    case sequence([YAMLNode])
    /// In order; a name may occur more than once.
    case mapping([(key: String, value: YAMLNode)])
  }

  var content: Content
  /// Line and column, from 1; nil in a JSON file.
  var place: (line: Int, column: Int)?
  /// Whether it is a scalar without quotes, which may be a number or a boolean where somebody wants it so.
  var isPlain = false

  /// The value under a name: the last, as YAML's readers have it; nil where there is none, or it is null.
  subscript(_ key: String) -> YAMLNode? {
    guard let value = mapping?.last(where: { $0.key.hasSameBytes(as: key) })?.value, !value.isNull else { return nil }
    return value
  }

  var isNull: Bool {
    if case .null = content { true } else { false }
  }

  /// A scalar as text; bytes that are no UTF-8 are taken for ISO 8859-1.
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
  /// What a JSON file has in the place of a YAML file: VCR and vcrpy can write both.
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
