package import Basics
package import Cassettes
package import GRPCSchemas
package import HTTPMessages
import LaunchContract

/// Redacts secrets in everything that Diorama keeps: cassettes, journals, reports, messages.
///
/// It knows the environment's token and credentials, and finds them anywhere: literally, percent-encoded in whole or in
/// part, in the escapes of JSON, XML and HTML, and in Base64, also within longer texts. It knows the header fields that
/// carry secrets, and the user's rules. Redacting twice gives the same result as redacting once, so redacted requests
/// can be compared with redacted recordings.
package struct Redactor: Sendable {
  package let secrets: SecretScanner
  package let rules: CompiledRules
  /// Whether requests may have to be redacted before they are matched in another way than by default, because of a rule
  /// or a credential.
  package let changesRequests: Bool
  /// The names of credentials that are too short to be found in a text.
  package let unseen: [String]
  /// The maximum decoded size of a body that is redacted, in bytes.
  package let decodedLimit: Int
  /// The schemas by which fields of gRPC messages are redacted; nil for none.
  package let schemas: GRPCSchemaSet?
  /// The default for ``decodedLimit``, larger than any response that a test needs.
  package static let usualDecodedLimit = 1 << 30

  /// - Parameters:
  ///   - credentials: the environment's credentials; each name is `SERVICE/ACCOUNT`.
  ///   - token: the environment's token.
  ///   - rules: the user's rules.
  ///   - decodedLimit: the maximum decoded size in bytes of a body that is redacted. A larger body is kept unchanged.
  ///   - schemas: the schemas by which fields of gRPC messages are redacted; nil for none.
  package init(
    _ credentials: [(name: String, secret: [UInt8])], token: String, rules: CompiledRules = .none,
    decodedLimit: Int = usualDecodedLimit, schemas: GRPCSchemaSet? = nil
  ) {
    self.decodedLimit = decodedLimit
    self.schemas = schemas
    let known = credentials.filter { !rules.keptCredentials.contains($0.name) }
    secrets = SecretScanner(known.map { ($0.secret, RedactionMark($0.name)) } + [(Array(token.utf8), .plain)])
    self.rules = rules
    unseen = known.filter { 1..<SecretScanner.shortest ~= $0.secret.count }.map(\.name)
    changesRequests =
      !known.isEmpty || rules.changesRequests || !rules.headers.isEmpty || !rules.keptHeaders.isEmpty
      || rules.secretQuery != SecretFields.inQueries || rules.secretGrants != SecretFields.inTokenRequests
      || schemas?.isEmpty == false
  }

  /// Replaces the secrets in a text with marks.
  package func redact(_ text: String) -> String { redact(text, .plain) }

  private func redact(_ text: String, _ spelling: RedactionMark.Spelling) -> String {
    let clean = secrets.redact(text, spelling)
    return rules.patterns.redact(clean, spelling) ?? clean
  }

  /// Redacts a URL or a request target. Query items are redacted by name, and marks are percent-encoded.
  package func redactURL(_ url: String) -> String {
    var found: FoundFields? = nil
    return redactURL(url, &found)
  }

  /// Redacts a URL, and notes the names of its redacted query items.
  package func redactURL(_ url: String, _ found: inout FoundFields?) -> String {
    guard let start = Self.targetStart(of: url) else { return redact(url, .percent) }
    let whole = String(url[start...])
    let target = secrets.redact(whole, .percent)
    let mark = target.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    guard rules.changesRequests || mark != nil else { return target == whole ? url : url[..<start] + target }
    let plainPath = String(target[..<(mark ?? target.endIndex)])
    let path = rules.patterns.redact(plainPath, .percent) ?? plainPath
    guard let mark else { return url[..<start] + path }
    let fields = SelectedFields(names: rules.query, secret: rules.secretQuery)
    var query: [UInt8] = []
    let items = Array(target.utf8[target.utf8.index(after: mark)...])
    query.reserveCapacity(items.count)
    // OAuth's implicit flow puts tokens into the fragment.
    for item in items.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x26 || $0 == 0x23 }) {
      if item.startIndex > 0 { query.append(items[item.startIndex - 1]) }
      let redacted = FormItem.redact(item, fields: fields, patterns: rules.patterns)
      if let redacted, !redacted.elementsEqual(item) { found?.add(FormItem.name(item)) }
      query += redacted ?? Array(item)
    }
    let text = String(decoding: query, as: UTF8.self)
    return url[..<start] + path + String(target[mark]) + (rules.patterns.redact(text, .percent) ?? text)
  }

  /// The beginning of the path and query, or nil if the URL has neither a scheme nor a leading slash.
  private static func targetStart(of url: String) -> String.Index? {
    if url.utf8.first == UInt8(ascii: "/") { return url.startIndex }
    let bytes = url.utf8
    // `firstRange(of:)` would take longer than everything else here.
    var colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    while let found = colon, !bytes[found...].starts(with: "://".utf8) {
      let next = bytes.index(after: found)
      colon = bytes[next...].firstIndex(of: UInt8(ascii: ":"))
    }
    guard let colon else { return nil }
    let authority = bytes[colon...].dropFirst("://".utf8.count)
    return authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.endIndex
  }

  /// Redacts header fields.
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
        if !HeaderRedaction.addresses.contains(name) {
          value = redact(value)
        } else {
          value = HeaderRedaction.wholeAddresses.contains(name) ? redactURL(value) : redact(value, .percent)
        }
      }
      result.fields[number].value = value
    }
    return result
  }

  /// Redacts the header fields of a message whose body may have changed.
  package func redact(_ headers: Headers, ofChanged isChanged: Bool, length: Int) -> Headers {
    var names: [String] = []
    return redact(headers, ofChanged: isChanged, length: length, &names)
  }

  /// Redacts the header fields of a message whose body may have changed, and notes the names of those that are redacted.
  package func redact(
    _ headers: Headers, ofChanged isChanged: Bool, length: Int, _ names: inout [String]
  ) -> Headers {
    var result = redact(headers)
    for (field, redacted) in zip(headers.fields, result.fields) where field.value != redacted.value {
      names.append(field.name)
    }
    guard isChanged else { return result }
    result.fields.removeAll { HeaderRedaction.digests.contains($0.name.lowercased()) }
    if result["Content-Length"] != nil, result["Content-Encoding"] == nil { result.set("Content-Length", "\(length)") }
    return result
  }

  /// Creates a redactor for a body that is recorded.
  ///
  /// - Parameters:
  ///   - headers: the header fields of the message.
  ///   - isDecoded: whether the body is already decoded.
  ///   - isResponse: whether it is a response's: the claims of tokens in it are kept, since the app may read them. In
  ///     requests they are not, since they may differ in replay.
  ///   - path: the path of the request, which determines the schema of gRPC messages; nil if it is not known.
  /// - Returns: a redactor for one body.
  package func body(
    _ headers: Headers, isDecoded: Bool, isResponse: Bool = false, path: String? = nil
  ) -> BodyRedactor {
    BodyRedactor(
      self, contentType: headers["Content-Type"], codings: isDecoded ? nil : ContentCodings(of: headers),
      keepsClaims: isResponse,
      codec: path.flatMap { MessageCodec(headers, path: $0, isRequest: !isResponse, schemas: schemas) })
  }

  /// The maximum decoded size in bytes of a body that is held in memory as a whole.
  package var wholeLimit: Int { min(KeyStream.heldLimit, decodedLimit) }

  /// Decodes and redacts a recorded request body for matching.
  ///
  /// - Parameters:
  ///   - body: the body.
  ///   - headers: the header fields of the request.
  ///   - path: the request's path.
  /// - Returns: the body.
  package func redact(recorded body: [UInt8], of headers: Headers, path: String) -> [UInt8] {
    guard !body.isEmpty else { return body }
    // All or nothing: bodies that Diorama recorded are already decoded.
    let decoded = ContentCodings(of: headers).flatMap { try? $0.decode(body, limit: wholeLimit) } ?? body
    return redact(decoded: decoded, of: headers, path: path)
  }

  /// Redacts a body without content coding.
  ///
  /// - Parameters:
  ///   - body: the body.
  ///   - headers: the header fields of the message.
  ///   - isResponse: whether it is a response's.
  ///   - path: the request's path; nil if it is not known.
  /// - Returns: the body.
  package func redact(
    decoded body: [UInt8], of headers: Headers, isResponse: Bool = false, path: String? = nil
  ) -> [UInt8] {
    guard !body.isEmpty else { return body }
    var stream = self.body(headers, isDecoded: true, isResponse: isResponse, path: path)
    return stream.push(body) + stream.finish()
  }

  /// Whether a recorded request may contain a field that is redacted by default. Never false if it does.
  package func mayChange(_ request: RecordedRequest) -> Bool {
    if request.url.utf8.contains(UInt8(ascii: "?")) { return true }
    guard request.body.length > 0 else { return false }
    return switch BodyKind(contentType: request.headers["Content-Type"]) {
    case .json, .form, .multipart, .unsaid: true
    case .grpc: schemas?.isEmpty == false
    case .markup, .text, .other: false
    }
  }

  /// Redacts a body as it was sent. As much as possible of it is decoded first.
  ///
  /// - Parameters:
  ///   - body: the body.
  ///   - headers: the header fields of the request.
  ///   - path: the request's path; nil if it is not known.
  /// - Returns: the body.
  package func redact(sent body: [UInt8], of headers: Headers, path: String? = nil) -> [UInt8] {
    let decoded = ContentCodings(of: headers)?.salvage(body, limit: wholeLimit)
    return redact(decoded: decoded ?? body, of: headers, path: path)
  }

  /// Redacts a request for matching, in the same way as a recorded one.
  package func redact(_ request: Request) -> Request {
    var redacted = request
    redacted.target = redactURL(request.target)
    redacted.headers = redact(request.headers)
    if case .bytes(let bytes) = request.body {
      redacted.body = .bytes(redact(sent: bytes, of: request.headers, path: request.target))
    }
    return redacted
  }
}

extension ContentCodings {
  /// The content codings of a message; nil if there are none, or if one is unknown.
  package init?(of headers: Headers) {
    let values = headers.all("Content-Encoding")
    guard !values.isEmpty else { return nil }
    self.init(header: values.joined(separator: ", "))
  }
}

extension JSON {
  package func redacted(_ redactor: Redactor) -> JSON {
    switch self {
    case .string(let text): .string(redactor.redact(text))
    case .array(let values): .array(values.map { $0.redacted(redactor) })
    case .object(let members): .object(members.map { .init($0.key, $0.value.redacted(redactor)) })
    default: self
    }
  }
}

/// Redaction rules in compiled form.
package struct CompiledRules: Sendable {
  /// Header fields to redact completely, in lower case.
  package var headers: Set<String> = []
  /// Default header fields to keep, in lower case.
  package var keptHeaders: Set<String> = []
  /// Credentials that are not secret.
  package var keptCredentials: Set<String> = []
  package var query: Set<String> = []
  package var form: Set<String> = []
  package var json: [JSONPath] = []
  /// The names of fields that are redacted by default, without those to keep: in queries and forms, in JSON, and in
  /// requests for a token.
  package var secretQuery = SecretFields.inQueries
  package var secretJSON = SecretFields.inJSON
  package var secretGrants = SecretFields.inTokenRequests
  /// The patterns, and the query items in texts.
  package var patterns: PatternScanner

  package init(patterns: PatternScanner) { self.patterns = patterns }

  /// No rules.
  package static let none = CompiledRules(patterns: .none)

  /// Whether a rule changes a part of requests that is relevant for matching, beyond the default.
  var changesRequests: Bool { !query.isEmpty || !form.isEmpty || !json.isEmpty || !patterns.isEmpty }
}
