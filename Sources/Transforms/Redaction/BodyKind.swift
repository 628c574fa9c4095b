/// What a body is made of, as far as redaction goes.
package indirect enum BodyKind: Equatable {
  case json, form, multipart, markup, text, other
  /// No type, that of a form, or plain text, which say little: it may be JSON, which begins with `{` or `[`.
  case unsaid(BodyKind)

  package init(contentType: String?) {
    let essence = (contentType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    switch essence {
    case "", "text/plain": self = .unsaid(.text)
    case "application/x-www-form-urlencoded": self = .unsaid(.form)
    case "application/json", "text/json", "application/ndjson", "application/x-ndjson", "application/jsonl",
      "application/json-seq",
      // Each event's data is a document of its own.
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

  /// How marks are written in it.
  var spelling: RedactionMark.Spelling {
    switch self {
    case .form: .percent
    case .markup: .markup
    case .json, .multipart, .text, .other, .unsaid: .plain
    }
  }
}
