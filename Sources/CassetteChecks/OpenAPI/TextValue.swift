import Basics
import Cassettes
import LaunchContract

/// Conversion of text in parameters and forms to the types of a schema.
enum TextValue {
  typealias Node = OpenAPIDocument.Node

  /// - Parameters:
  ///   - text: one value.
  ///   - schema: the schema of the value.
  ///   - document: the document that contains the schema.
  ///   - all: all values with the same name, for a list.
  /// - Returns: a value of the schema's type if the text can be read as one, otherwise a string.
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
      // Without an explicit type any alternative may apply, so the value stays a string.
      return .string(text)
    }
  }

  /// Converts the items of a form to the types of the schema's properties.
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
