import HTTPMessages

import HTTPMessages

/// Media types of text in which addresses may be replaced.
package enum TextualType {
  /// Whether a body of this `Content-Type` is rewritten on its way to the app.
  package static func contains(_ contentType: String) -> Bool {
    let (type, subtype) = split(contentType)
    if type == "text" { return true }
    if subtype.hasSuffix("+json") || subtype.hasSuffix("+xml") { return true }
    guard type == "application" else { return false }
    return subtypes.contains(subtype)
  }

  /// Whether a body of this `Content-Type` is rewritten on its way from the app. Includes bodies without a type and
  /// multipart forms, whose fields are text.
  package static func mayComeFromApp(_ contentType: String?) -> Bool {
    guard let contentType, !contentType.isEmpty else { return true }
    return contains(contentType) || split(contentType).type == "multipart"
  }

  private static func split(_ contentType: String) -> (type: String, subtype: String) {
    let essence = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
      .map(\.asciiLowercased)
    let slash = essence.firstIndex(of: UInt8(ascii: "/")) ?? essence.endIndex
    return (
      String(decoding: essence[..<slash], as: UTF8.self),
      String(decoding: essence[slash...].dropFirst(), as: UTF8.self)
    )
  }

  private static let subtypes: Set<String> = [
    "json", "json-rpc", "jsonrequest", "ndjson", "x-ndjson", "jsonl", "json-seq", "xml", "xml-dtd", "javascript",
    "x-javascript", "ecmascript",
    "x-www-form-urlencoded", "graphql", "yaml", "x-yaml", "toml", "json5", "vnd.apple.mpegurl", "x-mpegurl", "dash+xml",
  ]
}
