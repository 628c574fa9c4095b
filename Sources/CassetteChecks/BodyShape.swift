import Basics
import Cassettes
import LaunchContract

/// The structure of a body, determined by its content type, or by its content if the type is unspecific.
enum BodyShape {
  case none
  /// A body with fields. Formats other than JSON are converted to JSON.
  case tree(JSON, Format)
  /// A web page, as the set of its elements and named controls.
  case page(Set<String>)
  /// Text or binary data without fields.
  case bytes

  enum Format {
    case json, lines, form, markup
  }

  /// - Parameters:
  ///   - body: the body without transfer coding and content coding.
  ///   - contentType: the value of `Content-Type`.
  init(_ body: [UInt8], contentType: String?) {
    guard !body.isEmpty else {
      self = .none
      return
    }
    let type = MediaType(contentType)
    switch type.essence {
    case "application/json", "text/json": self = Self.json(body) ?? .bytes
    case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
      self = Self.lines(body) ?? .bytes
    case "application/x-www-form-urlencoded": self = .tree(Self.form(body), .form)
    case "text/html", "application/xhtml+xml": self = .page(Markup.parts(ofPage: body))
    case "application/xml", "text/xml": self = Markup.tree(body).map { .tree($0, .markup) } ?? .bytes
    case "", "text/plain": self = Self.looksLikeJSON(body) ? Self.json(body) ?? .bytes : .bytes
    case let essence where essence.hasSuffix("+json"): self = Self.json(body) ?? .bytes
    case let essence where essence.hasSuffix("+xml"): self = Markup.tree(body).map { .tree($0, .markup) } ?? .bytes
    default: self = .bytes
    }
  }

  /// A short description for messages.
  var title: String {
    switch self {
    case .none: "empty"
    case .tree(_, .json): "JSON"
    case .tree(_, .lines): "lines of JSON"
    case .tree(_, .form): "a form"
    case .tree(_, .markup): "XML"
    case .page: "a page"
    case .bytes: "other content"
    }
  }

  private static func json(_ body: [UInt8]) -> BodyShape? {
    (try? JSON.parse(body)).map { .tree($0, .json) }
  }

  private static func lines(_ body: [UInt8]) -> BodyShape? {
    var values: [JSON] = []
    for line in body.split(separator: 0x0A) where line.contains(where: { $0 > 0x20 }) {
      guard let value = try? JSON.parse(Array(line)) else { return nil }
      values.append(value)
    }
    return .tree(.array(values), .lines)
  }

  private static func form(_ body: [UInt8]) -> JSON {
    body.withUnsafeBytes { QueryItems($0).json }
  }

  private static func looksLikeJSON(_ body: [UInt8]) -> Bool {
    let first = body.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }
}

extension QueryItems {
  /// All items as an object. Items that occur more than once become an array.
  var json: JSON {
    var names: [String] = []
    var values: [String: [JSON]] = [:]
    for item in items {
      let name = String(decoding: text[item.name], as: UTF8.self)
      if values[name] == nil { names.append(name) }
      values[name, default: []].append(.string(item.value.map { String(decoding: text[$0], as: UTF8.self) } ?? ""))
    }
    return .object(
      names.map { name in
        let all = values[name] ?? []
        return JSON.Member(name, all.count == 1 ? all[0] : .array(all))
      })
  }
}

/// A parsed `Content-Type`.
struct MediaType {
  /// Type and subtype in lower case; empty if there is no content type.
  let essence: String
  /// The parameters as written.
  let parameters: String

  init(_ value: String?) {
    let parts = (value ?? "").split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
    essence = Self.trimmed(parts.first ?? "").lowercased()
    parameters = parts.count == 2 ? Self.trimmed(parts[1]) : ""
  }

  static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
