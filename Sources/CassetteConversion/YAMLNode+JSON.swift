package import Basics
import Cassettes
import LaunchContract

extension YAMLNode {
  /// The value as JSON by YAML's core schema (YAML 1.2.2, section 10.3): plain scalars that look like numbers or
  /// Booleans become such values. Duplicate names are kept; the last one counts.
  package var json: JSON {
    switch content {
    case .null: .null
    case .text(let text): isPlain ? Self.scalar(text) : .string(text)
    case .bytes(let bytes): .string(Base64.encode(bytes))
    case .sequence(let elements): .array(elements.map(\.json))
    case .mapping(let members): .object(members.map { JSON.Member($0.key, $0.value.json) })
    }
  }

  private static func scalar(_ text: String) -> JSON {
    switch text {
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    default: break
    }
    guard let first = text.utf8.first, 0x30...0x39 ~= first || first == UInt8(ascii: "-") || first == UInt8(ascii: "+"),
      !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "x") }), let number = Double(text), number.isFinite
    else { return .string(text) }
    // A valid JSON number keeps its text; others, such as `007`, are converted.
    if (try? JSON.parse(Array(text.utf8))) != nil { return .number(text) }
    return Int(text).map { .number("\($0)") } ?? .number("\(number)")
  }
}
