import HTTPMessages

/// Media types whose content is text in which addresses may be replaced.
enum TextualType {
  /// Whether a body of this `Content-Type` is rewritten on its way to the app.
  static func contains(_ contentType: String) -> Bool {
    let (type, subtype) = split(contentType)
    if type == "text" { return true }
    if subtype.hasSuffix("+json") || subtype.hasSuffix("+xml") { return true }
    guard type == "application" else { return false }
    return subtypes.contains(subtype)
  }

  /// Whether a body of this `Content-Type` is rewritten on its way from the app: also one without a type, and
  /// multipart forms, whose fields are text.
  static func mayComeFromApp(_ contentType: String?) -> Bool {
    guard let contentType, !contentType.isEmpty else { return true }
    return contains(contentType) || split(contentType).type == "multipart"
  }

  private static func split(_ contentType: String) -> (type: String, subtype: String) {
    let essence = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    let parts = essence.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
  }

  private static let subtypes: Set<String> = [
    "json", "ndjson", "x-ndjson", "jsonl", "json-seq", "xml", "xml-dtd", "javascript", "x-javascript", "ecmascript",
    "x-www-form-urlencoded", "graphql", "yaml", "x-yaml", "toml", "json5", "vnd.apple.mpegurl", "x-mpegurl", "dash+xml",
  ]
}
