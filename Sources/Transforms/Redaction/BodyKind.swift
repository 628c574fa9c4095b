import HTTPMessages

/// The structure of a body, which determines how it is redacted.
package indirect enum BodyKind: Equatable {
  case json, form, multipart, markup, text, grpc, other
  /// No type, the form type or plain text. These types are used for anything, so a body that begins with `{` or `[` is
  /// treated as JSON; otherwise the associated kind applies.
  case unsaid(BodyKind)

  package init(contentType: String?) {
    switch Self.essence(of: contentType ?? "") {
    case "", "text/plain": self = .unsaid(.text)
    case "application/x-www-form-urlencoded": self = .unsaid(.form)
    case "application/json", "text/json", "application/json-rpc", "application/jsonrequest", "application/ndjson",
      "application/x-ndjson", "application/jsonl",
      "application/json-seq",
      // The data of each event is a separate document.
      "text/event-stream":
      self = .json
    case "text/html", "text/xml", "application/xml": self = .markup
    case let type where type.hasPrefix("multipart/"): self = .multipart
    case let type where GRPCFraming(contentType: type).map { $0 != .webText } ?? false: self = .grpc
    case let type where type.hasSuffix("+json"): self = .json
    case let type where type.hasSuffix("+xml"): self = .markup
    case let type where type.hasPrefix("text/"): self = .text
    default: self = .other
    }
  }

  /// The media type without its parameters, in lowercase and without white space.
  private static func essence(of contentType: String) -> String {
    let bytes = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
    // Most have this form already.
    guard bytes.contains(where: { $0 <= 0x20 || 0x41...0x5A ~= $0 || $0 >= 0x80 }) else {
      return bytes.count == contentType.utf8.count ? contentType : String(Substring(bytes))
    }
    return Substring(bytes).lowercased().filter { $0 != " " && $0 != "\t" }
  }

  /// How to write marks in the body.
  var spelling: RedactionMark.Spelling {
    switch self {
    case .form: .percent
    case .markup: .markup
    case .grpc: .filled
    case .json, .multipart, .text, .other, .unsaid: .plain
    }
  }
}
