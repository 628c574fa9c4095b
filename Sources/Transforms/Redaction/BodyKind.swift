/// The structure of a body, which determines how it is redacted.
package indirect enum BodyKind: Equatable {
  case json, form, multipart, markup, text, other
  /// No type, the form type or plain text. These types are used for anything, so a body that begins with `{` or `[` is
  /// treated as JSON; otherwise the associated kind applies.
  case unsaid(BodyKind)

  package init(contentType: String?) {
    let essence = (contentType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    switch essence {
    case "", "text/plain": self = .unsaid(.text)
    case "application/x-www-form-urlencoded": self = .unsaid(.form)
    case "application/json", "text/json", "application/ndjson", "application/x-ndjson", "application/jsonl",
      "application/json-seq",
      // The data of each event is a separate document.
      "text/event-stream":
      self = .json
    case "text/html", "text/xml", "application/xml": self = .markup
    case let type where type.hasPrefix("multipart/"): self = .multipart
    case let type where type.hasSuffix("+json"): self = .json
    case let type where type.hasSuffix("+xml"): self = .markup
    case let type where type.hasPrefix("text/"): self = .text
    default: self = .other
    }
  }

  /// How to write marks in the body.
  var spelling: RedactionMark.Spelling {
    switch self {
    case .form: .percent
    case .markup: .markup
    case .json, .multipart, .text, .other, .unsaid: .plain
    }
  }
}
