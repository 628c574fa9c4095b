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
  ///   - style: the parameter's style; nil for the default.
  /// - Returns: a value of one of the schema's types if the text can be read as one, otherwise a string.
  static func json(
    _ text: String, _ schema: Node, _ document: OpenAPIDocument, all: [String], style: String? = nil
  ) -> JSON {
    var ignored: [OpenAPIDocument.Unsupported] = []
    let schemas = alternatives(schema, document)
    let types = schemas.flatMap(types)
    if let list = schemas.first(where: { Self.types($0).contains("array") }) {
      let separator: Character = style == "pipeDelimited" ? "|" : style == "spaceDelimited" ? " " : ","
      let texts = all.count > 1 ? all : text.split(separator: separator).map(String.init)
      guard let items = list["items"].flatMap({ document.resolved($0, &ignored) }) else {
        return .array(texts.map { .string($0) })
      }
      return .array(texts.map { json($0, items, document, all: [$0]) })
    }
    guard !types.contains("string") else { return .string(text) }
    let value = try? JSON.parse(Array(text.utf8))
    switch value {
    case .number? where types.contains("number") || types.contains("integer"): return value ?? .null
    case .bool? where types.contains("boolean"): return value ?? .null
    default: return .string(text)
    }
  }

  private static func types(_ schema: Node) -> [String] {
    schema.json["type"]?.array?.compactMap(\.string) ?? schema.json["type"]?.string.map { [$0] } ?? []
  }

  /// A schema and the schemas that it combines, such as those of `anyOf`.
  private static func alternatives(_ schema: Node, _ document: OpenAPIDocument) -> [Node] {
    var ignored: [OpenAPIDocument.Unsupported] = []
    var found: [Node] = []
    var open = [schema]
    while let next = open.popLast(), found.count < 32 {
      guard let node = document.resolved(next, &ignored) else { continue }
      found.append(node)
      for word in ["anyOf", "oneOf", "allOf"] { open += node[word]?.elements ?? [] }
    }
    return found
  }

  /// Converts the items of a form to the types of the schema's properties.
  static func form(_ form: JSON, _ schema: Node, _ document: OpenAPIDocument) -> JSON {
    var ignored: [OpenAPIDocument.Unsupported] = []
    // A form has no item for an empty list.
    let lists = (schema["required"]?.elements ?? []).compactMap(\.json.string).filter { name in
      guard form[name] == nil, let property = schema["properties"]?[name] else { return false }
      return document.resolved(property, &ignored)?.json["type"]?.string == "array"
    }
    return .object(
      lists.map { .init($0, .array([])) }
        + (form.object ?? []).map { member in
          let values = member.value.array?.compactMap(\.string) ?? [member.value.string ?? ""]
          guard let property = schema["properties"]?[member.key].flatMap({ document.resolved($0, &ignored) }) else {
            return member
          }
          return .init(member.key, json(values[0], property, document, all: values))
        })
  }
}
