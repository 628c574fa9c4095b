package import Basics
import Cassettes
import Foundation
package import HTTPMessages

/// The requests that a stub answers, or that a verification counts. Members that are not given match everything.
package struct RequestPattern: Sendable {
  /// How the URL is compared.
  package enum URLPattern: Sendable {
    case any
    /// Path and query as sent.
    case url(String)
    case urlMatches(WholePattern)
    case path(String)
    case pathMatches(WholePattern)
    case template(PathTemplate)
  }

  /// A condition for a value that can occur more than once, such as a header.
  package enum FieldMatcher: Sendable {
    /// One of the values has to match; `absent` matches if there is none.
    case any(ValueMatcher)
    /// The values and the matchers have to correspond one to one, in any order.
    case hasExactly([ValueMatcher])
    /// Each matcher has to match one of the values.
    case includes([ValueMatcher])
  }

  /// A condition for the parts of a multipart body.
  package struct PartPattern: Sendable {
    /// A name for people, as in WireMock: conditions for `Content-Disposition` tell which part is meant.
    package var name: String?
    /// Whether every part has to match, instead of at least one.
    package var matchesAll = false
    package var headers: [(name: String, matcher: FieldMatcher)] = []
    package var body: [ValueMatcher] = []
  }

  package var url = URLPattern.any
  /// Nil for any.
  package var method: String?
  package var scheme: String?
  package var host: ValueMatcher?
  package var port: Int?
  /// The name of an upstream; nil for any. Diorama's own.
  package var upstream: String?
  package var headers: [(name: String, matcher: FieldMatcher)] = []
  package var query: [(name: String, matcher: FieldMatcher)] = []
  package var form: [(name: String, matcher: FieldMatcher)] = []
  package var cookies: [(name: String, matcher: FieldMatcher)] = []
  package var pathParameters: [(name: String, matcher: FieldMatcher)] = []
  package var body: [ValueMatcher] = []
  /// The conditions in ``body`` as they were written, for messages.
  package var bodyTexts: [String] = []
  package var parts: [PartPattern] = []

  package init() {}

  /// Whether method and URL alone decide whether a request matches.
  package var isPlain: Bool {
    scheme == nil && host == nil && port == nil && upstream == nil && headers.isEmpty && query.isEmpty && form.isEmpty
      && cookies.isEmpty && pathParameters.isEmpty && body.isEmpty && parts.isEmpty
  }

  /// The fingerprint of the JSON value that the body must equal; nil if there is none, or several values match.
  var bodyFingerprint: JSONEquality.Fingerprint? {
    for case .equalToJSON(let equality) in body {
      if let fingerprint = equality.fingerprint { return fingerprint }
    }
    return nil
  }

  /// Whether a request matches. Cheap conditions come first.
  package func matches(_ request: StubRequest, _ context: MatchContext) throws(CodedError) -> Bool {
    guard matchesMethod(request.method), try matchesURL(request, context), matchesOrigin(request),
      try host?.matches(MatchedValue(request.host), context) ?? true,
      try Self.match(pathParameters, context, { request.pathParameters(url)[$0].map { [$0] } ?? [] }),
      try Self.match(query, context, { request.queryValues($0) }),
      try Self.match(headers, context, { request.headers.all($0) }),
      try matchesCookies(request, context)
    else { return false }
    if !form.isEmpty, !(try Self.match(form, context, { request.formValues($0) })) { return false }
    for matcher in body where !(try matcher.matches(request.bodyValue, context)) { return false }
    for part in parts where !(try part.matches(request.parts, context)) { return false }
    return true
  }

  /// A cookie that is missing fulfils only `absent`; other fields fulfil negations, too.
  private func matchesCookies(_ request: StubRequest, _ context: MatchContext) throws(CodedError) -> Bool {
    for (name, matcher) in cookies {
      let values = request.cookieValues(name)
      if values.isEmpty, case .any(let matcher) = matcher {
        guard case .absent = matcher else { return false }
      } else if !(try matcher.matches(values, context)) {
        return false
      }
    }
    return true
  }

  func matchesMethod(_ other: String) -> Bool { method == nil || method == other }

  private func matchesOrigin(_ request: StubRequest) -> Bool {
    (scheme == nil || scheme == request.scheme) && (port == nil || port == request.port)
      && (upstream == nil || upstream == request.upstream)
  }

  func matchesURL(_ request: StubRequest, _ context: MatchContext) throws(CodedError) -> Bool {
    switch url {
    case .any: true
    case .url(let text): request.target == text
    case .urlMatches(let pattern): try pattern.matches(Array(request.target.utf8), context)
    case .path(let text): request.path == text
    case .pathMatches(let pattern): try pattern.matches(Array(request.path.utf8), context)
    case .template(let template): template.values(in: request.path) != nil
    }
  }

  private static func match(
    _ fields: [(name: String, matcher: FieldMatcher)], _ context: MatchContext, _ values: (String) -> [String]
  ) throws(CodedError) -> Bool {
    for (name, matcher) in fields where !(try matcher.matches(values(name), context)) { return false }
    return true
  }

  /// How far a request is from matching, from 0 to 1, to list near misses. The URL and the method weigh most.
  package func distance(_ request: StubRequest, _ context: MatchContext) -> Double {
    // WireMock's weights. Conditions of one kind count as their mean.
    var sum = 0.0
    func add(_ distances: [Double], weight: Double = 1) {
      if !distances.isEmpty { sum += weight * distances.reduce(0, +) / Double(distances.count) }
    }
    add([urlDistance(request, context)], weight: 10)
    add([matchesMethod(request.method) ? 0 : 1], weight: 3)
    if let scheme { add([scheme == request.scheme ? 0 : 1], weight: 3) }
    if let host { add([host.distance(MatchedValue(request.host), context)], weight: 10) }
    if port != nil || upstream != nil {
      let isElsewhere = port ?? request.port != request.port || upstream ?? request.upstream != request.upstream
      add([isElsewhere ? 1 : 0], weight: 10)
    }
    add(query.map { $0.matcher.distance(request.queryValues($0.name), context) })
    add(headers.map { $0.matcher.distance(request.headers.all($0.name), context) })
    add(cookies.map { $0.matcher.distance(request.cookieValues($0.name), context) })
    add(form.map { $0.matcher.distance(request.formValues($0.name), context) })
    add(body.map { $0.distance(request.bodyValue, context) })
    add(parts.map { (try? $0.matches(request.parts, context)) == true ? 0 : 1 })
    return sum / 41
  }

  /// What keeps a request from matching, one line each.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: the time.
  ///   - shown: the request as messages may show it; nil for the same.
  /// - Returns: the lines.
  package func differences(
    _ request: StubRequest, _ context: MatchContext, shown: StubRequest? = nil
  ) -> [String] {
    let shown = shown ?? request
    var lines: [String] = []
    func check(_ what: String, _ distance: Double) { if distance > 0 { lines.append(what) } }
    if let method, !matchesMethod(request.method) { lines.append("the method is not \(method)") }
    if case .url(let text) = url, text != request.target, text == request.path {
      lines.append("the URL has a query, and 'url' compares it; use 'urlPath' to ignore it")
    } else {
      check("the URL is not \(urlText)", urlDistance(request, context))
    }
    if let upstream, upstream != request.upstream {
      lines.append("the stub is limited to the upstream '\(upstream)'")
    } else if !matchesOrigin(request) {
      lines.append("the stub is limited to another scheme or port")
    }
    if let host { check("the host does not match", host.distance(MatchedValue(request.host), context)) }
    let kinds: [(String, [(name: String, matcher: FieldMatcher)], (StubRequest, String) -> [String])] = [
      ("query parameter", query, { $0.queryValues($1) }), ("header", headers, { $0.headers.all($1) }),
      ("cookie", cookies, { $0.cookieValues($1) }), ("form field", form, { $0.formValues($1) }),
    ]
    for (kind, fields, values) in kinds {
      for (name, matcher) in fields {
        let given = values(request, name)
        let text = values(shown, name).joined(separator: ", ").prefix(80)
        let state = given.isEmpty ? "is missing" : "'\(text)' does not match"
        check("the \(kind) \(name) \(state)", matcher.distance(given, context))
      }
    }
    for (number, matcher) in body.enumerated() {
      let text = bodyTexts.indices.contains(number) ? bodyTexts[number] : "bodyPatterns[\(number)]"
      check("the body does not match \(text)", matcher.distance(request.bodyValue, context))
    }
    if parts.contains(where: { (try? $0.matches(request.parts, context)) != true }) {
      lines.append("a part of the body does not match")
    }
    return lines
  }

  /// Method and URL, such as `GET /orders/{id}`.
  package var summary: String { "\(method ?? "ANY") \(urlText)" }

  private var urlText: String {
    switch url {
    case .any: "any"
    case .url(let text), .path(let text): text
    case .urlMatches(let pattern), .pathMatches(let pattern): pattern.text
    case .template(let template): template.text
    }
  }

  /// How many bytes of the URL are the same from the start, and one more if the method is the same.
  func sharedPrefix(with request: StubRequest) -> Int {
    zip(urlText.utf8, request.target.utf8).prefix { $0 == $1 }.count + (matchesMethod(request.method) ? 1 : 0)
  }

  private func urlDistance(_ request: StubRequest, _ context: MatchContext) -> Double {
    switch url {
    case .url(let text): ValueMatcher.equalTo(text, ignoresCase: false).distance(MatchedValue(request.target), context)
    case .path(let text): ValueMatcher.equalTo(text, ignoresCase: false).distance(MatchedValue(request.path), context)
    case .any, .urlMatches, .pathMatches, .template: (try? matchesURL(request, context)) == true ? 0 : 1
    }
  }
}

extension RequestPattern.FieldMatcher {
  func matches(_ values: [String], _ context: MatchContext) throws(CodedError) -> Bool {
    switch self {
    case .any(let matcher):
      if values.isEmpty { return try matcher.matches(nil, context) }
      for value in values where try matcher.matches(MatchedValue(value), context) { return true }
      return false
    case .hasExactly(let matchers):
      guard values.count == matchers.count else { return false }
      return try Self.include(matchers, values, context)
    case .includes(let matchers): return try Self.include(matchers, values, context)
    }
  }

  private static func include(
    _ matchers: [ValueMatcher], _ values: [String], _ context: MatchContext
  ) throws(CodedError) -> Bool {
    let values = values.map { MatchedValue($0) }
    for matcher in matchers {
      var isFound = false
      for value in values where !isFound { isFound = try matcher.matches(value, context) }
      if !isFound { return false }
    }
    return true
  }

  func distance(_ values: [String], _ context: MatchContext) -> Double {
    guard case .any(let matcher) = self, !values.isEmpty else {
      return (try? matches(values, context)) == true ? 0 : 1
    }
    return values.map { matcher.distance(MatchedValue($0), context) }.min() ?? 1
  }
}

extension RequestPattern.PartPattern {
  func matches(_ parts: [StubRequest.Part], _ context: MatchContext) throws(CodedError) -> Bool {
    guard !parts.isEmpty else { return false }
    for part in parts {
      let isMatch = try matches(part, context)
      if isMatch != matchesAll { return isMatch }
    }
    return matchesAll
  }

  private func matches(_ part: StubRequest.Part, _ context: MatchContext) throws(CodedError) -> Bool {
    for (name, matcher) in headers where !(try matcher.matches(part.headers.all(name), context)) { return false }
    for matcher in body where !(try matcher.matches(MatchedValue(part.body), context)) { return false }
    return true
  }
}

/// A path with named segments, such as `/orders/{id}/items/{item}` (RFC 6570, level 1).
package struct PathTemplate: Sendable {
  package let text: String
  private let segments: [(text: String, isName: Bool)]

  package init(_ text: String) throws(CodedError) {
    self.text = text
    segments = text.split(separator: "/", omittingEmptySubsequences: false).map { segment in
      let isName = segment.hasPrefix("{") && segment.hasSuffix("}") && segment.count > 2
      return (isName ? String(segment.dropFirst().dropLast()) : String(segment), isName)
    }
    if let odd = segments.first(where: { !$0.isName && $0.text.contains(where: { "{}".contains($0) }) }) {
      throw CodedError(
        .broken, "'\(odd.text)' in the path template is neither a text nor one name in braces, like {id}")
    }
  }

  /// The text before the first name.
  var literalPrefix: String { String(text.prefix { $0 != "{" }) }

  /// The decoded values of the names; nil if the path does not match.
  package func values(in path: String) -> [String: String]? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (part, segment) in zip(parts, segments) {
      if segment.isName, !part.isEmpty {
        values[segment.text] = String(part).removingPercentEncoding ?? String(part)
      } else if segment.isName || segment.text != part {
        return nil
      }
    }
    return values
  }
}

/// A request as stubs see it, each part parsed at most once.
package final class StubRequest {
  /// A part of a multipart body.
  package struct Part {
    package let name: String?
    package let fileName: String?
    package let headers: Headers
    package let body: [UInt8]
  }

  package let method: String
  /// Path and query.
  package let target: String
  package let headers: Headers
  package let body: [UInt8]
  package let scheme: String
  package let host: String
  package let port: Int
  /// The name of the upstream that it is meant for; nil on an environment's main port.
  package let upstream: String?

  package init(
    method: String, target: String, headers: Headers, body: [UInt8], scheme: String, host: String, port: Int,
    upstream: String?
  ) {
    self.method = method
    // An empty query is the same as no query.
    self.target = target.utf8.last == UInt8(ascii: "?") ? String(target.dropLast()) : target
    self.headers = headers
    self.body = body
    self.scheme = scheme
    self.host = host
    self.port = port
    self.upstream = upstream
  }

  package private(set) lazy var path = String(target.prefix { $0 != "?" })

  /// Whether it is a WebSocket handshake.
  package private(set) lazy var isHandshake = WebSocketHandshake.isAsked(
    by: Request(method: method, target: target, headers: headers))

  /// The query's items in order, decoded.
  package private(set) lazy var query = Self.items(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())

  /// The items of a form, in order, decoded.
  package private(set) lazy var form = Self.items(content)

  /// The cookies in order.
  package private(set) lazy var cookies: [(name: String, value: String)] = headers.all("Cookie")
    .flatMap { $0.split(separator: ";") }
    .map { pair in
      let trimmed = pair.drop { $0 == " " }
      let name = trimmed.prefix { $0 != "=" }
      let value = trimmed.dropFirst(name.count + 1)
      let isQuoted = value.count > 1 && value.hasPrefix("\"") && value.hasSuffix("\"")
      return (String(name), String(isQuoted ? value.dropFirst().dropLast() : value))
    }

  /// The body without its content coding; as sent if it cannot be decoded.
  package private(set) lazy var content: [UInt8] = {
    let codings = headers.all("Content-Encoding").joined(separator: ", ")
    guard !codings.isEmpty, let coder = ContentCodings(header: codings) else { return body }
    return (try? coder.decode(body, limit: Self.decodedLimit)) ?? body
  }()
  private static let decodedLimit = 64 << 20

  /// Parses a large body, so that this does not happen while others wait.
  package func prepare() {
    guard body.count > 65_536, let first = body.first else { return }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { _ = bodyValue?.json }
    if first == UInt8(ascii: "<") { _ = bodyValue?.xml }
    _ = content
  }

  /// The body as a value, in UTF-8; nil if there is none.
  package private(set) lazy var bodyValue: MatchedValue? = {
    guard !content.isEmpty else { return nil }
    let type = headers["Content-Type"]?.lowercased() ?? ""
    guard type.contains("charset=iso-8859-1") || type.contains("charset=latin1") else { return MatchedValue(content) }
    return MatchedValue(String(String.UnicodeScalarView(content.map { Unicode.Scalar($0) })))
  }()

  /// The parts of a multipart body, in order.
  package private(set) lazy var parts: [Part] = {
    guard let type = headers["Content-Type"], type.lowercased().hasPrefix("multipart/") else { return [] }
    return content.withUnsafeBytes { bytes in
      Multipart.rawParts(of: bytes, contentType: type).map { part in
        Part(name: part.name, fileName: part.fileName, headers: part.headers, body: Array(bytes[part.content]))
      }
    }
  }()

  package func queryValues(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }
  package func formValues(_ name: String) -> [String] { form.filter { $0.name == name }.map(\.value) }
  package func cookieValues(_ name: String) -> [String] { cookies.filter { $0.name == name }.map(\.value) }

  /// The values of a path template's names; none for other patterns.
  package func pathParameters(_ url: RequestPattern.URLPattern) -> [String: String] {
    guard case .template(let template) = url else { return [:] }
    return template.values(in: path) ?? [:]
  }

  private static func items(_ text: some Sequence<UInt8>) -> [(name: String, value: String)] {
    Array(text).split(separator: UInt8(ascii: "&")).map { item in
      let name = item.prefix { $0 != UInt8(ascii: "=") }
      return (decoded(name), decoded(item.dropFirst(name.count + 1)))
    }
  }

  /// Decodes `+` and percent escapes.
  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
      return String(decoding: bytes, as: UTF8.self)
    }
    return Array(bytes).withUnsafeBytes { raw in
      var text: [UInt8] = []
      var index = 0
      while index < raw.count {
        if index + 2 < raw.count, let byte = PercentCoding.byte(at: index, in: raw) {
          text.append(byte)
          index += 3
        } else {
          text.append(raw[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : raw[index])
          index += 1
        }
      }
      return String(decoding: text, as: UTF8.self)
    }
  }
}
