package import Basics
import EnvironmentConfiguration
import HTTPMessages
import LaunchContract

/// A body in the form in which it is compared: JSON by value, forms by items, multipart by parts, anything else byte
/// by byte.
///
/// A body is JSON if its type says so, or if it begins with `{` or `[` and its type is missing, `text/plain` or that
/// of a form: command-line clients and browsers send JSON with these. A body that does not parse is compared as bytes.
package enum BodyContent {
  /// Memory of the caller, which the value must not outlive.
  case bytes(UnsafeRawBufferPointer)
  /// The bytes that remain after applying a pattern.
  case kept([UInt8])
  case json(JSON)
  case form(QueryItems)
  case multipart(Multipart)
  /// XML, only if a rule requests it.
  case xml(XMLContent)
  /// The messages of a gRPC body whose messages are JSON.
  case messages([BodyContent])

  /// Distinguishes the kinds in a hash.
  enum Tag: UInt8 {
    case bytes = 1
    case json = 2
    case form = 3
    case multipart = 4
    case xml = 5
    case messages = 6
  }

  /// Parses a body by its type; the result must not outlive its memory.
  package init(_ body: UnsafeRawBufferPointer, contentType: UnsafeRawBufferPointer?) {
    let kind = MediaKind(contentType)
    if kind == .messages {
      self = Self.messages(of: body) ?? .bytes(body)
    } else if !body.isEmpty, kind == .json || kind.isVague && Self.looksLikeJSON(body),
      let value = try? JSON.parse(body)
    {
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

  /// Parses a part of a multipart body at a nesting depth.
  init(_ body: UnsafeRawBufferPointer, type: String, depth: Int) {
    var type = type
    let isMultipart = type.withUTF8 { MediaKind(UnsafeRawBufferPointer($0)) } == .multipart
    if isMultipart {
      self = Multipart(body, contentType: type, depth: depth).map(Self.multipart) ?? .bytes(body)
    } else {
      self = type.withUTF8 { Self(body, contentType: UnsafeRawBufferPointer($0)) }
    }
  }

  /// Parses a body as a rule specifies; the result must not outlive its memory. Nil if bodies are not compared.
  init?(_ body: UnsafeRawBufferPointer, type: String, as kind: MatchingRules.BodyKind) {
    switch kind {
    case .none: return nil
    case .auto: self.init(body, type: type, depth: 0)
    case _ where body.isEmpty: self = .bytes(body)
    case .bytes: self = .bytes(body)
    case .json:
      var type = type
      let isCall = type.withUTF8 { MediaKind(UnsafeRawBufferPointer($0)) } == .messages
      let messages = isCall ? Self.messages(of: body) : nil
      self = messages ?? (try? JSON.parse(body)).map(Self.json) ?? .bytes(body)
    case .form: self = .form(QueryItems(body))
    case .multipart: self = Multipart(body, contentType: type).map(Self.multipart) ?? .bytes(body)
    case .xml: self = XMLContent(body).map(Self.xml) ?? .bytes(body)
    }
  }

  /// The messages of a gRPC body, each as JSON or bytes; nil if it does not consist of messages.
  private static func messages(of body: UnsafeRawBufferPointer) -> BodyContent? {
    var parser = GRPCMessageParser(limit: .max)
    guard let messages = try? parser.parse(Array(body)), parser.rest.isEmpty else { return nil }
    return .messages(messages.map { (try? JSON.parse($0.payload)).map(Self.json) ?? .kept($0.payload) })
  }

  private static func looksLikeJSON(_ body: UnsafeRawBufferPointer) -> Bool {
    body.first { !BodyHolding.isSpace($0) }.map(BodyHolding.beginsJSON) ?? false
  }

  /// Adds the suffix of a body that is compared byte by byte.
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
    case .messages(let messages):
      for message in messages { message.append(to: &hash) }
      hash.append(number: messages.count)
      hash.append(Tag.messages.rawValue)
    }
  }
}

/// The kind of body that a `Content-Type` announces.
enum MediaKind: Equatable {
  /// `missing` includes plain text, which is just as vague.
  case json, form, multipart, missing, other
  /// gRPC whose messages are JSON.
  case messages

  /// Whether the body may still be JSON.
  var isVague: Bool { self == .missing || self == .form }

  init(_ contentType: UnsafeRawBufferPointer?) {
    let essence = (contentType ?? UnsafeRawBufferPointer(start: nil, count: 0)).prefix { $0 != UInt8(ascii: ";") }
    var type = String(decoding: essence, as: UTF8.self).lowercased()[...].utf8
    while let last = type.last, last == 0x20 || last == 0x09 { type.removeLast() }
    while let first = type.first, first == 0x20 || first == 0x09 { type.removeFirst() }
    switch String(Substring(type)) {
    case "": self = .missing
    // The latter two are those of JSON-RPC over HTTP.
    case "application/json", "text/json", "application/json-rpc", "application/jsonrequest": self = .json
    case "application/x-www-form-urlencoded": self = .form
    case "text/plain": self = .missing
    case "application/grpc+json": self = .messages
    case let name: self = name.hasSuffix("+json") ? .json : name.hasPrefix("multipart/") ? .multipart : .other
    }
  }
}

extension BodyContent {
  /// The content without the parts that the rules ignore.
  func reduced(by criteria: Criteria, _ budget: PatternBudget) throws(Pattern.TooSlow) -> BodyContent {
    let patterns = criteria.patterns
    switch self {
    case .bytes(let bytes): return try patterns.removed(from: bytes, budget).map(Self.kept) ?? self
    case .kept: return self
    case .json(let value):
      let kept = criteria.ignoredJSON.removed(from: value)
      return .json(patterns.isEmpty ? kept : try kept.removing(patterns, budget))
    case .form(let items): return .form(try items.without(criteria.ignoredForm, patterns, budget))
    case .multipart(var multipart):
      multipart.parts.removeAll { part in
        criteria.ignoredForm.contains { $0.matches(Array((part.name ?? "").utf8)) }
      }
      for index in multipart.parts.indices {
        multipart.parts[index].content = try multipart.parts[index].content.reduced(by: criteria, budget)
      }
      if !criteria.countsPartOrder { multipart.sort() }
      return .multipart(multipart)
    case .xml(let content):
      guard !patterns.isEmpty else { return self }
      return .xml(try content.mapTexts { text throws(Pattern.TooSlow) in try patterns.removed(from: text, budget) })
    case .messages(let messages):
      var kept: [BodyContent] = []
      for message in messages { kept.append(try message.reduced(by: criteria, budget)) }
      return .messages(kept)
    }
  }
}

extension JSON {
  /// Removes what the patterns match from strings and numbers. A number that a pattern matches becomes a string.
  fileprivate func removing(_ patterns: [Pattern], _ budget: PatternBudget) throws(Pattern.TooSlow) -> JSON {
    switch self {
    case .string(let text): return .string(try patterns.removed(from: text, budget))
    case .number(let text):
      let kept = try patterns.removed(from: text, budget)
      return kept.utf8.count == text.utf8.count ? self : .string(kept)
    case .array(let elements):
      var kept: [JSON] = []
      for element in elements { kept.append(try element.removing(patterns, budget)) }
      return .array(kept)
    case .object(let members):
      var kept: [JSON.Member] = []
      for member in members { kept.append(Member(member.key, try member.value.removing(patterns, budget))) }
      return .object(kept)
    case .null, .bool: return self
    }
  }
}
