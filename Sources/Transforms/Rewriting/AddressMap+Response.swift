package import HTTPMessages

/// Translation of responses from the upstream to the app.
extension AddressMap {
  /// Translates header fields: addresses of upstreams become endpoint addresses, and cookies are set for the host that
  /// the app connects to. Everything else, including order, repeated and kept fields, is unchanged.
  ///
  /// - Parameters:
  ///   - headers: the fields that the upstream sent.
  ///   - index: the upstream that responded.
  ///   - form: the form of the request.
  /// - Returns: the fields; equal to `headers` if nothing had to change.
  package func responseHeaders(_ headers: Headers, upstream index: Int, form: Form) -> Headers {
    var result = headers
    let matcher = matcher(upstream: index, form: form)
    for number in result.fields.indices where !kept.keeps(header: result.fields[number].name) {
      let field = result.fields[number]
      var value = field.value
      switch HeaderKind(field.name) {
      case .cookie: value = cookie(value, upstream: index, form: form)
      case .origins:
        value = translate(value, with: self.matcher(upstream: index, form: form, onlyOrigins: true))
      case .reference: value = reference(translate(value, with: matcher), upstream: index, form: form)
      case .links, .refresh:
        value = translate(value, with: matcher)
        if form == .pathSegment { value = prefixTargets(in: value, kind: HeaderKind(field.name), upstream: index) }
      case .other: value = translate(value, with: matcher)
      }
      result.fields[number].value = value
    }
    return result
  }

  /// Creates a rewriter that translates a response body while it streams.
  ///
  /// The rewriter expects a body without content coding. It may change the length of the body.
  ///
  /// - Parameters:
  ///   - contentType: the response's `Content-Type`.
  ///   - target: the target of the request to the upstream, which tells what is kept by default; nil if there is none.
  ///   - index: the upstream that responded.
  ///   - form: the form of the request.
  /// - Returns: nil if the body is not text, or if no address in it could need a change.
  package func responseBodyRewriter(
    contentType: String?, target: String? = nil, upstream index: Int, form: Form
  ) -> BodyRewriter? {
    guard let contentType, TextualType.contains(contentType) else { return nil }
    let matcher = matcher(upstream: index, form: form)
    guard !matcher.candidates.isEmpty else { return nil }
    return BodyRewriter(matcher: matcher, keeping: kept.places(inBodyOf: contentType, target: target))
  }

  /// How a field's value contains addresses.
  private enum HeaderKind {
    case cookie, origins, reference, links, refresh, other

    init(_ name: String) {
      // Checks the length first: few field names have these lengths.
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
    guard Self.mayHoldAddress(value), !matcher.candidates.isEmpty else { return value }
    var rewriter = BodyRewriter(matcher: matcher)
    let bytes = Array(value.utf8)
    let result = rewriter.push(bytes) + rewriter.finish()
    return result == bytes ? value : String(decoding: result, as: UTF8.self)
  }

  /// A quick check: most fields contain no address in any spelling.
  private static func mayHoldAddress(_ value: String) -> Bool {
    value.utf8.contains { $0 == AddressByte.slash || $0 == AddressByte.percent || $0 == AddressByte.backslash }
  }

  /// Prefixes a value that is a root-relative reference (`/path`, not `//host/path`) with the upstream's segment.
  private func reference(_ value: String, upstream index: Int, form: Form) -> String {
    guard form == .pathSegment, value.utf8.first == AddressByte.slash,
      value.utf8.dropFirst().first != AddressByte.slash
    else { return value }
    return "/\(segments[index])\(value)"
  }

  /// Prefixes root-relative targets with the upstream's segment: after `<` in `Link`, after `url=` in `Refresh`.
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
