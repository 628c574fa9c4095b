package import LaunchContract

/// A body as it is compared: by value where it is JSON, as items where it is a form, by parts where it is multipart, else
/// byte by byte.
///
/// JSON is what a JSON type announces, and what begins with `{` or `[` where the type is missing, that of a form or
/// text/plain, since command-line clients and browsers send it so. What does not parse is compared as what else it may be.
package enum BodyContent {
  /// Memory of whoever made the value: it must not outlive that.
  case bytes(UnsafeRawBufferPointer)
  /// What a pattern has left of bytes.
  case kept([UInt8])
  case json(JSON)
  case form(QueryItems)
  case multipart(Multipart)
  /// Only where a rule asks for it.
  case xml(XMLContent)

  /// Tells the kinds apart in a hash.
  enum Tag: UInt8 {
    case bytes = 1
    case json = 2
    case form = 3
    case multipart = 4
    case xml = 5
  }

  /// Looks at a body; the result must not outlive its memory.
  package init(_ body: UnsafeRawBufferPointer, contentType: UnsafeRawBufferPointer?) {
    let kind = MediaKind(contentType)
    if !body.isEmpty, kind == .json || kind.isVague && Self.looksLikeJSON(body), let value = try? JSON.parse(body) {
      self = .json(value)
    } else if !body.isEmpty, kind == .form {
      self = .form(QueryItems(body))
    } else if !body.isEmpty, kind == .multipart,
      let parts = Multipart(
        body, contentType: String(decoding: contentType ?? .init(start: nil, count: 0), as: UTF8.self))
    {
      self = .multipart(parts)
    } else {
      self = .bytes(body)
    }
  }

  /// A part of a multipart body, so deep in others.
  init(_ body: UnsafeRawBufferPointer, type: String, depth: Int) {
    var type = type
    let isMultipart = type.withUTF8 { MediaKind(UnsafeRawBufferPointer($0)) } == .multipart
    if isMultipart {
      self = Multipart(body, contentType: type, depth: depth).map(Self.multipart) ?? .bytes(body)
    } else {
      self = type.withUTF8 { Self(body, contentType: UnsafeRawBufferPointer($0)) }
    }
  }

  /// Looks at a body as a rule says; the result must not outlive its memory. Nil where it does not count.
  init?(_ body: UnsafeRawBufferPointer, type: String, as kind: MatchingRules.BodyKind) {
    switch kind {
    case .none: return nil
    case .auto: self.init(body, type: type, depth: 0)
    case _ where body.isEmpty: self = .bytes(body)
    case .bytes: self = .bytes(body)
    case .json: self = (try? JSON.parse(body)).map(Self.json) ?? .bytes(body)
    case .form: self = .form(QueryItems(body))
    case .multipart: self = Multipart(body, contentType: type).map(Self.multipart) ?? .bytes(body)
    case .xml: self = XMLContent(body).map(Self.xml) ?? .bytes(body)
    }
  }

  private static func looksLikeJSON(_ body: UnsafeRawBufferPointer) -> Bool {
    body.first { !BodyHolding.isSpace($0) }.map(BodyHolding.beginsJSON) ?? false
  }

  /// Adds what follows the bytes of a body that is compared byte by byte.
  static func appendEnd(ofBytes count: Int, to hash: inout SipHash) {
    hash.append(number: count)
    hash.append(Tag.bytes.rawValue)
  }

  /// Adds the content to a hash.
  func append(to hash: inout SipHash) {
    switch self {
    case .bytes(let bytes):
      hash.append(bytes)
      Self.appendEnd(ofBytes: bytes.count, to: &hash)
    case .kept(let bytes):
      bytes.withUnsafeBytes { Self.bytes($0).append(to: &hash) }
    case .json(let value):
      CanonicalJSON.append(value, to: &hash)
      hash.append(Tag.json.rawValue)
    case .form(let items):
      items.append(to: &hash)
      hash.append(Tag.form.rawValue)
    case .multipart(let multipart):
      multipart.append(to: &hash)
      hash.append(Tag.multipart.rawValue)
    case .xml(let content):
      content.append(to: &hash)
      hash.append(Tag.xml.rawValue)
    }
  }
}

/// What a `Content-Type` says about how a body is compared.
enum MediaKind: Equatable {
  /// `missing` is also plain text, which says as little.
  case json, form, multipart, missing, other

  /// Whether the body may be JSON all the same.
  var isVague: Bool { self == .missing || self == .form }

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
    case let name: self = name.hasSuffix("+json") ? .json : name.hasPrefix("multipart/") ? .multipart : .other
    }
  }
}
