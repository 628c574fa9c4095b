import Cassettes
import LaunchContract

/// Text that stands for a value of another type: parameters and forms have nothing but text.
enum TextValue {
  typealias Node = OpenAPIDocument.Node

  /// - Parameters:
  ///   - text: one value.
  ///   - schema: what it is to be.
  ///   - document: the schema's.
  ///   - all: all values of that name, for a list.
  /// - Returns: the value of the schema's type where the text can be read so, else a string.
  static func json(_ text: String, _ schema: Node, _ document: OpenAPIDocument, all: [String]) -> JSON {
    var ignored: [OpenAPIDocument.Unsupported] = []
    let types = schema.json["type"]?.array?.compactMap(\.string) ?? schema.json["type"]?.string.map { [$0] } ?? []
    if types.contains("array") {
      let texts = all.count > 1 ? all : text.split(separator: ",").map(String.init)
      guard let items = schema["items"].flatMap({ document.resolved($0, &ignored) }) else {
        return .array(texts.map { .string($0) })
      }
      return .array(texts.map { json($0, items, document, all: [$0]) })
    }
    guard !types.contains("string") else { return .string(text) }
    let value = try? JSON.parse(Array(text.utf8))
    switch value {
    case .number? where types.contains("number") || types.contains("integer"): return value ?? .null
    case .bool? where types.contains("boolean"): return value ?? .null
    default:
      // Without a type of its own, any of the alternatives may be meant: a number is one only where text is not.
      return .string(text)
    }
  }

  /// The items of a form by the types of a schema's properties.
  static func form(_ form: JSON, _ schema: Node, _ document: OpenAPIDocument) -> JSON {
    var ignored: [OpenAPIDocument.Unsupported] = []
    return .object(
      (form.object ?? []).map { member in
        let values = member.value.array?.compactMap(\.string) ?? [member.value.string ?? ""]
        guard let property = schema["properties"]?[member.key].flatMap({ document.resolved($0, &ignored) }) else {
          return member
        }
        return .init(member.key, json(values[0], property, document, all: values))
      })
  }
}
