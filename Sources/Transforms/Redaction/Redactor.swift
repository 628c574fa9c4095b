package import Cassettes
package import HTTPMessages
package import LaunchContract

/// Takes secrets out of all that is kept: cassettes, journals, reports, messages.
///
/// It knows the environment's own token and credentials, and finds them wherever they stand: as they are, percent-encoded
/// (in whole or in part), as JSON, XML and HTML write them, and in base64, also in the middle of something longer. It knows
/// the header fields that carry secrets, and the user's own rules. What it returns stays the same when it comes again, so
/// that requests can be matched redacted with redacted.
package struct Redactor: Sendable {
  package let secrets: SecretScanner
  package let rules: CompiledRules
  /// Whether requests may have to be changed before they are matched: by a rule, or by a credential.
  package let changesRequests: Bool
  /// Credentials that are too short to be found in a text.
  package let unseen: [String]
  /// The most bytes to which a body is decoded to be looked into.
  package let decodedLimit: Int
  /// ``decodedLimit`` where nothing else is asked for: more than any answer that a test needs has.
  package static let usualDecodedLimit = 1 << 30

  /// - Parameters:
  ///   - credentials: the environment's; each name is `SERVICE/ACCOUNT`.
  ///   - token: the environment's own.
  ///   - rules: the user's.
  ///   - decodedLimit: the most bytes to which a body is decoded to be looked into; one that has more is kept as it was
  ///     sent.
  package init(
    _ credentials: [(name: String, secret: [UInt8])], token: String, rules: CompiledRules = .none,
    decodedLimit: Int = usualDecodedLimit
  ) {
    self.decodedLimit = decodedLimit
    let known = credentials.filter { !rules.keptCredentials.contains($0.name) }
    secrets = SecretScanner(known.map { ($0.secret, RedactionMark($0.name)) } + [(Array(token.utf8), .plain)])
    self.rules = rules
    unseen = known.filter { 1..<SecretScanner.shortest ~= $0.secret.count }.map(\.name)
    changesRequests =
      !known.isEmpty || rules.changesRequests || !rules.headers.isEmpty || !rules.keptHeaders.isEmpty
  }

  /// A text that is kept, with marks in the places of what is secret.
  package func redact(_ text: String) -> String { redact(text, .plain) }

  private func redact(_ text: String, _ spelling: RedactionMark.Spelling) -> String {
    let clean = secrets.redact(text, spelling)
    return rules.patterns.redact(clean, spelling) ?? clean
  }

  /// A URL, or a request's target: what goes from the query goes by name, marks are percent-encoded.
  package func redactURL(_ url: String) -> String {
    guard let start = Self.targetStart(of: url) else { return redact(url, .percent) }
    let whole = String(url[start...])
    let target = secrets.redact(whole, .percent)
    guard rules.changesRequests else { return target == whole ? url : url[..<start] + target }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = rules.patterns.redact(String(parts[0]), .percent) ?? String(parts[0])
    guard parts.count == 2 else { return url[..<start] + path }
    let items = Array(parts[1].utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item in
      String(
        decoding: FormItem.redact(item, names: rules.query, patterns: rules.patterns) ?? Array(item), as: UTF8.self)
    }
    let query = items.joined(separator: "&")
    return url[..<start] + path + "?" + (rules.patterns.redact(query, .percent) ?? query)
  }

  /// Where path and query begin; nil where that cannot be told.
  private static func targetStart(of url: String) -> String.Index? {
    if url.utf8.first == UInt8(ascii: "/") { return url.startIndex }
    let bytes = url.utf8
    // Not `firstRange(of:)`, which takes longer than all the rest.
    var colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    while let found = colon, !bytes[found...].starts(with: "://".utf8) {
      let next = bytes.index(after: found)
      colon = bytes[next...].firstIndex(of: UInt8(ascii: ":"))
    }
    guard let colon else { return nil }
    let authority = bytes[colon...].dropFirst("://".utf8.count)
    return authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.endIndex
  }

  /// Header fields as they are kept.
  package func redact(_ headers: Headers) -> Headers {
    var result = headers
    for number in result.fields.indices {
      let field = result.fields[number]
      let name = field.name.lowercased()
      var value = field.value
      if rules.headers.contains(name) {
        if !value.isEmpty { value = RedactionMark.plain.text }
      } else {
        if HeaderRedaction.defaultNames.contains(name), !rules.keptHeaders.contains(name) {
          value = HeaderRedaction.redact(value, of: name)
        }
        value = redact(value, HeaderRedaction.addresses.contains(name) ? .percent : .plain)
      }
      result.fields[number].value = value
    }
    return result
  }

  /// Header fields of a message whose body is another one now.
  package func redact(_ headers: Headers, ofChanged isChanged: Bool, length: Int) -> Headers {
    var result = redact(headers)
    guard isChanged else { return result }
    result.fields.removeAll { HeaderRedaction.digests.contains($0.name.lowercased()) }
    if result["Content-Length"] != nil, result["Content-Encoding"] == nil { result.set("Content-Length", "\(length)") }
    return result
  }

  /// What takes secrets out of a body that is recorded.
  ///
  /// - Parameters:
  ///   - headers: of the message.
  ///   - isDecoded: whether it comes without its content coding.
  /// - Returns: a new one, for one body.
  package func body(_ headers: Headers, isDecoded: Bool) -> BodyRedactor {
    BodyRedactor(
      self, contentType: headers["Content-Type"], codings: isDecoded ? nil : ContentCodings(of: headers))
  }

  /// The most bytes to which a body is decoded that is held as a whole.
  package var wholeLimit: Int { min(KeyStream.heldLimit, decodedLimit) }

  /// A recorded request's body as it is matched: decoded, and without what is secret.
  package func redact(recorded body: [UInt8], of headers: Headers) -> [UInt8] {
    guard !body.isEmpty else { return body }
    // Whole or not at all: what we have recorded is decoded already.
    let decoded = ContentCodings(of: headers).flatMap { try? $0.decode(body, limit: wholeLimit) } ?? body
    return redact(decoded: decoded, of: headers)
  }

  /// A body that comes without its content coding, as it is kept.
  package func redact(decoded body: [UInt8], of headers: Headers) -> [UInt8] {
    guard !body.isEmpty else { return body }
    var stream = self.body(headers, isDecoded: true)
    return stream.push(body) + stream.finish()
  }

  /// A body as it comes, as it is kept: what of it can be decoded is, and what is secret goes.
  package func redact(sent body: [UInt8], of headers: Headers) -> [UInt8] {
    let decoded = ContentCodings(of: headers)?.salvage(body, limit: wholeLimit)
    return redact(decoded: decoded ?? body, of: headers)
  }

  /// A request as it is matched: as it would be recorded.
  package func redact(_ request: Request) -> Request {
    var redacted = request
    redacted.target = redactURL(request.target)
    redacted.headers = redact(request.headers)
    if case .bytes(let bytes) = request.body { redacted.body = .bytes(redact(sent: bytes, of: request.headers)) }
    return redacted
  }
}

extension ContentCodings {
  /// Those of a message; nil where it has none, or one that we do not know.
  package init?(of headers: Headers) {
    let values = headers.all("Content-Encoding")
    guard !values.isEmpty else { return nil }
    self.init(header: values.joined(separator: ", "))
  }
}

extension ContractValue {
  package func redacted(_ redactor: Redactor) -> ContractValue {
    switch self {
    case .string(let text): .string(redactor.redact(text))
    case .array(let values): .array(values.map { $0.redacted(redactor) })
    case .object(let members): .object(members.mapValues { $0.redacted(redactor) })
    default: self
    }
  }
}

/// Rules, ready to be used.
package struct CompiledRules: Sendable {
  /// Header fields whose whole value goes, in lower case.
  package var headers: Set<String> = []
  /// Defaults that stay, in lower case.
  package var keptHeaders: Set<String> = []
  /// Credentials that are no secrets.
  package var keptCredentials: Set<String> = []
  package var query: Set<String> = []
  package var form: Set<String> = []
  package var json: [JSONPath] = []
  /// The patterns, and query items in texts.
  package var patterns: PatternScanner

  package init(patterns: PatternScanner) { self.patterns = patterns }

  /// No rules.
  package static let none = CompiledRules(patterns: .none)

  /// Whether what counts when requests are matched is changed by a rule.
  var changesRequests: Bool { !query.isEmpty || !form.isEmpty || !json.isEmpty || !patterns.isEmpty }
}
