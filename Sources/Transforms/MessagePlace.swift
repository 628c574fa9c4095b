import Basics

/// A place in a message, as settings name it: `$.expires_at`, `header:X-Expires`, `query:since` or `form:since`.
enum MessagePlace {
  case json(JSONPath)
  /// The names are in lower case.
  case header(String)
  case query(String)
  case form(String)

  /// - Throws: `CodedError` if the text names no place, or one that cannot be found in a stream.
  init(_ text: String) throws(CodedError) {
    if text.hasPrefix("$") {
      let path = try JSONPath(text)
      guard !path.countsFromEnd else {
        throw CodedError(.broken, "'\(text)' counts from the end, which a stream has not reached; write [*]")
      }
      self = .json(path)
      return
    }
    let parts = text.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else {
      throw CodedError(
        .broken,
        "'\(text.prefix(80))' is not a place; use a JSON path ($.expires_at), header:NAME, query:NAME or form:NAME"
      )
    }
    let name = parts[1].lowercased()
    switch parts[0] {
    case "header": self = .header(name)
    case "query": self = .query(name)
    case "form": self = .form(name)
    default:
      throw CodedError(
        .broken,
        "'\(text.prefix(80))': there is no place '\(parts[0].prefix(20))'; there are $…, header:, query: and form:")
    }
  }
}
