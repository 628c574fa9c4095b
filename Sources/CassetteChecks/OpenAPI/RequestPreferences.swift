import Basics
import HTTPMessages

/// The response that a request selects with the header field `Prefer` (RFC 7240), as in
/// `Prefer: code=404, example=gone`.
struct RequestPreferences: Equatable {
  /// The status, as written.
  var code: String?
  /// The name of an example.
  var example: String?
  /// `true` for a generated body even if there are examples, as written.
  var dynamic: String?

  init(_ headers: Headers) {
    // "If any preference is specified more than once, only the first instance is to be considered."
    for text in headers.all("Prefer") {
      for (name, value) in Self.pairs(text) {
        switch name {
        case "code": code = code ?? value
        case "example": example = example ?? value
        case "dynamic": dynamic = dynamic ?? (value.isEmpty ? "true" : value)
        default: break
        }
      }
    }
  }

  /// The preferences in a field. They may also be separated by semicolons, which start a parameter in the RFC.
  private static func pairs(_ text: String) -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    var name = ""
    var value = ""
    var isValue = false
    var isQuoted = false
    var isEscaped = false
    for character in text + "," {
      if isEscaped {
        value.append(character)
        isEscaped = false
      } else if isQuoted {
        switch character {
        case "\\": isEscaped = true
        case "\"": isQuoted = false
        default: value.append(character)
        }
      } else {
        switch character {
        case ",", ";":
          if !name.isEmpty { pairs.append((name.lowercased(), value)) }
          (name, value, isValue) = ("", "", false)
        case "=" where !isValue: isValue = true
        case "\"" where isValue: isQuoted = true
        case " ", "\t": break
        default: if isValue { value.append(character) } else { name.append(character) }
        }
      }
    }
    return pairs
  }
}

/// The media types that a request accepts (RFC 9110, 12.5.1).
struct AcceptedTypes {
  private let ranges: [(essence: String, quality: Double)]

  init(_ headers: Headers) {
    ranges = headers.all("Accept").flatMap { $0.split(separator: ",") }.map { range in
      let type = MediaType(String(range))
      let weight = type.parameters.split(separator: ";").lazy.map { MediaType.trimmed($0).lowercased() }
        .first { $0.hasPrefix("q=") }
      return (type.essence, weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1)
    }
  }

  /// The quality of a type, from 0 (not acceptable) to 1.
  func quality(of essence: String) -> Double {
    if ranges.isEmpty { return 1 }
    let type = essence.prefix { $0 != "/" }
    for range in [essence, "\(type)/*", "*/*"] {
      if let found = ranges.first(where: { $0.essence == range }) { return found.quality }
    }
    return 0
  }

  /// The type for a media range in a document, such as `*/*`: the first accepted type in the range.
  func type(in range: String) -> String {
    guard range.hasSuffix("/*") else { return range }
    let start = range == "*/*" ? "" : String(range.dropLast())
    let wanted = ranges.filter { $0.quality > 0 && !$0.essence.hasSuffix("*") && $0.essence.hasPrefix(start) }
      .max { $0.quality < $1.quality }
    return wanted?.essence ?? ["text/": "text/plain", "": "application/json", "application/": "application/json"][start]
      ?? "application/octet-stream"
  }

  var text: String { ranges.map(\.essence).joined(separator: ", ") }
}
