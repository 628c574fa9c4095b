package import HTTPMessages

/// From the upstream to the app.
extension AddressMap {
  /// The header fields as the app is to see them.
  ///
  /// Addresses of upstreams are the endpoints', cookies are for the host that the app talks to. Order, repetition and
  /// all else stay as they are.
  ///
  /// - Parameters:
  ///   - headers: as the upstream sent them.
  ///   - index: the upstream that answered.
  ///   - form: how the request came.
  /// - Returns: the fields, equal to those given where nothing had to be changed.
  package func responseHeaders(_ headers: Headers, upstream index: Int, form: Form) -> Headers {
    var result = headers
    let matcher = matcher(upstream: index, form: form)
    for number in result.fields.indices {
      let field = result.fields[number]
      var value = field.value
      switch HeaderKind(field.name) {
      case .cookie: value = cookie(value, upstream: index, form: form)
      case .origins:
        value = translate(value, with: self.matcher(upstream: index, form: form, onlyOrigins: true))
      case .reference: value = reference(translate(value, with: matcher), upstream: index, form: form, matcher: matcher)
      case .links, .refresh:
        value = translate(value, with: matcher)
        if form == .pathSegment { value = prefixTargets(in: value, kind: HeaderKind(field.name), upstream: index) }
      case .other: value = translate(value, with: matcher)
      }
      result.fields[number].value = value
    }
    return result
  }

  /// What rewrites a body of that type as it streams by.
  ///
  /// - Parameters:
  ///   - contentType: the response's `Content-Type`.
  ///   - index: the upstream that answered.
  ///   - form: how the request came.
  /// - Returns: nil when the body is not text, or nothing in it could need a change. The body must be given without
  ///   content coding; its length may change.
  package func responseBodyRewriter(contentType: String?, upstream index: Int, form: Form) -> BodyRewriter? {
    guard let contentType, TextualType.contains(contentType) else { return nil }
    let matcher = matcher(upstream: index, form: form)
    return matcher.candidates.isEmpty ? nil : BodyRewriter(matcher: matcher)
  }

  /// What a field's value is made of, as far as addresses go.
  private enum HeaderKind {
    case cookie, origins, reference, links, refresh, other

    init(_ name: String) {
      // Few names have these lengths.
      guard [4, 7, 8, 10, 16, 19, 27].contains(name.utf8.count) else {
        self = .other
        return
      }
      switch name.lowercased() {
      case "set-cookie": self = .cookie
      case "access-control-allow-origin", "timing-allow-origin": self = .origins
      case "location", "content-location": self = .reference
      case "link": self = .links
      case "refresh": self = .refresh
      default: self = .other
      }
    }
  }

  private func translate(_ value: String, with matcher: UpstreamURLMatcher) -> String {
    // Most values have no address: dates have colons.
    guard mayContainURL(value), !matcher.candidates.isEmpty else { return value }
    var rewriter = BodyRewriter(matcher: matcher)
    let bytes = Array(value.utf8)
    let result = rewriter.push(bytes) + rewriter.finish()
    return result == bytes ? value : String(decoding: result, as: UTF8.self)
  }

  /// Whether a colon stands before a slash, plain or escaped, as in an absolute URL.
  private func mayContainURL(_ value: String) -> Bool {
    var isAfterColon = false
    for byte in value.utf8 {
      if isAfterColon, byte == AddressByte.slash || byte == AddressByte.backslash { return true }
      isAfterColon = byte == AddressByte.colon
    }
    return false
  }

  /// A whole value that is a reference: `//host/path` has its host replaced, `/path` gets the segment in front.
  private func reference(_ value: String, upstream index: Int, form: Form, matcher: UpstreamURLMatcher) -> String {
    guard value.utf8.first == AddressByte.slash else { return value }
    guard value.utf8.dropFirst().first == AddressByte.slash else {
      return form == .pathSegment ? "/\(segments[index])\(value)" : value
    }
    let bytes = Array(value.utf8)
    let isSecure = upstreams[index].origin.scheme == "https"
    let look = bytes.withUnsafeBufferPointer { matcher.lookWithoutScheme(at: 0, in: $0, isSecure: isSecure) }
    guard case .found(let found) = look else { return value }
    let replacement = matcher.candidates[found.candidate].replacements[0].dropFirst("http:".utf8.count)
    return String(decoding: replacement + bytes[found.end...], as: UTF8.self)
  }

  /// Puts the segment before root-relative targets: those after `<` in `Link`, after `url=` in `Refresh`.
  private func prefixTargets(in value: String, kind: HeaderKind, upstream index: Int) -> String {
    let bytes = Array(value.utf8)
    let segment = Array("/\(segments[index])".utf8)
    var result: [UInt8] = []
    var isQuoted = false
    for (position, byte) in bytes.enumerated() {
      if kind == .links, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      let begins = !isQuoted && position > 0 && Self.begins(target: kind, at: position, in: bytes)
      if byte == AddressByte.slash, begins, position + 1 == bytes.count || bytes[position + 1] != AddressByte.slash {
        result += segment
      }
      result.append(byte)
    }
    return result.count == bytes.count ? value : String(decoding: result, as: UTF8.self)
  }

  private static func begins(target kind: HeaderKind, at position: Int, in bytes: [UInt8]) -> Bool {
    guard kind == .refresh else { return bytes[position - 1] == UInt8(ascii: "<") }
    var before = bytes[..<position].map(\.asciiLowercased)
    while let last = before.last, " '\"".utf8.contains(last) { before.removeLast() }
    guard before.last == UInt8(ascii: "=") else { return false }
    before.removeLast()
    while before.last == UInt8(ascii: " ") { before.removeLast() }
    return before.suffix(3).elementsEqual("url".utf8)
      && before.dropLast(3).allSatisfy { AddressByte.isDigit($0) || " ;,.".utf8.contains($0) }
  }
}
