import LaunchContract

/// A body as it is compared: by value where it is JSON, as items where it is a form, else byte by byte.
///
/// JSON is what a JSON type announces, and what begins with `{` or `[` where the type is missing, that of a form or
/// text/plain, since command-line clients and browsers send it so. What does not parse is compared as what else it may be.
enum BodyContent {
  case bytes(UnsafeRawBufferPointer)
  case json(JSON)
  case form(QueryItems)

  /// Tells the kinds apart in a hash.
  enum Tag: UInt8 {
    case bytes = 1
    case json = 2
    case form = 3
  }

  /// Looks at a body; the result must not outlive its memory.
  init(_ body: UnsafeRawBufferPointer, contentType: UnsafeRawBufferPointer?) {
    let kind = MediaKind(contentType)
    if !body.isEmpty, kind == .json || kind != .other && Self.looksLikeJSON(body), let value = try? JSON.parse(body) {
      self = .json(value)
    } else if !body.isEmpty, kind == .form {
      self = .form(QueryItems(body))
    } else {
      self = .bytes(body)
    }
  }

  private static func looksLikeJSON(_ body: UnsafeRawBufferPointer) -> Bool {
    let first = body.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// Adds the content to a hash.
  func append(to hash: inout SipHash) {
    switch self {
    case .bytes(let bytes):
      hash.append(bytes)
      hash.append(number: bytes.count)
      hash.append(Tag.bytes.rawValue)
    case .json(let value):
      CanonicalJSON.append(value, to: &hash)
      hash.append(Tag.json.rawValue)
    case .form(let items):
      items.append(to: &hash)
      hash.append(Tag.form.rawValue)
    }
  }
}

/// What a `Content-Type` says about how a body is compared.
enum MediaKind: Equatable {
  /// `missing` is also plain text, which says as little.
  case json, form, missing, other

  init(_ contentType: UnsafeRawBufferPointer?) {
    let essence = (contentType ?? UnsafeRawBufferPointer(start: nil, count: 0)).prefix { $0 != UInt8(ascii: ";") }
    var type = String(decoding: essence, as: UTF8.self).lowercased()[...].utf8
    while let last = type.last, last == 0x20 || last == 0x09 { type.removeLast() }
    while let first = type.first, first == 0x20 || first == 0x09 { type.removeFirst() }
    switch String(Substring(type)) {
    case "": self = .missing
    case "application/json", "text/json": self = .json
    case "application/x-www-form-urlencoded": self = .form
    case "text/plain": self = .missing
    case let name: self = name.hasSuffix("+json") ? .json : .other
    }
  }
}
